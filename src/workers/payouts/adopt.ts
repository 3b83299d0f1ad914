/**
 * Takes over transactions that the chain has and the ledger does not, after the ledger was restored from a backup.
 *
 * Each payee is credited with the amount that a payout sent: its oldest accruals are settled until they cover it. A
 * refund is recorded for the payment in its memo. Other amounts are only accepted, and reported for the operator.
 */
import { decodeAddress, decodeSignature } from '../../core/encoding/base58.ts'
import type { Mint, TokenCode } from '../../core/money/tokens.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { formatId, readKind, readRefundMemo } from '../../core/payouts/outgoing-memo.ts'
import type {
  OutgoingTransaction,
  OutgoingTransactionKind,
  OutgoingTransactions,
  PayoutLine,
  Sealer,
} from '../../core/payouts/ports/outgoing.ts'
import type { PayeeName, Rewards } from '../../core/payouts/ports/rewards.ts'
import { formatRefund, formatRefundLockKey } from '../../core/payouts/refunds.ts'
import { rewardRoles } from '../../core/payouts/rewards.ts'
import type { Chain } from '../../core/ports/chain.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Books } from '../../core/ports/reports.ts'
import type { Clock } from '../../core/runtime.ts'
import { readSent } from './outgoing-transactions.ts'
import { acceptTransaction, type UnknownTransaction } from './unknown-transactions.ts'

export interface AdoptionParts {
  readonly outgoing: OutgoingTransactions
  readonly rewards: Rewards
  readonly books: Pick<Books, 'findPayment'>
  readonly chain: Pick<Chain, 'read'>
  readonly nameOf: (wallet: Uint8Array) => string
  readonly native: Mint
  /** The token of a mint, or of `SOL`. */
  readonly tokenOf: (asset: string) => TokenCode | undefined
  readonly kv: KeyValueStore
  readonly sealer: Pick<Sealer, 'tag'>
  readonly clock: Clock
}

/** An amount that a transaction of the wallet sent to another one. */
export interface Receipt {
  readonly owner: string
  /** The mint, or `SOL`. */
  readonly asset: string
  readonly units: bigint
  /** The part that settles accruals of this ledger, and the part of it that is cashback. */
  readonly settled: bigint
  readonly cashback: bigint
  /** The payment whose refund this is. This ledger refunds it no more. */
  readonly refunded?: string
}

export type Adoption =
  | { readonly kind: 'adopted'; readonly receipts: readonly Receipt[] }
  /** Nothing changed. The command can be repeated. */
  | { readonly kind: 'later'; readonly why: string }

/**
 * Drops planned payouts and refunds, which were planned without knowledge of these transactions. Payouts are planned
 * again. Returns the dropped ones.
 */
export async function dropPlanned(
  { outgoing }: Pick<AdoptionParts, 'outgoing'>,
  unknown: readonly UnknownTransaction[],
): Promise<readonly OutgoingTransaction[]> {
  const taken = new Set(unknown.flatMap(({ ids }) => ids))
  const planned = (await outgoing.open()).filter(
    ({ id, kind, state }) => state === 'planned' && kind !== 'conversion' && !taken.has(id),
  )
  const dropped = planned.map(({ id, version }) => outgoing.drop(id, version, 'the ledger was restored from a backup'))
  return (await Promise.all(dropped)).filter((one) => one !== undefined)
}

/** Takes over one transaction. Safe to repeat after a crash. */
export async function adoptTransaction(
  parts: AdoptionParts,
  wallet: string,
  transaction: UnknownTransaction,
): Promise<Adoption> {
  const { outgoing } = parts
  const { signature, ids } = transaction
  const reading = await parts.chain.read(signature, 0, { commitment: 'finalized' })
  if (reading.kind !== 'found') return { kind: 'later', why: 'no node returns the transaction' }
  const sent = readReceipts(reading.effect, wallet)
  const rows = await Promise.all(ids.map((id) => outgoing.get(id)))
  const row = rows.find((one) => one !== undefined)
  // The ledger has its plan, and possibly an earlier signature.
  if (row?.state === 'signed' && row.signed?.signature !== signature)
    return {
      kind: 'later',
      why: 'an earlier signature of it can still land; run a worker and try again in two minutes',
    }
  if (row && row.state !== 'dropped' && row.state !== 'landed') return resume(parts, row, transaction, sent)
  // An id of an earlier version does not tell the kind. A possible payout must not be sent again.
  const kind = readKind(ids[0] ?? '') ?? 'payout'
  const place = row || !ids[0] ? await findPlace(parts, kind, signature) : { id: ids[0], booked: undefined }
  const record = { payout: recordPayout, refund: recordRefund, conversion: recordNothing }[kind]
  const adoption = place.booked
    ? await resume(parts, place.booked, transaction, sent)
    : await record(parts, { ...transaction, id: place.id, sent })
  // Also where the ledger has it now: its id can be that of a dropped one.
  if (adoption.kind === 'adopted') await acceptTransaction(parts, signature)
  return adoption
}

