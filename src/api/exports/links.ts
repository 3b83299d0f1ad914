/**
 * Links with which a spreadsheet reads an export without sign-in. A link is valid for a limited time, for the filter of
 * its creation, and until it is revoked.
 */
import { parseFields } from '../../core/encoding/fields.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'
import { formatPaymentFilter, type PaymentFilter, readPaymentFilter } from '../analytics/query.ts'
import { createBearers } from '../auth/bearer.ts'

export interface Link {
  readonly id: string
  /** The filter, as a query. */
  readonly query: string
  /** The wallet that created the link; empty if it was created on the machine itself. */
  readonly owner: string
  /** RFC 3339. */
  readonly madeAt: string
  readonly validUntil: string
}

export interface LinkParts {
  readonly kv: KeyValueStore
  readonly clock: Clock
  readonly key: Uint8Array
  readonly ttlSeconds: number
  /** Whether a wallet is an owner now. */
  readonly isOwner: (wallet: string) => boolean
}

export const usualLinkSeconds = 7 * 24 * 3_600
const mostLinks = 100
const prefix = 'link:'

export function createLinks({ kv, clock, key, ttlSeconds, isOwner }: LinkParts) {
  const bearers = createBearers(key, 'link')
  /** A link ends with the ownership of the wallet that created it. */
  const read = async (id: string) => {
    const kept = readKept((await kv.get(`${prefix}${id}`)) ?? '')
    return kept && (kept.owner === '' || isOwner(kept.owner)) ? kept : undefined
  }
  const list = async (): Promise<readonly Link[]> =>
    (await kv.list(prefix)).flatMap(({ name, value, until }) => {
      const kept = readKept(value)
      return kept ? [{ id: name.slice(prefix.length), ...kept, validUntil: new Date(until).toISOString() }] : []
    })

  return {
    list,
    /** Undefined if the maximum number of links exists. */
    make: async (filter: PaymentFilter, owner: string) => {
      if ((await list()).length >= mostLinks) return undefined
      const { token, name: id } = bearers.make()
      const [now, query] = [clock.now(), formatPaymentFilter(filter).toString()]
      const [madeAt, until] = [new Date(now).toISOString(), now + ttlSeconds * 1000]
      await kv.put(`${prefix}${id}`, JSON.stringify({ query, owner, madeAt }), until)
      return { token, link: { id, query, owner, madeAt, validUntil: new Date(until).toISOString() } }
    },
    /** The filter that the token may read; undefined for an invalid or expired token. */
    open: async (token: string) => {
      const id = bearers.nameOf(token)
      const kept = id === undefined ? undefined : await read(id)
      if (id === undefined || !kept) return undefined
      const reading = readPaymentFilter(new URLSearchParams(kept.query))
      return reading.kind === 'input' ? { id, filter: reading.input } : undefined
    },
    isOpen: async (id: string) => (await read(id)) !== undefined,
    revoke: (id: string) => kv.remove(`${prefix}${id}`),
  }
}

export type Links = ReturnType<typeof createLinks>

function readKept(text: string): Pick<Link, 'query' | 'owner' | 'madeAt'> | undefined {
  const { query, owner, madeAt } = parseFields(text) ?? {}
  if (typeof query !== 'string' || typeof owner !== 'string' || typeof madeAt !== 'string') return undefined
  return { query, owner, madeAt }
}
