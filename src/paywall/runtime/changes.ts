/** Tells those who show payments which of them has changed. What changed they look up themselves. */

export interface Changes {
  /** Nobody listening is the usual case, and then it costs nothing. */
  note(tx: string): void
  /** The function returned ends it. */
  listen(listener: (tx: string) => void): () => void
}

export function createChanges(): Changes {
  const listeners = new Set<(tx: string) => void>()
  return {
    note: (tx) => {
      for (const listener of listeners) listener(tx)
    },
    listen: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
