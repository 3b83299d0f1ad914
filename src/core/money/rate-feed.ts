/**
 * Decides which exchange rates the service accepts, by age and by jump. The module does not know where rates come from.
 *
 * A source can be slow, wrong or dishonest. Each reading of each token is checked separately, so one bad rate disables
 * one token and never changes a price.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import type { Clock } from '../runtime.ts'
import { formatUnits } from './money.ts'
import { parseRate, rateDecimals } from './rates.ts'
import { type ByToken, listTokens, type MintTable, type TokenCode } from './tokens.ts'

/** The value of one whole token, as reported by a source. */
export interface RateReading {
  readonly token: TokenCode
  /** In units of 10⁻¹² USDC, or in USDC as decimal text. */
  readonly rate: bigint | string
  /** Time of the rate, in milliseconds since 1970. If a source omits it, the time of the question counts. */
  readonly at?: number
  /** A recent average of the rate, in the same units. The first reading is checked against it. */
  readonly average?: bigint | string
}

/** A token for which a source reports no reliable rate. */
export interface RateRefusal {
  readonly token: TokenCode
  readonly why: string
}

export interface RateSource {
  /** Asks the source once. May throw. `signal` fires when the caller stops waiting for the answer. */
  read(question: { readonly signal: AbortSignal }): Promise<readonly (RateReading | RateRefusal)[]>
}

/** Pyth's ids of the dollar price feeds, by token. */
export type FeedIds = ByToken<string>

export interface RateLimits {
  readonly refreshSeconds: number
  /** A token with an older rate is not offered. */
  readonly maxAgeSeconds: number
  /** The largest accepted change from the last accepted rate: 0.2 is 20 %. */
  readonly maxJump: number
  /** The time for which a rate must stay at its new level after a jump before it is accepted. */
  readonly jumpHoldSeconds: number
  /** The surcharge for payment in a token other than the price's: 0.01 is 1 %. */
  readonly spread: number
}

export const usualRateLimits: RateLimits = {
  refreshSeconds: 10,
  maxAgeSeconds: 60,
  maxJump: 0.2,
  jumpHoldSeconds: 300,
  spread: 0.01,
}

/** Timeout of a source's answer. */
export const rateQuestionMs = 5_000

/** The tokens that need a rate. Rates are measured in USDC, so USDC itself is always worth one. */
export function listRated(mints: MintTable): readonly TokenCode[] {
  return listTokens(mints).filter((token) => token !== 'USDC')
}

/**
 * Below the minimum, twelve decimals are off by more than 0.1 %. Above the maximum, a rate is implausible: no coin is
 * worth a billion.
 */
const [leastRate, mostRate] = [10n ** 3n, 10n ** 21n]
/** The largest accepted lead of a source's clock over the local clock, including the duration of the question. */
const mostAheadMs = 15_000

/** One instant by two clocks. The wall clock can be set, and the monotonic clock stops while the machine sleeps. */
export interface Moment {
  readonly now: number
  readonly monotonic: number
}

export function readMoment(clock: Clock): Moment {
  return { now: clock.now(), monotonic: clock.monotonic() }
}

interface Seen {
  readonly rate: bigint
  readonly at: number | undefined
  readonly asked: Moment
  /** Age of the rate when the source was asked. */
  readonly ageMs: number
}

/** The state of one token's rate. */
export interface RateState {
  readonly believed: Seen | undefined
  /** A rate that jumped and is not accepted yet. `since` is monotonic. */
  readonly held: { readonly level: bigint; readonly since: number; readonly latest: Seen } | undefined
  /** The reason why the latest reading was rejected. */
  readonly remark: string | undefined
}

export const unreadRate: RateState = { believed: undefined, held: undefined, remark: undefined }

export type RateOffer =
  | { readonly kind: 'offered'; readonly rate: bigint }
  | { readonly kind: 'unread' | 'refused' | 'jumped' | 'stale'; readonly why: string }

/** Converts a ratio to millionths, in which 0.07 is exactly seven hundredths. */
export function millionths(ratio: number): bigint {
  return BigInt(Math.round(ratio * 1e6))
}

function isWithin(rate: bigint, reference: bigint, limit: number): boolean {
  const moved = rate > reference ? rate - reference : reference - rate
  return moved * 1_000_000n <= reference * millionths(limit)
}

/**
 * Measures by the clock that moved more, so that neither a wall clock set back nor a sleeping machine makes a rate
 * younger.
 */
