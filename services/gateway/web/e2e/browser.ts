import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    browser: string
  }
}

/** One browser for all scenarios; each opens a context of its own in it. */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const server = await chromium.launchServer({
    executablePath: process.env.E2E_CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  })
  project.provide('browser', server.wsEndpoint())
  return () => server.close()
}
