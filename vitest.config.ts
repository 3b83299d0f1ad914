import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxConcurrency: 8,
    retry: 0,
    allowOnly: false,
    passWithNoTests: false,
  },
})