interface Sent extends UnknownTransaction {
  /** The id under which the ledger records it. */
  readonly id: string
  readonly sent: readonly Omit<Receipt, 'settled' | 'cashback'>[]
}

/** Where a transaction is booked whose own id the ledger has already. */
interface BookingPlace {
  readonly id: string
  /** The booking that an earlier call began there. */
  readonly booked: OutgoingTransaction | undefined
}

const idLength = 14

/** Ids of parts of the signature, so that the next call finds the booking of one that crashed. */
async function findPlace(
  { outgoing, sealer }: AdoptionParts,
  kind: OutgoingTransactionKind,
  signature: string,
): Promise<BookingPlace> {
  for (let from = 0; from < signature.length; from += 1) {
    const id = formatId(sealer.tag, kind, signature.slice(from, from + idLength))
    const booked = await outgoing.get(id)
    // A dropped one keeps its id.
    if (booked?.state !== 'dropped') return { id, booked }
  }
  throw new Error(`the ledger has dropped every booking of the transaction ${signature}`)
}

/** Completes a booking that the ledger has. */
async function resume(
  parts: AdoptionParts,
  row: OutgoingTransaction,
  transaction: UnknownTransaction,
  sent: Sent['sent'],
): Promise<Adoption> {
  if (row.state !== 'landed') await conclude(parts, row, transaction)
  return { kind: 'adopted', receipts: sent.map((one) => ({ ...one, settled: one.units, cashback: 0n })) }
}

const nothingSettled = { settled: 0n, cashback: 0n }

async function recordNothing(_: AdoptionParts, { sent }: Sent): Promise<Adoption> {
  return { kind: 'adopted', receipts: sent.map((one) => ({ ...one, ...nothingSettled })) }
}

async function recordPayout(parts: AdoptionParts, transaction: Sent): Promise<Adoption> {
  const receipts: Receipt[] = []
  const lines: PayoutLine[] = []
  for (const one of transaction.sent) {
    const own = one.asset === parts.native.address ? await settle(parts, one) : []
    lines.push(...own)
    const cashback = own.filter(({ role }) => role === 'cashback')
    receipts.push({ ...one, settled: sumUnits(own), cashback: sumUnits(cashback) })
  }
  if (lines.length === 0) return { kind: 'adopted', receipts }
  const { id } = transaction
  const planning = await parts.outgoing.plan({ id, kind: 'payout', lockKey: '', about: '', lines })
  if (planning.kind !== 'planned')
    return { kind: 'later', why: 'a payee has another payout under way; run a worker and try again in two minutes' }
  await conclude(parts, planning.transaction, transaction)
  return { kind: 'adopted', receipts }
}

