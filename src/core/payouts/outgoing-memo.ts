/** The ids and memos of the service's own transactions: payouts, refunds and conversions. */
import type { OutgoingTransactionKind, Sealer } from './ports/outgoing.ts'
import { type RefundFacts, refundReasons } from './refunds.ts'

/** In an id, the letter after the tag tells the kind, so that a restored ledger knows what a transaction was. */
const letters: Readonly<Record<OutgoingTransactionKind, string>> = { payout: 'p', refund: 'r', conversion: 'c' }
const tagLength = 8
/** The shortest id with a tag. Ids of earlier versions are shorter and have none. Since then, an id has a letter, too. */
const taggedLength = 22

export function formatId(tag: string, kind: OutgoingTransactionKind, random: string): string {
  return `${tag}${letters[kind]}${random}`
}

/** Undefined for an id of an earlier version, which had no letter. */
export function readKind(id: string): OutgoingTransactionKind | undefined {
  if (id.length <= taggedLength) return undefined
  const kinds = Object.keys(letters) as OutgoingTransactionKind[]
  return kinds.find((kind) => letters[kind] === id[tagLength])
}

/** The memo by which a transaction is found on the chain. */
export function formatMemo(id: string): string {
  return `paystile:${id}`
}

export type RefundPurpose = Pick<RefundFacts, 'payment' | 'reason'>

/** The memo of a refund names the payment, so that a restored ledger does not refund it again. */
export function formatRefundMemo(id: string, { reason, payment }: RefundPurpose): string {
  return `${formatMemo(id)}:${reason}:${payment}`
}

/** The purpose in the memo of a refund. */
export function readRefundMemo(memos: string): RefundPurpose | undefined {
  const [, name, payment] = /paystile:[\w-]{1,64}:([a-z]{1,16}):([1-9A-HJ-NP-Za-km-z]{64,88})/.exec(memos) ?? []
  const reason = refundReasons.find((one) => one === name)
  return reason && payment !== undefined ? { reason, payment } : undefined
}

/** The ids in the memos of a transaction that may belong to this service. */
export function readOwnIds(memos: string, { tag }: Pick<Sealer, 'tag'>): readonly string[] {
  const ids = [...memos.matchAll(/paystile:([A-Za-z0-9_-]{1,64})/g)].map(([, id = '']) => id)
  return ids.filter((id) => id.length < taggedLength || id.startsWith(tag))
}
