/** Lets callers with the same name proceed one after the other, in the order in which they came. */

export interface Turns {
  /** Resolves when it is the caller's turn. The result ends the turn. Undefined if too many wait under this name. */
  take(name: string): Promise<() => void> | undefined
  /** Whether the next caller of this name proceeds at once. */
  isFree(name: string): boolean
}

const usualWaiting = 64

export function createTurns(mostWaiting = usualWaiting): Turns {
  /** The callers of each name. The first one has its turn; calling another one starts its turn. */
  const queues = new Map<string, (() => void)[]>()
  return {
    isFree: (name) => !queues.has(name),
    take: (name) => {
      const queue = queues.get(name) ?? []
      if (queue.length > mostWaiting) return undefined
      queues.set(name, queue)
      const end = (): void => {
        queue.shift()
        if (queue.length === 0) queues.delete(name)
        queue[0]?.()
      }
      return new Promise((resolve) => {
        queue.push(() => resolve(end))
        if (queue.length === 1) queue[0]?.()
      })
    },
  }
}
