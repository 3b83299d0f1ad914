/**
 * Recomputes all rewards from the chain and from the journaled rates, rules and verifications, and compares them with
 * the amounts owed and paid. It changes nothing.
 */
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import type { FrozenRates, RateTable } from '../../core/money/rates.ts'
import type { Mint, TokenCode } from '../../core/money/tokens.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { formatMemo } from '../../core/payouts/outgoing-memo.ts'
import type { OutgoingTransaction, OutgoingTransactions } from '../../core/payouts/ports/outgoing.ts'
import type { NumberedAccrual, Rewards, Verification } from '../../core/payouts/ports/rewards.ts'
import { formatRefundLockKey, parseRefund } from '../../core/payouts/refunds.ts'
import { parseRules, type RewardRules, type Share, type Sharing, shareOut } from '../../core/payouts/rewards.ts'
import type { Chain } from '../../core/ports/chain.ts'
import { type RateJournal, ratesKeptMs } from '../../core/ports/journal.ts'
import type { Books } from '../../core/ports/reports.ts'
import type { Clock } from '../../core/runtime.ts'
import { cashbackWindowMs, findDeveloper, rewardTokens } from './accrual.ts'
import { readSent } from './outgoing-transactions.ts'
import { type Addresses, createPayment } from './payees.ts'

export interface RewardAuditParts {
  readonly rewards: Rewards
  readonly books: Pick<Books, 'findPayment'>
  readonly outgoing: OutgoingTransactions
  readonly chain: Pick<Chain, 'read'>
  readonly addresses: Addresses
  readonly nameOf: (wallet: Uint8Array) => string
  readonly native: Mint
  /** The mint of a token, or `SOL`. */
  readonly assetOf: (token: TokenCode) => string | undefined
  /** Undefined if the ledger stores no rates. The rates of each accrual are then accepted unchecked. */
  readonly rateJournal: RateJournal
  /** The token of the reports. Its rate is stored with a payment, too. */
  readonly reportToken: TokenCode | undefined
  readonly clock: Clock
}

export interface RewardAudit {
  readonly accruals: number
  readonly payouts: number
  /** Shared payments that were refunded, in sentences. Both stand: the owner bears the cost. */
  readonly refunded: readonly string[]
  /** Differences, in sentences. */
  readonly problems: readonly string[]
  /** Facts that no node could confirm, in sentences: neither right nor wrong. */
  readonly unknown: readonly string[]
}

const pageSize = 200

export async function auditRewards(parts: RewardAuditParts): Promise<RewardAudit> {
  const [problems, unknown, refunded]: [string[], string[], string[]] = [[], [], []]
  const found = {
    refund: (text: string) => void refunded.push(text),
    problem: (text: string) => void problems.push(text),
    unknown: (text: string) => void unknown.push(text),
  }
  const accruals = await auditAccruals(parts, found)
  const payouts = await auditPayouts(parts, found)
  for (const { line, kept, counted } of await parts.rewards.audit())
    found.problem(`${line}: the ledger has ${kept}, but its rows sum to ${counted}`)
  return { accruals, payouts, refunded, problems, unknown }
}

interface Findings {
  refund(text: string): void
  problem(text: string): void
  unknown(text: string): void
}

async function auditAccruals(parts: RewardAuditParts, found: Findings): Promise<number> {
  const verifications = await parts.rewards.verifications()
  const rulebooks = new Map<string, RewardRules | undefined>()
  const spending = new Map<string, { readonly at: number; readonly worth: bigint }[]>()
  let last = 0
  for (;;) {
    const page = await parts.rewards.accruals(last, pageSize)
    await tellRefunds(parts, page, found)
    for (const accrual of page) {
      if (accrual.number !== last + 1) found.problem(`accrual ${last + 1} is missing`)
      last = accrual.number
      if (!rulebooks.has(accrual.rules)) {
        const text = await parts.rewards.rules(accrual.rules)
        rulebooks.set(accrual.rules, text === undefined ? undefined : parseRules(text))
      }
      const spent = spending.get(accrual.payer) ?? []
      spending.set(accrual.payer, spent)
      await auditAccrual(parts, { accrual, rules: rulebooks.get(accrual.rules), verifications, spent }, found)
      if (accrual.why === '') spent.push({ at: accrual.paidAt, worth: accrual.worth })
    }
    if (page.length < pageSize) return last
  }
}

