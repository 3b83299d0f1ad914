/**
 * The processes of one gateway, as one of them sees the others. All of them serve requests. One leads: it watches the
 * chain and does the background work. Another leads after its end.
 */
import type { Limits } from '../collections/limits.ts'
import type { Meter, MetricsDump } from '../observability/metrics.ts'
import type { Effect } from '../payment/verify.ts'

/** The leading process tells the others. */
export type WatchNotice =
  /** A payment was read. */
  | { readonly kind: 'seen'; readonly effect: Effect }
  /** Repeated every second: whether a payment that was not seen most likely does not exist. */
  | { readonly kind: 'current'; readonly isCurrent: boolean }

/** The other processes, for the watcher of a service. */
export interface WatchPeers {
  publish(notice: WatchNotice): void
  /** The returned function ends the subscription. */
  subscribe(take: (notice: WatchNotice) => void): () => void
  /** Calls `begin` once, as soon as this process leads. The returned function cancels it. */
  onceLeading(begin: () => void): () => void
}

export interface Processes {
  readonly limits: Limits
  /** By the name of the service, because each service has a watcher. */
  watchOf(service: string): WatchPeers
  leads(): boolean
  /** Adds a meter to those of this process. The returned function removes it. */
  addMeter(meter: Pick<Meter, 'dump'>): () => void
  /** Prepares a recipient on a chain that the supervisor of the processes runs. */
  prepareRecipient(recipient: string): Promise<void>
  /** The metrics of all processes. */
  readMetrics(): Promise<MetricsDump>
}
