import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
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
  },
})