/** Only a delivered payment has shares, so only its refund on request concerns an amount that was shared. */
async function tellRefunds({ outgoing }: RewardAuditParts, page: readonly NumberedAccrual[], found: Findings) {
  const shared = page.filter(({ why }) => why === '')
  const refunds = await outgoing.findByLockKeys(shared.map(({ tx }) => formatRefundLockKey(encodeBase58(tx))))
  for (const [index, { number, tx, whole }] of shared.entries()) {
    const refund = refunds[index]
    if (refund?.state !== 'landed') continue
    const { units, token, reason } = parseRefund(refund.about)
    if (reason !== 'delivered') continue
    found.refund(
      `accrual ${number} (payment ${encodeBase58(tx)}): ${units} ${token} were refunded, ${whole} NATIVE stay shared`,
    )
  }
}

interface Audited {
  readonly accrual: NumberedAccrual
  readonly rules: RewardRules | undefined
  readonly verifications: readonly Verification[]
  /** The payer's earlier spending, by payment. */
  readonly spent: readonly { readonly at: number; readonly worth: bigint }[]
}

async function auditAccrual(parts: RewardAuditParts, audited: Audited, found: Findings): Promise<void> {
  const { accrual, rules, verifications, spent } = audited
  const { endpoint, paidAt, rates, payer, recipient, token, units, number } = accrual
  const tx = encodeBase58(accrual.tx)
  const name = `accrual ${number} (payment ${tx})`
  if (!rules) return found.problem(`${name}: its rules are missing`)
  const inWindow = spent.filter(({ at }) => at > paidAt - cashbackWindowMs && at <= paidAt)
  const sum = inWindow.reduce((total, { worth }) => total + worth, 0n)
  if (accrual.why !== 'not_delivered' && accrual.spent !== sum)
    found.problem(`${name}: the payer had spent ${sum}, but it records ${accrual.spent}`)
  const developer = findDeveloper(rules, verifications, endpoint, paidAt)
  if (accrual.developer !== (developer ?? '')) found.problem(`${name}: another developer was verified`)
  if (accrual.why !== 'not_delivered') {
    const { splits = [], isCollected } = (await parts.books.findPayment(accrual.tx)) ?? {}
    const collected = isCollected ? splits : []
    const earning = { recipient, payer, endpoint, token, units, collected, spent: sum, developer }
    const sharing: Sharing = rates
      ? shareOut(rules, { ...earning, rates }, (wallet) => parts.nameOf(decodeAddress(wallet) ?? new Uint8Array()))
      : { kind: 'waiting' }
    const should = sharing.kind === 'shared' ? sharing.shares : []
    if (!isSame(should, accrual.shares))
      found.problem(`${name}: expected shares ${describeShares(should)}, recorded ${describeShares(accrual.shares)}`)
  }
  if (rates && !(await wereInForce(parts, accrual, rates)))
    found.problem(`${name}: its rates differ from those at the time of the payment`)
  const reading = await parts.chain.read(tx, 0, { commitment: 'finalized' })
  if (reading.kind === 'missing') return found.unknown(`${name}: no node returns the payment any more`)
  if (reading.kind !== 'found') return found.unknown(`${name}: ${reading.why}`)
  const wrong = whyNotPaid(parts, accrual, reading.effect)
  if (wrong !== undefined) found.problem(`${name}: ${wrong}`)
}

/**
 * The assumed maximum lag of the ledger's clock behind the chain's. Within it, rates can be journaled after they were
 * queried.
 */
const clockSlackMs = 60_000

/**
 * Whether rates are the journaled ones for the time of a payment. If an earlier version queried them, or the journal
 * does not reach back that far, there is nothing to compare.
 */
