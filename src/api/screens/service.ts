/** `GET /api/service`: the configuration and the health of this process, for the screen of the service. */
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { within } from '../../paywall/runtime/within.ts'
import { formatOffer } from '../public/discovery.ts'
import type { readStatus } from './status.ts'

export interface ServiceParts {
  readonly service: Pick<Runtime, 'catalog' | 'nodes' | 'versions'> & { readonly ledger: Pick<Ledger, 'storage'> }
  readonly owners: () => readonly string[]
  readonly hasOwners: boolean
  readonly status: () => ReturnType<typeof readStatus>
}

const patienceMs = 2_000

export async function readService({ service, owners, hasOwners, status }: ServiceParts) {
  const { catalog, nodes, versions, ledger } = service
  const entries = catalog.entries()
  const [reports, states, now] = await Promise.all([
    within(patienceMs, catalog.readiness(), () => []),
    nodes(),
    status(),
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
    owners: { wallets: owners(), isSet: hasOwners },
    versions: { ...versions, ledger: ledger.storage?.kind ?? null, schema: ledger.storage?.version ?? null },
    status: now,
  }
}
