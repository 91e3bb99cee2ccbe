import { mergeConfig } from 'vite'
import { defineConfig } from 'vitest/config'
import app from './vite.config.ts'

export default mergeConfig(app, defineConfig({
  test: { environment: 'happy-dom', include: ['src/**/*.test.ts'], restoreMocks: true },
}))
