/** What a service sells, for those who want to know before they ask: machines by `/openapi.json`, agents by `/llms.txt`. */
import { formatUnits } from '../core/money.ts'
import type { MintTable, TokenCode } from '../core/network.ts'
import { pickMints } from '../core/network.ts'
import type { RouteConfig } from './config.ts'
import type { Per } from './pricing.ts'

export interface CatalogEntry {
  /** Upper case; empty where any method is sold. */
  readonly methods: readonly string[]
  /** As the provider names it, `/api/:resource` too; empty where a middleware stands before routes that it does not know. */
  readonly path: string
  /** In whole tokens; undefined where it depends on the request. */
  readonly price: string | undefined
  readonly token: TokenCode
  /** What the price is for, as in the provider's options. */
  readonly per: 'request' | 'megabyte' | { readonly seconds: number } | { readonly requests: number }
  readonly acceptedMints: readonly TokenCode[]
  readonly mints: MintTable
  readonly recipient: string
  readonly description: string | undefined
  readonly scope: string
}

export interface Catalog {
  entries(): readonly CatalogEntry[]
}

export interface OpenCatalog extends Catalog {
  /** The function returned takes it out again. */
  add(entry: CatalogEntry): () => void
}

export function createCatalog(): OpenCatalog {
  const entries = new Set<CatalogEntry>()
  return {
    entries: () => [...entries],
    add: (entry) => {
      entries.add(entry)
      return () => void entries.delete(entry)
    },
  }
}

/** `endpoint` is `GET /api/weather`, `/api/weather`, or empty where the provider does not say. */
export function catalogEntryOf(config: RouteConfig, endpoint = ''): CatalogEntry {
  const [, method, path = ''] = /^(?:([A-Za-z]+)\s+)?(\/.*)$/.exec(endpoint) ?? []
  const { price, token, decimals, per } = config.pricing
  return {
    methods: method === undefined ? [] : [method.toUpperCase()],
    path,
    price: typeof price === 'bigint' ? formatUnits(price, decimals) : undefined,
    token,
    per: perOf(per),
    acceptedMints: config.acceptedMints,
    mints: pickMints(config.acceptedMints, config.mints),
    recipient: config.recipient,
    description: config.description,
    scope: config.scope,
  }
}

function perOf(per: Per): CatalogEntry['per'] {
  if (per.kind === 'bytes') return 'megabyte'
  const { unit, amount } = per.allowance
  if (unit === 'second') return { seconds: Number(amount) }
  return amount === 1n ? 'request' : { requests: Number(amount) }
}
