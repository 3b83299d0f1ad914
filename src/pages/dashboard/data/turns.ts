/** Work in small tasks: between two of them, the browser can paint and answer the reader, also on a slow phone. */

const waiting = new Set<() => void>()
let isRunning = false

/** Runs the work in a task of its own, in the order of the calls. The returned function cancels it. */
export function waitTurn(work: () => void): () => void {
  waiting.add(work)
  if (!isRunning) next()
  return () => waiting.delete(work)
}

function next(): void {
  isRunning = waiting.size > 0
  if (!isRunning) return
  setTimeout(() => {
    const [work] = waiting
    if (work) waiting.delete(work)
    try {
      work?.()
    } finally {
      next()
    }
  })
}
