/** A route that is open: the parts that its requests share, and whether it sells at this moment. */

import type { InFlight } from '../../core/collections/in-flight.ts'
import { nameEndpoint } from '../../core/http/endpoint.ts'
import type { Incoming } from '../../core/http/http.ts'
import type { UsageEvent } from '../../core/ports/reports.ts'
import type { Dialects } from '../../dialects/join.ts'
import type { PaywallEvent } from '../config/events.ts'
import { emitTo, type Runtime, type SponsorHandle } from '../runtime/runtime.ts'
import type { FreeCounter } from './free-quota.ts'
import type { ResourceTypes } from './resource-types.ts'
import type { Route } from './route.ts'
import type { Probe } from './token-probe.ts'

/** The part that exists before the service has started. */
export interface RouteState {
  /** The native one alone, until the service has started. */
  dialects: Dialects
  readonly listener: ((event: PaywallEvent) => unknown) | undefined
  /** Proofs that are being checked, and responses up to their end in the ledger: closing waits for them, or breaks them off. */
  readonly running: InFlight
  open: boolean
  readonly types: ResourceTypes
  /** Why nothing is sold at this moment, for the operator; undefined while it is. */
  paused: string | undefined
}

export interface RouteRuntime extends RouteState {
  readonly runtime: Runtime
  readonly route: Route
  readonly probe: Probe
  readonly free: FreeCounter | undefined
  /** Undefined if the service pays no network fees. */
  readonly sponsor: SponsorHandle | undefined
}

export function emit({ listener, runtime }: RouteRuntime, event: PaywallEvent): void {
  if (listener) emitTo(listener, event, runtime.log)
}

export function countUsage({ runtime, route }: RouteRuntime, incoming: Incoming, event: UsageEvent): void {
  runtime.usage.count(nameEndpoint(route.config.endpoint, incoming), event)
}
