/**
 * Jobs that wait at the same moment go together, so that one durable write serves them all. While one batch is on its
 * way, the next one gathers.
 */
export interface StatementBatch<Item, Result> {
  run(key: string, item: Item): Promise<Result>
  /** Resolves when nothing is waiting any more. */
  drain(): Promise<void>
}

interface Job<Item, Result> {
  readonly key: string
  readonly item: Item
  readonly done: (result: Result) => void
  readonly failed: (error: unknown) => void
}

const mostJobs = 256

/** `work` gets items of different keys, and answers in their order; what it throws is the answer to all of them. */
export function createBatch<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): StatementBatch<Item, Result> {
  let waiting: readonly Job<Item, Result>[] = []
  let serving: Promise<void> | undefined

  const next = (): readonly Job<Item, Result>[] => {
    const chosen = new Map<string, Job<Item, Result>>()
    for (const job of waiting) {
      if (chosen.size === mostJobs) break
      // The second of one key sees what the first has done.
      if (!chosen.has(job.key)) chosen.set(job.key, job)
    }
    const jobs = [...chosen.values()]
    waiting = waiting.filter((job) => !jobs.includes(job))
    return jobs
  }
  const serve = async (): Promise<void> => {
    while (waiting.length > 0) {
      // Whatever else this turn of the event loop brings in can join.
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
        waiting = [...waiting, { key, item, done, failed }]
        serving ??= serve()
      }),
    drain: async () => serving,
  }
}
