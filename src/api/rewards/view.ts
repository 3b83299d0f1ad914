/**
 * `GET /api/rewards` and its sub-paths, and `POST /api/refunds`: payables and outgoing transactions, formatted for
 * people.
 */
import { formatUnits } from '../../core/money/money.ts'
import { findDecimals, findMint, type MintTable, type TokenCode } from '../../core/money/tokens.ts'
import { worthDecimals } from '../../core/money/valuation.ts'
import type {
  OutgoingTransaction,
  OutgoingTransactionMark,
  OutgoingTransactions,
  PayoutLine,
} from '../../core/payouts/ports/outgoing.ts'
import type { Payee, PayeeName, Rewards, RoleSum } from '../../core/payouts/ports/rewards.ts'
import { parseRefund, type RefundFacts, type RefundWish } from '../../core/payouts/refunds.ts'
import { type RewardRole, type RewardRules, restRoles, rewardRoles } from '../../core/payouts/rewards.ts'
import type { Clock } from '../../core/runtime.ts'
import { cutPage } from '../http/paging.ts'
import type { RewardsConfig } from './option.ts'

/** Sends a refund in this process. */
export type Refunding = (tx: Uint8Array, wish: RefundWish) => Promise<RefundAnswer>
export type RefundAnswer =
  | { readonly kind: 'planned' | 'known'; readonly transaction: OutgoingTransaction }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unknown' }

export interface RewardsParts extends PayoutsView {
  readonly rewards: Rewards
  readonly outgoing: OutgoingTransactions
  readonly clock: Clock
  readonly mints: () => MintTable
}

/** The payout parts of this process. */
export interface PayoutsView {
  readonly config: RewardsConfig | undefined
  /** The balance of the outgoing wallet of this process, if it has one. */
  readonly wallet: () => Promise<WalletView | undefined>
  readonly isPaused: () => Promise<boolean>
  readonly refund: Refunding | undefined
}

export interface WalletView {
  readonly address: string
  readonly native: string
  readonly sol: string
}

const latestPayouts = 20
/** The lengths of the pages on the dashboard. */
const firstPayees = 25
const firstPayouts = 10

export async function readRewards(parts: RewardsParts) {
  const { rewards, outgoing, config } = parts
  const amount = createFormatter(parts)
  const [sums, ripening, paused, wallet, payouts] = await Promise.all([
    rewards.sums(),
    rewards.countAccruable(),
    parts.isPaused(),
    parts.wallet(),
    outgoing.list({ kind: 'payout', most: latestPayouts }),
  ])
  return {
    token: 'NATIVE',
    isOn: config !== undefined,
    paused,
    ripening,
    threshold: config ? amount(config.least) : null,
    rules: config ? describeRules(config.rules) : null,
    wallet: wallet ?? null,
    roles: formatRoles(sums, amount),
    payouts: await Promise.all(payouts.map((transaction) => formatPayout(parts, transaction))),
    first: {
      payees: await readPayees(parts, { limit: firstPayees }),
      payouts: await readPayouts(parts, { limit: firstPayouts }),
    },
  }
}

/** The sums of all roles, also of those without payees. */
export function formatRoles(sums: readonly RoleSum[], amount: (units: bigint) => string) {
  return rewardRoles.map((role) => {
    const sum = sums.find((one) => one.role === role)
    const { payees = 0, accrued = 0n, owed = 0n, reserved = 0n, paid = 0n } = sum ?? {}
    return { role, payees, accrued: amount(accrued), due: amount(owed), underWay: amount(reserved), paid: amount(paid) }
  })
}

/** The percentages of the configuration. */
function describeRules({ partners, developerBps, cashback, rest, withoutPartner }: RewardRules) {
  return {
    partners: partners.map(({ name, wallet, bps, endpoints }) => ({ name, wallet, share: percent(bps), endpoints })),
    developers: percent(developerBps),
    cashback: cashback.map(({ from, bps }) => ({ from: formatUnits(from, worthDecimals), share: percent(bps) })),
    rest: restRoles.map((role) => ({ role, ...rest[role] })),
    withoutPartner,
  }
}

function percent(bps: number): string {
  return formatUnits(BigInt(bps), 2)
}

export interface PayeesQuery {
  readonly role?: RewardRole | undefined
  readonly cursor?: PayeeName | undefined
  readonly limit: number
}

export async function readPayees(parts: RewardsParts, { role, cursor, limit }: PayeesQuery) {
  const found = await parts.rewards.payees({ most: limit + 1, ...(role && { role }), ...(cursor && { after: cursor }) })
  const { shown, last } = cutPage(found, limit)
  const payees = shown.map((payee) => formatPayee(parts, payee))
  return { token: 'NATIVE', payees, next: last ? writePayee(last) : null }
}

