/**
 * Which exchange rates are believed: the rules of age and jump, apart from where rates come from.
 *
 * A source may be slow, wrong or lying. What it says is weighed reading by reading and token by token, so that one bad
 * rate costs one token and never a price.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import type { Clock } from '../runtime.ts'
import { formatUnits } from './money.ts'
import { parseRate, rateDecimals } from './rates.ts'
import type { TokenCode } from './tokens.ts'
import { tokenCodes } from './tokens.ts'

/** What a source says one whole token is worth. */
export interface RateReading {
  readonly token: TokenCode
  /** In units of 10⁻¹² USDC, or in USDC as decimal text. */
  readonly rate: bigint | string
  /** When it was true, in milliseconds since 1970. Left out by sources that do not say: then it was when they were asked. */
  readonly at?: number
  /** The rate as it has been lately, in the same units, by which the first reading is judged. */
  readonly average?: bigint | string
}

/** A token of which a source knows no rate that it would stand for. */
export interface RateRefusal {
  readonly token: TokenCode
  readonly why: string
}

export interface RateSource {
  /** Asks once. May throw. `signal` fires when nobody waits for the answer any more. */
  read(question: { readonly signal: AbortSignal }): Promise<readonly (RateReading | RateRefusal)[]>
}

/** Ids of price feeds in dollars by token, as Pyth has them. */
export type FeedIds = Readonly<Partial<Record<TokenCode, string>>>

export interface RateLimits {
  readonly refreshSeconds: number
  /** A token whose rate is older is not offered. */
  readonly maxAgeSeconds: number
  /** How far a rate may be from the last believed one: 0.2 is a fifth. */
  readonly maxJump: number
  /** How long a rate that jumped must stay where it is before it is believed. */
  readonly jumpHoldSeconds: number
  /** What is charged on top for paying in another token than the price is in: 0.01 is one per cent. */
  readonly spread: number
}

export const usualRateLimits: RateLimits = {
  refreshSeconds: 10,
  maxAgeSeconds: 60,
  maxJump: 0.2,
  jumpHoldSeconds: 300,
  spread: 0.01,
}

/** How long a source may take to answer. */
export const rateQuestionMs = 5_000

/** USDC is the measure itself and always worth one. */
export type RatedToken = Exclude<TokenCode, 'USDC'>
export const ratedTokens: readonly RatedToken[] = tokenCodes.filter((token) => token !== 'USDC')

/** Below this, twelve decimals would be off by more than a thousandth; above, no coin is worth a billion. */
const [leastRate, mostRate] = [10n ** 3n, 10n ** 21n]
/** How far ahead of ours a source's clock may be, the time of the question included. */
const mostAheadMs = 15_000

/** The same instant by both clocks: the wall's may be set, the other stands still while the machine sleeps. */
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
  /** How old it was when it was asked for. */
  readonly ageMs: number
}

/** What is known of one token's rate. */
export interface RateState {
  readonly believed: Seen | undefined
  /** A rate that jumped, while it has to prove itself. `since` is monotonic. */
  readonly held: { readonly level: bigint; readonly since: number; readonly latest: Seen } | undefined
  /** Why the latest reading did not count. */
  readonly remark: string | undefined
}

export const unreadRate: RateState = { believed: undefined, held: undefined, remark: undefined }

export type RateOffer =
  | { readonly kind: 'offered'; readonly rate: bigint }
  | { readonly kind: 'unread' | 'refused' | 'jumped' | 'stale'; readonly why: string }

/** Ratios are given as numbers and used in millionths, where 0.07 is exactly seven hundredths. */
export function millionths(ratio: number): bigint {
  return BigInt(Math.round(ratio * 1e6))
}

function isWithin(rate: bigint, reference: bigint, limit: number): boolean {
  const moved = rate > reference ? rate - reference : reference - rate
  return moved * 1_000_000n <= reference * millionths(limit)
}

/** By the clock that moved more: neither a wall clock that is set back nor a machine that slept makes a rate younger. */
function ageOf(seen: Seen, moment: Moment): number {
  const { now, monotonic } = seen.asked
  return seen.ageMs + Math.max(moment.now - now, moment.monotonic - monotonic)
}

