/**
 * Computes the payees' shares of a payment.
 *
 * The price of a finalized payment is converted to base units of NATIVE by the rates stored with it, and split by
 * largest remainder, so the parts always add up to the whole. All inputs are in the journal, so any auditor with the
 * journal and the chain computes the same sums.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import { maxUnits, smaller } from '../money/money.ts'
import { type FrozenRates, fairUnits, parseRate } from '../money/rates.ts'
import type { TokenCode } from '../money/tokens.ts'
import { computeValue } from '../money/valuation.ts'
import { type SplitPart, sumParts } from '../payment/splits.ts'

/** In the order in which they are served. Splits are parts of the price. The last three share the remainder. */
export const rewardRoles = ['split', 'partner', 'developer', 'cashback', 'treasury', 'buyback', 'incentives'] as const
export type RewardRole = (typeof rewardRoles)[number]

/** The roles that share the remainder by weight. */
export const restRoles = ['treasury', 'buyback', 'incentives'] as const
export type RestRole = (typeof restRoles)[number]

/** Shares are counted in hundredths of a percent. */
const wholeBps = 10_000

export interface Partner {
  readonly name: string
  readonly wallet: string
  readonly bps: number
  /** Paths as stored with payments. A path that ends in `/*` covers all paths below. */
  readonly endpoints: readonly string[]
}

/** Applies from this spending in the preceding seven days on, in units of 10⁻¹² USDC. */
export interface CashbackTier {
  readonly from: bigint
  readonly bps: number
}

/**
 * The rules by which payments are shared out. They are validated (`reward-rules.ts`) and journaled with every payment.
 */
export interface RewardRules {
  /** Wallets of the operator. Only payments to them are shared out. */
  readonly collectors: readonly string[]
  readonly partners: readonly Partner[]
  /** The share for payments through a verified endpoint; 0 for none. */
  readonly developerBps: number
  readonly cashback: readonly CashbackTier[]
  readonly rest: Readonly<Record<RestRole, { readonly wallet: string; readonly weight: number }>>
  /** Developers and payers earn at the operator's expense even if there is no partner. */
  readonly withoutPartner: boolean
  /** The host behind each endpoint. Its owner earns once the host is verified. */
  readonly hosts: readonly { readonly endpoint: string; readonly host: string }[]
  /** Payments by these wallets earn no rewards, nor do payments by any wallet named above. */
  readonly insiders: readonly string[]
}

/** A payment that is final and was delivered. */
export interface Earning {
  readonly recipient: string
  /** Pseudonym. */
  readonly payer: string
  readonly endpoint: string
  readonly token: TokenCode
  /** The price, without the surplus, because the surplus can be refunded. */
  readonly units: bigint
  /** The parts of other wallets in the price, which the recipient received for them. */
  readonly collected: readonly SplitPart[]
  readonly rates: FrozenRates
  /** The payer's spending in the preceding seven days, in units of 10⁻¹² USDC. */
  readonly spent: bigint
  /** The wallet that was verified for the endpoint's host at the time of payment. */
  readonly developer: string | undefined
}

export interface Share {
  readonly role: RewardRole
  /** A wallet's address, or its pseudonym for `cashback`. */
  readonly payee: string
  /** Base units of NATIVE. */
  readonly units: bigint
}

export type Sharing =
  | {
      readonly kind: 'shared'
      /** The price in base units of NATIVE. */
      readonly whole: bigint
      readonly shares: readonly Share[]
      /** The part that the operator keeps. */
      readonly kept: bigint
      /** In units of 10⁻¹² USDC: the value of the price that the rules shared, and of one whole NATIVE. */
      readonly worth: bigint
      readonly rate: bigint
    }
  | { readonly kind: 'nothing'; readonly why: NothingWhy }
  /** No rate is known yet. */
  | { readonly kind: 'waiting' }

/**
 * Why no payee earns: the payment went to another wallet, the endpoint has no payee, a payee made the payment, or it is
 * too small.
 */
export type NothingWhy = 'other_recipient' | 'no_partner' | 'insider' | 'too_little' | 'not_delivered'

/**
 * Computes all shares of a payment. The wallets of splits get their parts of the price, whatever the rules say: the
 * recipient only received them. The rules share the rest. `pseudonymOf` turns a wallet's address into the payer's
 * pseudonym.
 */
