import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const browser = ['tests/pages/**/*.test.ts', 'tests/client/browser.test.ts']

export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // As long as a test may take: what is waited for comes, or the test fails for it.
    expect: { poll: { timeout: 50_000, interval: 10 } },
    maxConcurrency: 4,
    // Many tests wait for time to pass, so two go well on two cores; more than four would only disturb each other.
    maxWorkers: Math.max(2, Math.min(4, availableParallelism() - 1)),
    retry: 0,
    allowOnly: false,
    passWithNoTests: false,
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], isolate: false } },
      { extends: true, test: { name: 'e2e', include: ['tests/**/*.test.ts'], exclude: browser } },
      { extends: true, test: { name: 'browser', include: browser, globalSetup: 'tests/setup/browser.ts' } },
    ],
  },
})