function ageOf(seen: Seen, moment: Moment): number {
  const { now, monotonic } = seen.asked
  return seen.ageMs + Math.max(moment.now - now, moment.monotonic - monotonic)
}

function readRate(rate: bigint | string): bigint | undefined {
  const value = typeof rate === 'string' ? parseRate(rate) : rate
  return value !== undefined && value >= leastRate && value <= mostRate ? value : undefined
}

/** Parses a reading, or returns the reason why it does not count. */
function see(reading: RateReading, asked: Moment, limits: RateLimits): Seen | string {
  const rate = readRate(reading.rate)
  if (rate === undefined) return 'the source returned an impossible rate'
  const { at } = reading
  if (at === undefined) return { rate, at, asked, ageMs: 0 }
  if (!Number.isFinite(at)) return 'the source returned a rate without a time'
  if (at > asked.now + mostAheadMs) return 'the source returned a rate from the future; one of the two clocks is wrong'
  const ageMs = Math.max(0, asked.now - at)
  if (ageMs > limits.maxAgeSeconds * 1000) return `the source returned a rate that is ${inSeconds(ageMs)} old`
  return { rate, at, asked, ageMs }
}

/** Returns the state after one more reading, which was requested at `asked`. */
export function weigh(state: RateState, reading: RateReading, asked: Moment, limits: RateLimits): RateState {
  const seen = see(reading, asked, limits)
  if (typeof seen === 'string') return { ...state, remark: seen }
  const { believed, held } = state
  const last = held?.latest ?? believed
  // This is the same reading again. If it counted as new, a clock that was set back would make the rate young again.
  if (seen.at !== undefined && last?.at !== undefined && seen.at <= last.at) return { ...state, remark: undefined }
  const average = reading.average === undefined ? undefined : readRate(reading.average)
  if (reading.average !== undefined && average === undefined)
    return { ...state, remark: 'the source returned an impossible average' }
  const reference = believed?.rate ?? average
  const believe: RateState = { believed: seen, held: undefined, remark: undefined }
  if (reference === undefined || isWithin(seen.rate, reference, limits.maxJump)) return believe
  // A gap in the readings proves nothing, so the hold time restarts after a gap that is too long.
  const isSteady =
    held !== undefined &&
    isWithin(seen.rate, held.level, limits.maxJump) &&
    ageOf(held.latest, asked) <= limits.maxAgeSeconds * 1000
  if (!isSteady)
    return { believed, held: { level: seen.rate, since: asked.monotonic, latest: seen }, remark: undefined }
  if (asked.monotonic - held.since >= limits.jumpHoldSeconds * 1000) return believe
  return { believed, held: { ...held, latest: seen }, remark: undefined }
}

/**
 * Returns the state after time has passed. A rate that was too old once stays too old, even if the clock is set back.
 */
export function lapse(state: RateState, moment: Moment, limits: RateLimits): RateState {
  const { believed } = state
  if (believed === undefined || believed.ageMs === Infinity) return state
  if (ageOf(believed, moment) <= limits.maxAgeSeconds * 1000) return state
  return { ...state, believed: { ...believed, ageMs: Infinity } }
}

/** Decides whether a token is offered at this moment, and at which rate. */
export function computeOffer(state: RateState, moment: Moment, limits: RateLimits): RateOffer {
  const { believed, held, remark } = state
  if (held) {
    const from = believed ? `from ${formatRate(believed.rate)} ` : 'away from its average '
    const why = `its rate jumped ${from}to ${formatRate(held.level)} USDC and must stay there for ${limits.jumpHoldSeconds} s`
    return { kind: 'jumped', why }
  }
  if (believed === undefined) {
    return remark === undefined
      ? { kind: 'unread', why: 'no rate has been read yet' }
      : { kind: 'refused', why: remark }
  }
  if (ageOf(believed, moment) > limits.maxAgeSeconds * 1000) {
    const why = `its last rate is older than ${limits.maxAgeSeconds} s${remark ? `: ${remark}` : ''}`
    return { kind: 'stale', why }
  }
  return { kind: 'offered', rate: believed.rate }
}

/** Names a feed by its source and the settings on which its rates depend. */
export function nameFeed(kind: string, settings: readonly unknown[]): string {
  return `${kind}-${encodeBase64url(sha256(new TextEncoder().encode(JSON.stringify(settings))), 8)}`
}

export function formatRate(rate: bigint): string {
  return formatUnits(rate, rateDecimals)
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