export function shareOut(rules: RewardRules, earning: Earning, pseudonymOf: (wallet: string) => string): Sharing {
  const { collected, units } = earning
  const rest = shareByRules(rules, { ...earning, units: units - sumParts(collected) }, pseudonymOf)
  if (collected.length === 0 || rest.kind === 'waiting') return rest
  const value = appraise(earning)
  if (value === undefined) return { kind: 'waiting' }
  const { whole, rate } = value
  if (whole > maxUnits) return { kind: 'nothing', why: 'too_little' }
  const splits = collected.flatMap(({ recipient, units: part }): Share[] => {
    const native = appraise({ ...earning, units: part })?.whole ?? 0n
    return native === 0n ? [] : [{ role: 'split', payee: recipient, units: native }]
  })
  if (rest.kind === 'nothing' && splits.length === 0) return rest
  const shares = [...splits, ...(rest.kind === 'shared' ? rest.shares : [])]
  const kept = whole - shares.reduce((sum, share) => sum + share.units, 0n)
  return { kind: 'shared', whole, shares, kept, worth: rest.kind === 'shared' ? rest.worth : 0n, rate }
}

function shareByRules(rules: RewardRules, earning: Earning, pseudonymOf: (wallet: string) => string): Sharing {
  if (!rules.collectors.includes(earning.recipient)) return { kind: 'nothing', why: 'other_recipient' }
  const partner = findPartner(rules, earning.endpoint)
  if (!partner && !rules.withoutPartner) return { kind: 'nothing', why: 'no_partner' }
  const insiders = [...reservedWallets(rules), ...rules.insiders, ...(earning.developer ? [earning.developer] : [])]
  if (insiders.some((wallet) => pseudonymOf(wallet) === earning.payer)) return { kind: 'nothing', why: 'insider' }
  const value = appraise(earning)
  if (value === undefined) return { kind: 'waiting' }
  if (value.whole === 0n || value.whole > maxUnits) return { kind: 'nothing', why: 'too_little' }
  const { whole, worth, rate } = value
  const claims = claimsOf(rules, earning, partner)
  const parts = splitUnits(
    whole,
    claims.map(({ weight }) => weight),
  )
  const shares = claims.flatMap(({ role, payee }, index): Share[] => {
    const units = parts[index] ?? 0n
    return role === undefined || units === 0n ? [] : [{ role, payee, units }]
  })
  const kept = whole - shares.reduce((sum, { units }) => sum + units, 0n)
  return { kind: 'shared', whole, shares, kept, worth, rate }
}

/** The wallets that the configuration names. None of them can earn as a customer. */
function reservedWallets({ collectors, partners, rest }: RewardRules): readonly string[] {
  return [...collectors, ...partners.map(({ wallet }) => wallet), ...restRoles.map((role) => rest[role].wallet)]
}

/** The partner that names the endpoint itself, or the first one with a pattern that covers it. */
function findPartner({ partners }: RewardRules, endpoint: string): Partner | undefined {
  const find = (fits: typeof covers) =>
    partners.find(({ endpoints }) => endpoints.some((pattern) => fits(pattern, endpoint)))
  return find(isSameEndpoint) ?? find(covers)
}

/** The host behind an endpoint, if one is configured: that of the endpoint itself, or of the longest pattern. */
export function readHost({ hosts }: Pick<RewardRules, 'hosts'>, endpoint: string): string | undefined {
  const own = hosts.find((one) => isSameEndpoint(one.endpoint, endpoint))
  const fitting = hosts.filter((one) => covers(one.endpoint, endpoint))
  return (own ?? fitting.toSorted((one, other) => other.endpoint.length - one.endpoint.length)[0])?.host
}

/** `/api/*` covers `/api` and all paths below it. Any other pattern covers only itself. */
export function covers(pattern: string, endpoint: string): boolean {
  const [own, other] = [normalizeEndpoint(pattern), normalizeEndpoint(endpoint)]
  return own.endsWith('/*') ? `${other}/`.startsWith(own.slice(0, -1)) : own === other
}

function isSameEndpoint(pattern: string, endpoint: string): boolean {
  return normalizeEndpoint(pattern) === normalizeEndpoint(endpoint)
}

/**
 * One text for all spellings of a path that frameworks route to the same handler: in either case, percent-encoded, or
 * with a slash at the end. Otherwise the payer would choose by the spelling who earns.
 */
export function normalizeEndpoint(path: string): string {
  const decoded = path.replace(/(?:%[0-9a-f]{2})+/gi, (text) => {
    try {
      return decodeURI(text)
    } catch {
      return text
    }
  })
  return decoded.toLowerCase().replace(/\/+$/, '')
}

/** The share of the highest tier that the payer reached. */
export function cashbackBps(tiers: readonly CashbackTier[], spent: bigint): number {
  return Math.max(0, ...tiers.filter(({ from }) => spent >= from).map(({ bps }) => bps))
}

