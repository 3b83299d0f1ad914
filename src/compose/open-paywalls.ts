/**
 * Tracks open paywalls and routes of this process, which hold ledgers and nodes, so that a shutdown can name the
 * forgotten ones.
 */
import type { Log } from '../core/runtime.ts'

interface Open {
  /** For the operator. */
  readonly name: string
  readonly log: Log
}

type Close = () => Promise<void>

const open = new Map<Close, Open>()
let innerServers = 0

/** Tracks `close` until it is called. */
export function rememberOpen(close: Close, about: Open): Close {
  const closing: Close = () => {
    open.delete(closing)
    return close()
  }
  open.set(closing, about)
  return closing
}

/**
 * Counts servers that paystile itself started in this process: those of a local chain. The returned function subtracts
 * them.
 */
export function countInnerServers(count: number): () => void {
  innerServers += count
  return () => {
    innerServers -= count
  }
}

/** Paywalls and routes that are not closed, each with its close function. */
export function listOpen(): readonly (Open & { readonly close: Close })[] {
  return [...open].map(([close, about]) => ({ ...about, close }))
}

/** Whether a server of the application still accepts connections: then the open parts may belong to it. */
export function hasListeningServer(resources: readonly string[]): boolean {
  return resources.filter((name) => /^(?:TCP|Pipe)ServerWrap$/.test(name)).length > innerServers
}