function readRate(rate: bigint | string): bigint | undefined {
  const value = typeof rate === 'string' ? parseRate(rate) : rate
  return value !== undefined && value >= leastRate && value <= mostRate ? value : undefined
}

/** What a reading is worth knowing for, or why it does not count. */
function see(reading: RateReading, asked: Moment, limits: RateLimits): Seen | string {
  const rate = readRate(reading.rate)
  if (rate === undefined) return 'the source gave a rate that cannot be'
  const { at } = reading
  if (at === undefined) return { rate, at, asked, ageMs: 0 }
  if (!Number.isFinite(at)) return 'the source gave no time for its rate'
  if (at > asked.now + mostAheadMs) return 'the source gave a rate of the future; one of the two clocks is wrong'
  const ageMs = Math.max(0, asked.now - at)
  if (ageMs > limits.maxAgeSeconds * 1000) return `the source gave a rate that was ${inSeconds(ageMs)} old`
  return { rate, at, asked, ageMs }
}

/** What is known after one more reading, which was asked for at `asked`. */
export function weigh(state: RateState, reading: RateReading, asked: Moment, limits: RateLimits): RateState {
  const seen = see(reading, asked, limits)
  if (typeof seen === 'string') return { ...state, remark: seen }
  const { believed, held } = state
  const last = held?.latest ?? believed
  // The same reading once more. Were it taken for new, a clock that was set back would make it young again.
  if (seen.at !== undefined && last?.at !== undefined && seen.at <= last.at) return { ...state, remark: undefined }
  const average = reading.average === undefined ? undefined : readRate(reading.average)
  if (reading.average !== undefined && average === undefined)
    return { ...state, remark: 'the source gave an average that cannot be' }
  const reference = believed?.rate ?? average
  const believe: RateState = { believed: seen, held: undefined, remark: undefined }
  if (reference === undefined || isWithin(seen.rate, reference, limits.maxJump)) return believe
  // Silence proves nothing: who was not heard of for too long begins anew.
  const isSteady =
    held !== undefined &&
    isWithin(seen.rate, held.level, limits.maxJump) &&
    ageOf(held.latest, asked) <= limits.maxAgeSeconds * 1000
  if (!isSteady)
    return { believed, held: { level: seen.rate, since: asked.monotonic, latest: seen }, remark: undefined }
  if (asked.monotonic - held.since >= limits.jumpHoldSeconds * 1000) return believe
  return { believed, held: { ...held, latest: seen }, remark: undefined }
}

/** What is known now that time has passed. A rate that was too old once stays so, whatever the clock says later. */
export function lapse(state: RateState, moment: Moment, limits: RateLimits): RateState {
  const { believed } = state
  if (believed === undefined || believed.ageMs === Infinity) return state
  if (ageOf(believed, moment) <= limits.maxAgeSeconds * 1000) return state
  return { ...state, believed: { ...believed, ageMs: Infinity } }
}

/** Whether a token is offered at this moment, and for what rate. */
export function computeOffer(state: RateState, moment: Moment, limits: RateLimits): RateOffer {
  const { believed, held, remark } = state
  if (held) {
    const from = believed ? `from ${formatRate(believed.rate)} ` : 'away from its average '
    const why = `its rate jumped ${from}to ${formatRate(held.level)} USDC and must stay there for ${limits.jumpHoldSeconds} s`
    return { kind: 'jumped', why }
  }
  if (believed === undefined) {
    return remark === undefined ? { kind: 'unread', why: 'no rate was read yet' } : { kind: 'refused', why: remark }
  }
  if (ageOf(believed, moment) > limits.maxAgeSeconds * 1000) {
    const why = `its last rate is older than ${limits.maxAgeSeconds} s${remark ? `: ${remark}` : ''}`
    return { kind: 'stale', why }
  }
  return { kind: 'offered', rate: believed.rate }
}

/** What the rates of a source depend on, as a name. */
export function nameFeed(kind: string, settings: readonly unknown[]): string {
  return `${kind}-${encodeBase64url(sha256(new TextEncoder().encode(JSON.stringify(settings))), 8)}`
}

export function formatRate(rate: bigint): string {
  return formatUnits(rate, rateDecimals)
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
