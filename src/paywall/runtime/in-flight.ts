/**
 * What is running: the end of a paywall waits for it, and breaks it off in the end.
 *
 * A plain list in which each knows its place: thousands a second go through it, and none of them needs a promise.
 */
export interface InFlight {
  /** Something begins. The function returned says that it is over. */
  begin(breakOff?: () => void): () => void
  count(): number
  /** Resolves when nothing runs, and nothing has begun meanwhile. */
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
