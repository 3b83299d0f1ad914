/** Things that a fixture opened, and closes. */
import { onTestFinished, TestRunner } from 'vitest'

export interface Closers {
  /**
   * Closes it when the current test ends, or with the fixture if no test runs. An open shop would ask the chain for the
   * time and for the finality of its payments during all later tests of the file.
   */
  add(close: () => unknown): void
  /** Closes the rest, the last first. */
  close(): Promise<void>
}

export function createClosers(): Closers {
  const closers: (() => unknown)[] = []
  return {
    add: (close) => {
      const test = TestRunner.getCurrentTest()
      // The current test is unknown where several run at the same time.
      if (test && !test.concurrent) onTestFinished(async () => void (await close()))
      else closers.push(close)
    },
    close: async () => {
      for (const close of closers.splice(0).reverse()) await close()
    },
  }
}
