/** The catalog of a service: one entry for each of its paywalls, and whether it can sell now. */
import { formatUnits } from '../../core/money/money.ts'
import { type ByToken, type MintTable, pickMints, type TokenCode } from '../../core/money/tokens.ts'
import type { Allowance, Unit } from '../../core/payment/allowance.ts'
import type { RouteConfig } from '../config/config.ts'

export interface CatalogEntry {
  readonly methods: readonly string[]
  /** Undefined if the provider set no `endpoint`. Then the path is not published. */
  readonly path: string | undefined
  /** In units of `token`. Undefined if the price depends on the request. */
  readonly price: string | undefined
  readonly token: TokenCode
  /** The allowance that the price buys: a number of requests or seconds, or a million bytes. */
  readonly per: { readonly unit: Unit; readonly amount: number }
  /** The window in which people can open a request again that they bought on the page. */
  readonly reopen: Allowance | undefined
  readonly acceptedMints: readonly TokenCode[]
  /** The mints of the accepted tokens. */
  readonly mints: MintTable
  readonly recipient: string
  readonly description: string | undefined
  readonly scope: string
  /** Whether people can buy it on a checkout page. */
  readonly hasPage: boolean
  /** Whether nothing is sold now, because the handler or the upstream cannot deliver. */
  readonly isPaused: () => boolean
}

export interface Catalog {
  /** The returned function removes the entry. */
  add(entry: CatalogEntry, readiness: () => Promise<ReadinessReport>): () => void
  entries(): readonly CatalogEntry[]
  /** The readiness of each entry, in the same order. */
  readiness(): Promise<readonly ReadinessReport[]>
}

export function createCatalog(): Catalog {
  const lines = new Map<object, readonly [CatalogEntry, () => Promise<ReadinessReport>]>()
  return {
    add: (entry, readiness) => {
      const key = {}
      lines.set(key, [entry, readiness])
      return () => void lines.delete(key)
    },
    entries: () => [...lines.values()].map(([entry]) => entry),
    readiness: () => Promise.all([...lines.values()].map(([, readiness]) => readiness())),
  }
}

const bytesOfMegabyte = 1_000_000

export function createCatalogEntry(config: RouteConfig, isPaused: CatalogEntry['isPaused']): CatalogEntry {
  const { endpoint, pricing, acceptedMints, mints, recipient, description, scope, checkout, reopen } = config
  const { price, token, decimals, per } = pricing
  return {
    methods: endpoint?.methods ?? ['GET'],
    path: endpoint?.path,
    price: typeof price === 'bigint' ? formatUnits(price, decimals) : undefined,
    token,
    per:
      per.kind === 'allowance'
        ? { unit: per.allowance.unit, amount: Number(per.allowance.amount) }
        : { unit: 'byte', amount: bytesOfMegabyte },
    reopen,
    acceptedMints,
    mints: pickMints(acceptedMints, mints),
    recipient,
    description,
    scope,
    hasPage: checkout,
    isPaused,
  }
}

export interface Readiness {
  readonly offered: readonly TokenCode[]
  /** The reason for each token that is not offered, as one sentence. */
  readonly withheld: ByToken<string>
}

export interface ReadinessReport extends Readiness {
  readonly ready: boolean
  /** The reason, for the operator. */
  readonly why?: string
  /** True if the owner of the handler paused it. The service itself works. */
  readonly isPaused?: boolean
}
