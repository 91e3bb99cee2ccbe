import { fileURLToPath, URL } from 'node:url'
import { defineConfig } from 'vitest/config'

// The scenarios of the browser tests. services/test/e2e starts the world that
// they happen in, and runs them: make e2e.
export default defineConfig({
  resolve: {
    alias: { '@': fileURLToPath(new URL('src', import.meta.url)), '@gen': fileURLToPath(new URL('../../../gen/ts', import.meta.url)) },
  },
  test: {
    environment: 'node',
    include: [process.env.E2E_FIGURES ? 'e2e/**/*.figures.ts' : 'e2e/**/*.e2e.ts'],
    globalSetup: 'e2e/browser.ts',
    // One server, one browser, two cores.
    fileParallelism: false,
    // They bound what hangs; nothing is measured by them.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: ['verbose'],
  },
})