function formatPayee(parts: RewardsParts, payee: Payee) {
  const amount = createFormatter(parts)
  const isParked = payee.parkedUntil > parts.clock.now()
  return {
    id: writePayee(payee),
    role: payee.role,
    payee: payee.payee,
    accrued: amount(payee.accrued),
    due: amount(payee.owed),
    underWay: amount(payee.reserved),
    paid: amount(payee.paid),
    waits: isParked ? payee.why : '',
    waitsUntil: isParked ? new Date(payee.parkedUntil).toISOString() : null,
  }
}

/** One payee with its payouts. */
export async function readPayee(parts: RewardsParts, name: PayeeName) {
  const found = await parts.rewards.payee(name)
  if (!found) return undefined
  const lines = await parts.outgoing.linesOf(name, 100)
  return {
    ...formatPayee(parts, found),
    payouts: lines.map((line) => ({ ...formatHead(line.transaction), ...formatLine(parts, line) })),
  }
}

export interface OutgoingTransactionsQuery {
  readonly cursor?: OutgoingTransactionMark | undefined
  readonly limit: number
}

export async function readPayouts(parts: RewardsParts, { cursor, limit }: OutgoingTransactionsQuery) {
  const found = await parts.outgoing.list({ kind: 'payout', most: limit + 1, ...(cursor && { after: cursor }) })
  const { shown, last } = cutPage(found, limit)
  const payouts = await Promise.all(shown.map((transaction) => formatPayout(parts, transaction)))
  return { token: 'NATIVE', payouts, next: last ? writeMark(last) : null }
}

export async function readPayout(parts: RewardsParts, id: string) {
  const transaction = await parts.outgoing.get(id)
  if (transaction?.kind !== 'payout') return undefined
  const lines = await parts.outgoing.lines(id)
  return { ...sumUp(parts, transaction, lines), lines: lines.map((line) => formatLine(parts, line)) }
}

async function formatPayout(parts: RewardsParts, transaction: OutgoingTransaction) {
  return sumUp(parts, transaction, await parts.outgoing.lines(transaction.id))
}

function sumUp(parts: RewardsParts, transaction: OutgoingTransaction, lines: readonly PayoutLine[]) {
  const units = lines.reduce((sum, line) => sum + line.units, 0n)
  return { ...formatHead(transaction), payees: lines.length, amount: createFormatter(parts)(units) }
}

export function formatLine(parts: RewardsParts, { role, payee, gross, units, opening }: PayoutLine) {
  const amount = createFormatter(parts)
  return {
    role,
    payee,
    owed: amount(gross),
    sent: amount(units),
    opening: amount(opening),
    /** The reduction caused by a lower current rate. */
    rate: amount(gross - units - opening),
  }
}

/** The position at which a page of outgoing transactions ends. */
export function writeMark({ at, id }: OutgoingTransactionMark): string {
  return `${at}~${id}`
}

export function parseMark(text: string): OutgoingTransactionMark | undefined {
  const [, at, id] = /^(\d{1,16})~([\w-]{1,64})$/.exec(text) ?? []
  return at === undefined || id === undefined ? undefined : { at: Number(at), id }
}

/** The fields of every outgoing transaction. */
export function formatHead({ id, state, at, changedAt, attempts, signed, slot, why }: OutgoingTransaction) {
  return {
    id,
    state,
    at: new Date(at).toISOString(),
    changedAt: new Date(changedAt).toISOString(),
    attempts,
    tx: signed?.signature ?? null,
    slot: slot > 0 ? slot : null,
    why,
  }
}

export function formatRefundTransaction(parts: Pick<RewardsParts, 'mints'>, transaction: OutgoingTransaction) {
  const facts: RefundFacts = parseRefund(transaction.about)
  const decimals = findDecimals(facts.token as TokenCode, parts.mints())
  const amount = decimals === undefined ? '' : formatUnits(facts.units, decimals)
  return { ...formatHead(transaction), payment: facts.payment, token: facts.token, amount, reason: facts.reason }
}

export async function readRefunds(parts: RewardsParts, limit: number) {
  const refunds = await parts.outgoing.list({ kind: 'refund', most: limit })
  return { canSend: parts.refund !== undefined, refunds: refunds.map((one) => formatRefundTransaction(parts, one)) }
}

function createFormatter({ mints }: RewardsParts): (units: bigint) => string {
  const decimals = findMint('NATIVE', mints())?.decimals
  return (units) => (decimals === undefined ? '' : formatUnits(units, decimals))
}

function writePayee({ role, payee }: PayeeName): string {
  return `${role}~${payee}`
}

export function parsePayee(text: string): PayeeName | undefined {
  const [, role, payee] = /^(\w{1,16})~([\w-]{1,64})$/.exec(text) ?? []
  const known = rewardRoles.find((one) => one === role)
  return known && payee !== undefined ? { role: known, payee } : undefined
}
