/** `GET /api/service`: the configuration and the health of this process, for the screen of the service. */
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { within } from '../../paywall/runtime/within.ts'
import type { Access } from '../http/access.ts'
import { formatOffer } from '../public/discovery.ts'
import { type PricesParts, readPrices } from './prices.ts'
import type { readStatus } from './status.ts'

export interface ServiceParts {
  readonly service: Pick<Runtime, 'catalog' | 'nodes' | 'versions'> & { readonly ledger: Pick<Ledger, 'storage'> }
  readonly owners: () => readonly string[]
  readonly hasOwners: boolean
  readonly status: () => ReturnType<typeof readStatus>
  readonly prices: PricesParts
  /** Undefined if the service is no gateway. */
  readonly upstreams: (() => readonly UpstreamState[]) | undefined
  readonly access: Access
}

/** An API behind a gateway. */
export interface UpstreamState {
  /** Without name and password. */
  readonly origin: string
  /** The names of its routes. */
  readonly routes: readonly string[]
  /** The reason if it is down. Undefined otherwise. */
  readonly why: string | undefined
}

const patienceMs = 2_000

export async function readService(parts: ServiceParts) {
  const { service, owners, hasOwners, status } = parts
  const { catalog, nodes, versions, ledger } = service
  const entries = catalog.entries()
  const [reports, states, now, prices] = await Promise.all([
    within(patienceMs, catalog.readiness(), () => []),
    nodes(),
    status(),
    readPrices(parts.prices, parts.access),
  ])
  return {
    routes: entries.map((entry, index) => {
      const { ready = false, isPaused = false, why = '' } = reports[index] ?? {}
      return { ...formatOffer(entry), isSelling: ready && !isPaused, why: ready && !isPaused ? '' : why }
    }),
    nodes: states.map(({ name, slot, lag, latencyMs, why }) => ({
      name,
      isReachable: slot !== undefined,
      slot: slot ?? null,
      lag: lag ?? null,
      latencyMs,
      why,
    })),
    upstreams:
      parts.upstreams?.().map(({ origin, routes, why = '' }) => ({ origin, routes, isUp: why === '', why })) ?? [],
    prices,
    owners: { wallets: owners(), isSet: hasOwners },
    versions: { ...versions, ledger: ledger.storage?.kind ?? null, schema: ledger.storage?.version ?? null },
    status: now,
  }
}