/** Records the refund for its payment, which then cannot be refunded or, after a full refund, redeemed any more. */
async function recordRefund(parts: AdoptionParts, transaction: Sent): Promise<Adoption> {
  const { id, sent, memos, signature } = transaction
  // Besides the refund, the wallet can have paid SOL for a token account.
  const amount = sent.find(({ asset }) => asset !== 'SOL') ?? sent[0]
  const token = amount && parts.tokenOf(amount.asset)
  const purpose = readRefundMemo(memos)
  const tx = decodeSignature(purpose?.payment ?? '')
  if (!amount || token === undefined || !purpose || !tx) return recordNothing(parts, transaction)
  const lockKey = formatRefundLockKey(purpose.payment)
  const before = await parts.outgoing.findByLockKey(lockKey)
  // The payment was refunded twice.
  if (before?.state === 'landed' && before.signed?.signature !== signature) return recordNothing(parts, transaction)
  const { units } = amount
  const about = formatRefund({ ...purpose, token, units })
  const voids = purpose.reason !== 'surplus' && { voids: tx, coversUse: true }
  // The books count the refund of a surplus only if they have its payment.
  const state = (await parts.books.findPayment(tx))?.state ?? 'unclaimed'
  const refunds = (voids || state !== 'unclaimed') && { refunds: { tx, units } }
  const plan = { id, kind: 'refund' as const, lockKey, about, lines: [], ...voids, ...refunds }
  const planning = before?.state === 'landed' ? undefined : await parts.outgoing.plan(plan)
  if (planning && planning.kind !== 'planned')
    return { kind: 'later', why: 'the refunded payment is in use; run a worker and try again in two minutes' }
  if (planning) await conclude(parts, planning.transaction, transaction)
  const refunded = (one: Sent['sent'][number]) => (one === amount ? { refunded: purpose.payment } : {})
  return { kind: 'adopted', receipts: sent.map((one) => ({ ...one, ...nothingSettled, ...refunded(one) })) }
}

function sumUnits(lines: readonly PayoutLine[]): bigint {
  return lines.reduce((sum, { units }) => sum + units, 0n)
}

/** Records that a planned transaction has landed. Its bytes are not stored, because they need not be sent again. */
async function conclude(
  { outgoing }: Pick<AdoptionParts, 'outgoing'>,
  row: OutgoingTransaction,
  { signature, slot }: Pick<UnknownTransaction, 'signature' | 'slot'>,
): Promise<void> {
  let { version } = row
  if (row.state === 'planned') {
    const signing = await outgoing.sign(row.id, version, { signature, lastValidBlockHeight: 0, slot, sealed: '' })
    if (signing.kind !== 'signed') throw new Error('another process changed the transaction; try again')
    version = signing.transaction.version
  }
  if (!(await outgoing.land(row.id, version, slot)))
    throw new Error('another process changed the transaction; try again')
}

function readReceipts(effect: Effect, wallet: string): Sent['sent'] {
  const names = effect.transfers
    .filter(({ sourceOwner, destinationOwner }) => sourceOwner === wallet && destinationOwner !== wallet)
    .flatMap(({ destinationOwner, asset }) =>
      destinationOwner === undefined ? [] : [{ owner: destinationOwner, asset }],
    )
  const unique = new Map(names.map((name) => [`${name.owner} ${name.asset}`, name]))
  return [...unique.values()]
    .map(({ owner, asset }) => ({ owner, asset, units: readSent(effect, wallet, owner, asset) }))
    .filter(({ units }) => units > 0n)
}

/** The lines that settle an amount, for each role of its receiver. */
async function settle({ rewards, nameOf }: AdoptionParts, { owner, units }: Pick<Receipt, 'owner' | 'units'>) {
  const lines: PayoutLine[] = []
  let left = units
  for (const role of rewardRoles) {
    if (left === 0n) break
    const payee = role === 'cashback' ? nameOf(decodeAddress(owner) ?? new Uint8Array()) : owner
    const line = await coverWith(rewards, { role, payee }, left)
    if (!line) continue
    lines.push(line)
    left -= line.units
  }
  return lines
}

const pageSize = 200

/** The payee's oldest accruals that cover an amount, or all of them if they do not. */
async function coverWith(rewards: Rewards, name: PayeeName, most: bigint): Promise<PayoutLine | undefined> {
  const [within, all] = await Promise.all([rewards.owed(name, most), rewards.owed(name)])
  if (!within || !all) return undefined
  let { through, units: gross } = within
  // The payout sent less than it settled, for example by the cost of a token account.
  if (gross < most && through < all.through) {
    const next = await findNextShare(rewards, name, through)
    through = next?.number ?? through
    gross += next?.units ?? 0n
  }
  return { ...name, from: within.from, through, gross, units: gross < most ? gross : most, opening: 0n }
}

async function findNextShare(rewards: Rewards, { role, payee }: PayeeName, after: number) {
  for (let last = after; ; ) {
    const page = await rewards.accruals(last, pageSize)
    for (const { number, shares } of page) {
      const share = shares.find((one) => one.role === role && one.payee === payee)
      if (share) return { number, units: share.units }
      last = number
    }
    if (page.length < pageSize) return undefined
  }
}
