export function createChanges() {
  const listeners = new Set<(tx: string) => void>()
  return {
    /** Costs nothing without listeners, which is the usual case. */
    note: (tx: string) => {
      for (const listener of listeners) listener(tx)
    },
    /** The returned function removes the listener. */
    listen: (listener: (tx: string) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Notifies listeners of changed payments. A listener reads the change itself. */
export type Changes = ReturnType<typeof createChanges>
