/** The rows of payables and outgoing transactions in both databases. Money is text in both. */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type {
  KeptBytes,
  OutgoingTransaction,
  OutgoingTransactionKind,
  OutgoingTransactionState,
  PayoutLine,
} from '../../../core/payouts/ports/outgoing.ts'
import type {
  Accrual,
  NumberedAccrual,
  Payee,
  Ripening,
  RoleSum,
  Verification,
} from '../../../core/payouts/ports/rewards.ts'
import { type NothingWhy, type RewardRole, rewardRoles, type Share } from '../../../core/payouts/rewards.ts'
import { shownPayee } from '../../rules/payables.ts'
import { formatRates, formatText, parseParts, parseRates, parseText } from '../../stored-text.ts'
import type { Columns, Whole } from '../work.ts'

export interface RipeningRow {
  readonly tx: Uint8Array
  readonly recipient: string
  readonly payer: string
  readonly endpoint: string
  readonly token: TokenCode
  readonly required: string
  readonly paid_at: Whole
  readonly usable_until: Whole
  readonly rates: string | null
  readonly splits: string | null
  readonly delivered: boolean | bigint
}

/** The columns of payments that wait for accrual. `delivered` follows `isUntouched`. */
export const ripeningColumns = `paid.tx, recipient, payer, endpoint, token, required, paid.paid_at, usable_until, rates, splits,
  (unit = 'second' OR used > 0 OR deliveries > 0 OR positions <> '') AS delivered`

export function readRipening(row: RipeningRow): Ripening {
  const { recipient, payer, token } = row
  const { splits = [], isCollected } = parseParts(row.splits)
  return {
    tx: new Uint8Array(row.tx),
    recipient,
    payer,
    endpoint: parseText(row.endpoint),
    token,
    required: BigInt(row.required),
    paidAt: Number(row.paid_at),
    usableUntil: Number(row.usable_until),
    rates: parseRates(row.rates),
    collected: isCollected ? splits : [],
    isDelivered: Boolean(row.delivered),
  }
}

export interface AccrualRow extends Omit<RipeningRow, 'required' | 'usable_until' | 'splits' | 'delivered'> {
  readonly number: Whole
  readonly at: Whole
  readonly units: string
  readonly rules: string
  readonly developer: string
  readonly spent: string
  readonly worth: string
  readonly whole: string
  readonly rate: string
  readonly why: NothingWhy | ''
}

export const accrualColumns: Columns<NumberedAccrual> = {
  tx: ['bytea', ({ tx }) => tx],
  number: ['bigint', ({ number }) => number],
  at: ['bigint', ({ at }) => at],
  recipient: ['text', ({ recipient }) => formatText(recipient)],
  payer: ['text', ({ payer }) => formatText(payer)],
  endpoint: ['text', ({ endpoint }) => formatText(endpoint)],
  token: ['text', ({ token }) => token],
  units: ['numeric', ({ units }) => String(units)],
  paid_at: ['bigint', ({ paidAt }) => paidAt],
  rates: ['text', ({ rates }) => formatRates(rates)],
  rules: ['text', ({ rules }) => formatText(rules)],
  developer: ['text', ({ developer }) => formatText(developer)],
  spent: ['numeric', ({ spent }) => String(spent)],
  worth: ['numeric', ({ worth }) => String(worth)],
  whole: ['numeric', ({ whole }) => String(whole)],
  rate: ['numeric', ({ rate }) => String(rate)],
  why: ['text', ({ why }) => why],
}

export type ShareRow = {
  readonly number: Whole
  readonly role: RewardRole
  readonly payee: string
  readonly units: string
}

export function readAccruals(rows: readonly AccrualRow[], shareRows: readonly ShareRow[]): readonly NumberedAccrual[] {
  const shares = new Map<number, Share[]>()
  for (const { number, role, payee, units } of shareRows) {
    const share = { role, payee: parseText(payee), units: BigInt(units) }
    shares.set(Number(number), [...(shares.get(Number(number)) ?? []), share])
  }
  const byRole = (one: Share, other: Share): number => rewardRoles.indexOf(one.role) - rewardRoles.indexOf(other.role)
  return rows.map((row) => ({
    ...readAccrual(row),
    number: Number(row.number),
    shares: (shares.get(Number(row.number)) ?? []).sort(byRole),
  }))
}

