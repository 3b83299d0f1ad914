/** The memos of the service's own transactions: payouts, refunds and conversions. */
import type { Sealer } from './ports/outgoing.ts'

const idLength = 22

/** The memo by which a transaction is found on the chain. */
export function formatMemo(id: string): string {
  return `paystile:${id}`
}

/**
 * The ids in the memos of a transaction that may belong to this service. Ids of earlier versions are shorter and have
 * no tag.
 */
export function readOwnIds(memos: string, { tag }: Pick<Sealer, 'tag'>): readonly string[] {
  const ids = [...memos.matchAll(/paystile:([A-Za-z0-9_-]{1,64})/g)].map(([, id = '']) => id)
  return ids.filter((id) => id.length !== idLength || id.startsWith(tag))
}
