/** Notifies listeners of changed payments. A listener reads the change itself. */

export interface Changes {
  /** Costs nothing without listeners, which is the usual case. */
  note(tx: string): void
  /** The returned function removes the listener. */
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
