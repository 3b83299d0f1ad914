/**
 * Shares out payments that are final and delivered. Each accrual number is written by one worker, and a payment has at
 * most one accrual, so every server can run this worker.
 */
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import { formatUnits } from '../../core/money/money.ts'
import { type FrozenRates, hasRates } from '../../core/money/rates.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Meter } from '../../core/observability/metrics.ts'
import { findVerification } from '../../core/payouts/developers.ts'
import type { Accrual, Rewards, Ripening, Verification } from '../../core/payouts/ports/rewards.ts'
import { formatRules, type RewardRules, readHost, shareOut } from '../../core/payouts/rewards.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import { isTimeSure, type Loop, type LoopParts, startLoop } from '../loop.ts'

export interface AccrualParts extends Pick<LoopParts, 'leads' | 'clockCheck'> {
  readonly rewards: Rewards
  readonly rules: RewardRules
  /** The current rates. Undefined while they are unknown. */
  readonly rates: () => FrozenRates | undefined
  /** The rates at the time of a payment that stored no rate of NATIVE, or the first rates after it. */
  readonly ratesAt: (time: number, tokens: readonly TokenCode[]) => Promise<FrozenRates | undefined>
  /** The pseudonym of a wallet. */
  readonly nameOf: (wallet: Uint8Array) => string
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  /** Called once the ledger keeps final payments for accrual. */
  readonly onStarted?: () => void
}

const everyMs = 2_000
const mostAtOnce = 200
const minuteMs = 60_000
const hourMs = 60 * minuteMs
export const cashbackWindowMs = 7 * 24 * hourMs

export function startAccrual(parts: AccrualParts): Loop {
  const { rewards, rules } = parts
  const { id, text } = formatRules(rules)
  let isStarted = false
  const work = async (): Promise<void> => {
    if (!isStarted) {
      await rewards.start()
      await rewards.keepRules(id, text)
      isStarted = true
      parts.onStarted?.()
    }
    while ((await accrueOnce(parts, id)) === mostAtOnce);
    await measure(parts)
  }
  const loop = startLoop({ name: 'accrual', everyMs, work, log: parts.log, leads: parts.leads })
  // Starts at once, because payments that become final before the start do not earn.
  void loop.run()
  return loop
}

/** Reports the amounts owed, by role, as metrics. */
async function measure({ rewards, rates, meter }: AccrualParts): Promise<void> {
  const decimals = rates()?.decimals.NATIVE
  if (decimals === undefined) return
  for (const { role, owed } of await rewards.sums())
    meter.set('paystile_rewards_owed', Number(formatUnits(owed, decimals)), { role })
}

/** Returns the number of payments processed. */
async function accrueOnce(parts: AccrualParts, rulesId: string): Promise<number> {
  const { rewards, clock, meter, log } = parts
  const { payments, last } = await rewards.accruable(mostAtOnce)
  const now = Math.floor(clock.now())
  // An accrual stays, so a wrong clock must not call a payment undelivered.
  if (!isTimeSure(parts.clockCheck)) return 0
  const verifications = payments.length === 0 ? [] : await rewards.verifications()
  const accruals: Accrual[] = []
  for (const payment of payments) {
    const judged = await judge(parts, { payment, verifications, before: accruals, rulesId, now })
    if (judged.kind === 'accrual') accruals.push(judged.accrual)
    else await rewards.postpone([payment.tx], judged.until)
  }
  if (accruals.length === 0) return payments.length
  // Another worker was first. The result may be outdated, so it is computed again.
  if (!(await rewards.accrue(last, accruals))) return payments.length
  for (const { tx, why, whole, rates } of accruals) {
    meter.count('paystile_accruals_total', { outcome: why === '' ? 'shared' : why })
    const decimals = rates?.decimals.NATIVE
    if (why === '' && decimals !== undefined)
      log.info('payment.accrued', { tx: encodeBase58(tx), amount: `${formatUnits(whole, decimals)} NATIVE` })
  }
  return payments.length
}

interface Ripe {
  readonly payment: Ripening
  readonly verifications: readonly Verification[]
  /** The preceding accruals of the same turn. */
  readonly before: readonly Accrual[]
  readonly rulesId: string
  readonly now: number
}

type Judged =
  | { readonly kind: 'accrual'; readonly accrual: Accrual }
  | { readonly kind: 'later'; readonly until: number }

async function judge(parts: AccrualParts, { payment, verifications, before, rulesId, now }: Ripe): Promise<Judged> {
  const { rewards, rules, nameOf } = parts
  const { tx, recipient, payer, endpoint, token, required: units, collected, paidAt, usableUntil } = payment
  const needed = rewardTokens(token)
  const isComplete = payment.rates !== undefined && hasRates(payment.rates.table, needed)
  const rates = isComplete ? payment.rates : await parts.ratesAt(paidAt, needed)
  const developer = findDeveloper(rules, verifications, endpoint, paidAt) ?? ''
  const bare = { tx, at: now, recipient, payer, endpoint, token, units, paidAt, rates, rules: rulesId, developer }
  const nothing = { spent: 0n, worth: 0n, whole: 0n, rate: 0n, shares: [] }
  if (!payment.isDelivered) {
    // A response that started in time can continue for a while.
    if (now > usableUntil + hourMs) return { kind: 'accrual', accrual: { ...bare, ...nothing, why: 'not_delivered' } }
    return { kind: 'later', until: nextLook(payment, now) }
  }
  if (!rates) return { kind: 'later', until: now + minuteMs }
  const earlier = before.filter((one) => one.payer === payer && one.paidAt > paidAt - cashbackWindowMs)
  const spent = earlier
    .filter((one) => one.paidAt <= paidAt)
    .reduce((sum, { worth }) => sum + worth, await rewards.spent(payer, paidAt - cashbackWindowMs, paidAt))
  const earned = { recipient, payer, endpoint, token, units, collected, rates, spent }
  const earning = { ...earned, developer: developer || undefined }
  const sharing = shareOut(rules, earning, (wallet) => nameOf(decodeAddress(wallet) ?? new Uint8Array()))
  if (sharing.kind === 'waiting') return { kind: 'later', until: now + minuteMs }
  if (sharing.kind === 'nothing') return { kind: 'accrual', accrual: { ...bare, ...nothing, spent, why: sharing.why } }
  const { worth, whole, rate, shares } = sharing
  return { kind: 'accrual', accrual: { ...bare, spent, worth, whole, rate, shares, why: '' } }
}

/** Soon at first, then after a delay equal to the payment's age. */
function nextLook({ paidAt }: Ripening, now: number): number {
  return now + Math.min(Math.max(now - paidAt, 5_000), 6 * hourMs)
}

/**
 * The tokens with rates that are needed to share out a payment in a token. USDC needs none, because rates are in USDC.
 */
export function rewardTokens(token: TokenCode): readonly TokenCode[] {
  return token === 'USDC' || token === 'NATIVE' ? ['NATIVE'] : ['NATIVE', token]
}

/** The developer that had a verification for the endpoint's host at the time of payment. */
export function findDeveloper(
  rules: Pick<RewardRules, 'hosts'>,
  verifications: readonly Verification[],
  endpoint: string,
  paidAt: number,
): string | undefined {
  const host = readHost(rules, endpoint)
  const own = verifications.filter((one) => one.host === host)
  return findVerification(own, paidAt)?.wallet
}