function readAccrual(row: AccrualRow): Omit<Accrual, 'shares'> {
  const { token, why } = row
  return {
    tx: new Uint8Array(row.tx),
    at: Number(row.at),
    recipient: parseText(row.recipient),
    payer: parseText(row.payer),
    endpoint: parseText(row.endpoint),
    token,
    units: BigInt(row.units),
    paidAt: Number(row.paid_at),
    rates: parseRates(row.rates),
    rules: parseText(row.rules),
    developer: parseText(row.developer),
    spent: BigInt(row.spent),
    worth: BigInt(row.worth),
    whole: BigInt(row.whole),
    rate: BigInt(row.rate),
    why,
  }
}

export interface SumsRow {
  readonly role: RewardRole
  readonly accrued: string
  readonly owed: string
  readonly reserved: string
  readonly paid: string
}

export interface PayeeRow extends SumsRow {
  readonly payee: string
  readonly upto: Whole
  readonly why: string
  readonly parked_until: Whole
}

export const payeeColumns = 'role, payee, accrued, owed, reserved, paid, upto, why, parked_until'

export function readSums({ role, accrued, owed, reserved, paid }: SumsRow): Omit<RoleSum, 'payees'> {
  return { role, accrued: BigInt(accrued), owed: BigInt(owed), reserved: BigInt(reserved), paid: BigInt(paid) }
}

export function readPayee(row: PayeeRow, now: number): Payee {
  const place = { settledThrough: Number(row.upto), why: parseText(row.why), parkedUntil: Number(row.parked_until) }
  return shownPayee({ ...readSums(row), payee: parseText(row.payee), ...place }, now)
}

export interface VerificationRow {
  readonly host: string
  readonly wallet: string
  readonly begins: Whole
  readonly ends: Whole
  readonly revoked: boolean | bigint
}

export function readVerification({ host, wallet, begins, ends, revoked }: VerificationRow): Verification {
  const times = { from: Number(begins), until: Number(ends) }
  return { host: parseText(host), wallet: parseText(wallet), ...times, isRevoked: Boolean(revoked) }
}

export interface OutgoingTransactionRow {
  readonly id: string
  readonly kind: OutgoingTransactionKind
  readonly lane: string
  readonly state: OutgoingTransactionState
  readonly version: Whole
  readonly at: Whole
  readonly changed_at: Whole
  readonly attempts: Whole
  readonly failures: Whole
  readonly signature: string | null
  readonly last_valid: Whole | null
  readonly signed_slot: Whole | null
  readonly sealed: string
  readonly slot: Whole
  readonly why: string
  readonly about: string
}

export const outgoingColumns = `id, kind, lane, state, version, at, changed_at, attempts, failures, signature, last_valid,
  signed_slot, sealed, slot, why, about`

export function readOutgoingTransaction(row: OutgoingTransactionRow): OutgoingTransaction {
  const { kind, state } = row
  return {
    id: parseText(row.id),
    kind,
    lockKey: parseText(row.lane),
    state,
    version: Number(row.version),
    at: Number(row.at),
    changedAt: Number(row.changed_at),
    attempts: Number(row.attempts),
    failures: Number(row.failures),
    signed: readSigned(row),
    slot: Number(row.slot),
    why: parseText(row.why),
    about: parseText(row.about),
  }
}

function readSigned({ signature, last_valid, signed_slot, sealed }: OutgoingTransactionRow): KeptBytes | undefined {
  if (signature === null) return undefined
  const place = { lastValidBlockHeight: Number(last_valid), slot: Number(signed_slot) }
  return { signature: parseText(signature), ...place, sealed: parseText(sealed) }
}

/** The columns that a step may change. */
export function steppedValues(outgoing: OutgoingTransaction): Readonly<Record<string, string | number | null>> {
  const { state, version, changedAt, attempts, failures, signed, slot, why, about } = outgoing
  return {
    ...{ state, version, changed_at: changedAt, attempts, failures },
    signature: signed ? formatText(signed.signature) : null,
    last_valid: signed?.lastValidBlockHeight ?? null,
    signed_slot: signed?.slot ?? null,
    sealed: formatText(signed?.sealed ?? ''),
    ...{ slot, why: formatText(why), about: formatText(about) },
  }
}

export interface LineRow {
  readonly role: RewardRole
  readonly payee: string
  readonly after: Whole
  readonly upto: Whole
  readonly gross: string
  readonly units: string
  readonly opening: string
}

export const lineColumns = 'role, payee, after, upto, gross, units, opening'

export function readLine({ role, payee, after, upto, gross, units, opening }: LineRow): PayoutLine {
  const place = { from: Number(after), through: Number(upto) }
  const money = { gross: BigInt(gross), units: BigInt(units), opening: BigInt(opening) }
  return { role, payee: parseText(payee), ...place, ...money }
}
