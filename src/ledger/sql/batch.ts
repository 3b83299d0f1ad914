/**
 * Collects jobs that wait at the same moment, so that one durable write serves all of them. While one batch is written,
 * the next one collects.
 */
export interface StatementBatch<Item, Result> {
  run(key: string, item: Item): Promise<Result>
  /** Resolves when no job is waiting. */
  drain(): Promise<void>
}

interface Job<Item, Result> {
  readonly key: string
  readonly item: Item
  readonly done: (result: Result) => void
  readonly failed: (error: unknown) => void
}

const mostJobs = 256

/**
 * `work` receives items with distinct keys, and returns results in the same order. If it throws, all of them fail with
 * the error.
 */
export function createBatch<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): StatementBatch<Item, Result> {
  let waiting: Job<Item, Result>[] = []
  let serving: Promise<void> | undefined

  const next = (): readonly Job<Item, Result>[] => {
    const chosen = new Map<string, Job<Item, Result>>()
    const others: Job<Item, Result>[] = []
    for (const job of waiting) {
      // A second job of the same key runs in the next batch, and sees the result of the first.
      if (chosen.size < mostJobs && !chosen.has(job.key)) chosen.set(job.key, job)
      else others.push(job)
    }
    waiting = others
    return [...chosen.values()]
  }
  const serve = async (): Promise<void> => {
    while (waiting.length > 0) {
      // Jobs from the rest of this turn of the event loop can join.
      await new Promise((resolve) => setImmediate(resolve))
      const jobs = next()
      try {
        const results = await work(jobs.map(({ item }) => item))
        for (const [index, job] of jobs.entries()) job.done(results[index] as Result)
      } catch (error) {
        for (const job of jobs) job.failed(error)
      }
    }
    serving = undefined
  }

  return {
    run: (key, item) =>
      new Promise((done, failed) => {
        waiting.push({ key, item, done, failed })
        serving ??= serve()
      }),
    drain: async () => serving,
  }
}
