/**
 * The running requests of a paywall. `close` waits for them, and finally aborts them.
 *
 * A plain list in which each entry knows its index: thousands of requests per second pass through it, and none needs a
 * promise.
 */
export interface InFlight {
  /** Registers a running request. The returned function removes it. */
  begin(breakOff?: () => void): () => void
  count(): number
  /** Resolves when no request runs, including requests that began while it waited. */
  drained(): Promise<void>
  breakOff(): void
}

export function createInFlight(): InFlight {
  const entries: { at: number; breakOff: (() => void) | undefined }[] = []
  let waiting: (() => void)[] = []
  return {
    begin: (breakOff) => {
      const entry = { at: entries.length, breakOff }
      entries.push(entry)
      return () => {
        if (entries[entry.at] !== entry) return
        const last = entries.pop()
        if (last && last !== entry) {
          entries[entry.at] = last
          last.at = entry.at
        }
        if (entries.length > 0) return
        const told = waiting
        waiting = []
        for (const tell of told) tell()
      }
    },
    count: () => entries.length,
    drained: async () => {
      while (entries.length > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    breakOff: () => {
      for (const { breakOff } of [...entries]) breakOff?.()
    },
  }
}