async function wereInForce(
  { rateJournal, reportToken, clock }: RewardAuditParts,
  { token, paidAt }: NumberedAccrual,
  { feed, at, table }: FrozenRates,
): Promise<boolean> {
  if (feed === undefined || paidAt < clock.now() - ratesKeptMs) return true
  // A payment stores the rates for its report. They can be sufficient to share it out, too.
  const needs = [rewardTokens(token), [token, reportToken ?? 'USDC'] as const]
  for (const tokens of needs) {
    const [first, last] = await Promise.all(
      [paidAt - clockSlackMs, paidAt].map((time) => rateJournal.find({ feed, time, tokens })),
    )
    const entry = await rateJournal.find({ feed, time: at, tokens: [] })
    const isKept = entry?.at === at && isSameTable(entry.table, table)
    if (first && last && isKept && at >= first.at && at <= last.at) return true
  }
  return false
}

function isSameTable(one: RateTable, other: RateTable): boolean {
  const tokens = Object.keys({ ...one, ...other })
  return tokens.every((token) => one[token] === other[token])
}

/** The reason why the chain's data contradict a payment that was shared out. Undefined if they agree. */
function whyNotPaid(
  { assetOf, nameOf }: RewardAuditParts,
  { token, units, recipient, payer, paidAt }: NumberedAccrual,
  effect: Effect,
): string | undefined {
  const asset = assetOf(token)
  if (effect.failed) return 'it failed on chain'
  if (effect.blockTime * 1_000 !== paidAt) return 'the chain has another payment time'
  const own = effect.transfers.filter((one) => one.asset === asset && one.destinationOwner === recipient)
  const paid = own.reduce((sum, one) => sum + (one.units ?? 0n), 0n)
  if (paid < units) return `on chain ${recipient} received ${paid}, but ${units} were shared`
  const isPayer = own.some(({ authority, signers }) =>
    [authority, ...signers].some((one) => nameOf(decodeAddress(one) ?? new Uint8Array()) === payer),
  )
  return isPayer ? undefined : 'the payer on chain is another wallet'
}

async function auditPayouts(parts: RewardAuditParts, found: Findings): Promise<number> {
  let count = 0
  let after: OutgoingTransaction | undefined
  for (;;) {
    const page = await parts.outgoing.list({ kind: 'payout', state: 'landed', most: pageSize, ...(after && { after }) })
    for (const transaction of page) await auditPayout(parts, transaction, found)
    count += page.length
    after = page.at(-1)
    if (page.length < pageSize) return count
  }
}

async function auditPayout(parts: RewardAuditParts, { id, signed }: OutgoingTransaction, found: Findings) {
  const name = `payout ${id} (transaction ${signed?.signature})`
  const reading = await parts.chain.read(signed?.signature ?? '', 0, { commitment: 'finalized' })
  if (reading.kind !== 'found') return found.unknown(`${name}: no node returns the transaction`)
  const { effect } = reading
  if (!effect.transfers.some(({ memos }) => memos.includes(formatMemo(id))))
    found.problem(`${name}: its memo does not belong to the payout`)
  const should = new Map<string, bigint>()
  for (const line of await parts.outgoing.lines(id)) {
    const finding = await parts.addresses.find(line, () => createPayment(parts.rewards, line))
    if (finding.kind !== 'found') return found.unknown(`${name}: ${finding.why}`)
    should.set(finding.address, (should.get(finding.address) ?? 0n) + line.units)
  }
  for (const [owner, units] of should) {
    const sent = readSent(effect, effect.feePayer, owner, parts.native.address)
    if (sent !== units) found.problem(`${name}: ${owner} was sent ${sent} instead of ${units}`)
  }
}

function isSame(one: readonly Share[], other: readonly Share[]): boolean {
  const formatText = (shares: readonly Share[]) =>
    shares.map(({ role, payee, units }) => `${role} ${payee} ${units}`).toSorted()
  return formatText(one).join() === formatText(other).join()
}

function describeShares(shares: readonly Share[]): string {
  return shares.map(({ role, units }) => `${role} ${units}`).join(', ') || 'nothing'
}
