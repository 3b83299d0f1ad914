/** What is open in this process and holds a ledger and nodes, so that the end of a server can name what was forgotten. */
import type { Log } from '../core/runtime.ts'

interface Open {
  /** For the operator. */
  readonly name: string
  readonly log: Log
}

type Close = () => Promise<void>

const open = new Map<Close, Open>()
let innerServers = 0

/** Keeps `close` in mind until it is called. */
export function rememberOpen(close: Close, about: Open): Close {
  const closing: Close = () => {
    open.delete(closing)
    return close()
  }
  open.set(closing, about)
  return closing
}

/** Servers that paystile itself has started in this process: a local chain's. The function returned takes them off again. */
export function countInnerServers(count: number): () => void {
  innerServers += count
  return () => {
    innerServers -= count
  }
}

/** Paywalls and routes that nobody has closed, with the function that closes each. */
export function listOpen(): readonly (Open & { readonly close: Close })[] {
  return [...open].map(([close, about]) => ({ ...about, close }))
}

/** Whether some server of the application still takes connections: then what is open may belong to it. */
export function hasListeningServer(resources: readonly string[]): boolean {
  return resources.filter((name) => /^(?:TCP|Pipe)ServerWrap$/.test(name)).length > innerServers
}
