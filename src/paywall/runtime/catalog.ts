/** What a service sells: a line for each of its paywalls, with whether it can sell at this moment. */
import { formatUnits } from '../../core/money/money.ts'
import type { MintTable, TokenCode } from '../../core/money/tokens.ts'
import { pickMints } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import type { RouteConfig } from '../config/config.ts'

export interface CatalogEntry {
  readonly methods: readonly string[]
  /** Undefined where the provider gave it no name (`endpoint`): then nobody is told where it is. */
  readonly path: string | undefined
  /** In units of `token`; undefined where it depends on the request. */
  readonly price: string | undefined
  readonly token: TokenCode
  /** What the price is for: so many requests or seconds, or a million bytes. */
  readonly per: { readonly unit: Unit; readonly amount: number }
  readonly acceptedMints: readonly TokenCode[]
  /** Of the accepted tokens. */
  readonly mints: MintTable
  readonly recipient: string
  readonly description: string | undefined
  readonly scope: string
}

export interface Catalog {
  /** The function returned takes it out again. */
  add(entry: CatalogEntry, readiness: () => Promise<ReadinessReport>): () => void
  entries(): readonly CatalogEntry[]
  /** How each of them stands, in the same order. */
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

export function createCatalogEntry({
  endpoint,
  pricing,
  acceptedMints,
  mints,
  recipient,
  description,
  scope,
}: RouteConfig): CatalogEntry {
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
    acceptedMints,
    mints: pickMints(acceptedMints, mints),
    recipient,
    description,
    scope,
  }
}

export interface Readiness {
  readonly offered: readonly TokenCode[]
  /** Why a token is not offered, one sentence each. */
  readonly withheld: Readonly<Partial<Record<TokenCode, string>>>
}

export interface ReadinessReport extends Readiness {
  readonly ready: boolean
  /** Why it is not ready, for the operator. */
  readonly why?: string
  /** True where the owner of the handler has said so; the service itself is well. */
  readonly isPaused?: boolean
}