interface Claim {
  /** Undefined for the operator's part. */
  readonly role: RewardRole | undefined
  readonly payee: string
  readonly weight: bigint
}

function claimsOf(rules: RewardRules, earning: Earning, partner: Partner | undefined): readonly Claim[] {
  const { rest } = rules
  const totalWeight = BigInt(restRoles.reduce((sum, role) => sum + rest[role].weight, 0))
  const partnerBps = partner?.bps ?? 0
  const developerBps = earning.developer === undefined ? 0 : rules.developerBps
  const backBps = cashbackBps(rules.cashback, earning.spent)
  const restBps = BigInt(wholeBps - partnerBps - developerBps - backBps)
  const of = (role: RewardRole, payee: string, bps: number): Claim => ({
    role,
    payee,
    weight: BigInt(bps) * totalWeight,
  })
  const first = [
    of('partner', partner?.wallet ?? '', partnerBps),
    of('developer', earning.developer ?? '', developerBps),
    of('cashback', earning.payer, backBps),
  ]
  if (!partner) return [...first, { role: undefined, payee: '', weight: restBps * totalWeight }]
  const last = restRoles.map((role) => {
    const { wallet, weight } = rest[role]
    return { role, payee: wallet, weight: restBps * BigInt(weight) }
  })
  return [...first, ...last]
}

/**
 * Splits base units by weights so that the parts add up. Each part gets the whole units of its share. The parts with
 * the largest remainders get one more; among equals, the first one does.
 */
export function splitUnits(units: bigint, weights: readonly bigint[]): readonly bigint[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0n)
  if (units < 0n || total <= 0n || weights.some((weight) => weight < 0n))
    throw new RangeError('units and weights must not be negative, and some weight must be positive')
  const parts = weights.map((weight) => (units * weight) / total)
  const left = Number(units - parts.reduce((sum, part) => sum + part, 0n))
  const order = weights
    .map((weight, index) => ({ index, remainder: (units * weight) % total }))
    .toSorted((one, other) =>
      one.remainder === other.remainder ? one.index - other.index : one.remainder < other.remainder ? 1 : -1,
    )
  const lucky = new Set(order.slice(0, left).map(({ index }) => index))
  return parts.map((part, index) => (lucky.has(index) ? part + 1n : part))
}

/** Values the price in NATIVE, rounded down, and in USDC. Undefined unless both have a rate. */
function appraise({
  token,
  units,
  rates,
}: Earning): { readonly whole: bigint; readonly worth: bigint; readonly rate: bigint } | undefined {
  // Rates are in USDC, so the rate of USDC itself can be absent.
  const table = { USDC: '1', ...rates.table }
  const rate = parseRate(table.NATIVE ?? '')
  const whole = fairUnits({ token, units }, 'NATIVE', { rates: table, decimals: rates.decimals })
  const worth = computeValue({ token, units, decimals: rates.decimals[token] ?? 0 }, 'USDC', table)
  return rate === undefined || whole === undefined || worth === undefined ? undefined : { whole, worth, rate }
}

/** Shares, with the rate at which they were computed. */
export interface OwedAtRate {
  readonly units: bigint
  readonly rate: bigint
}

/**
 * The payable part of the amount owed, by the rate of the payment or the current one, whichever gives less.
 *
 * Otherwise, when NATIVE has risen by half, an operator who received 100 USDC would owe the value of 150, and payees
 * would gain by waiting. Payees bear a fall between payment and payout, and do not gain from a rise.
 */
export function payable(owed: readonly OwedAtRate[], rateNow: bigint): bigint {
  if (rateNow <= 0n) throw new RangeError('a rate is positive')
  return owed.reduce((sum, { units, rate }) => sum + smaller(units, (units * rate) / rateNow), 0n)
}

/** Serializes rules for the journal: equal rules give equal text, with its name. */
export function formatRules(rules: RewardRules): { readonly id: string; readonly text: string } {
  const text = JSON.stringify(rules, (_key, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  })
  return { id: encodeBase64url(sha256(new TextEncoder().encode(text)), 12), text }
}

/** Parses text that `formatRules` wrote. */
export function parseRules(text: string): RewardRules {
  const read = JSON.parse(text) as Omit<RewardRules, 'cashback'> & {
    readonly cashback: readonly { readonly from: string; readonly bps: number }[]
  }
  return { ...read, cashback: read.cashback.map(({ from, bps }) => ({ from: BigInt(from), bps })) }
}
