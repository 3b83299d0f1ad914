/**
 * Rates that change: asks a source repeatedly and provides the currently accepted rates.
 *
 * Reading the rates sends no request and does not wait, so a quote needs no I/O. The age is checked at every read, so a
 * token is withdrawn in time even if the source never answers again.
 */
import {
  computeOffer,
  formatRate,
  lapse,
  type Moment,
  type RateLimits,
  type RateOffer,
  type RateSource,
  type RateState,
  rateQuestionMs,
  readMoment,
  unreadRate,
  weigh,
} from '../core/money/rate-feed.ts'
import type { RateTable } from '../core/money/rates.ts'
import type { TokenCode } from '../core/money/tokens.ts'
import type { Clock, Log } from '../core/runtime.ts'
import { type Readings, readReadings } from './readings.ts'

export interface RateFeedParts {
  readonly source: RateSource
  /** The tokens that need a rate. Readings of others are ignored. */
  readonly tokens: readonly TokenCode[]
  readonly clock: Clock
  readonly log: Log
  readonly limits: RateLimits
  /** Called when the table has changed, before it is used. */
  readonly onChange?: () => void
}

/**
 * Starts to ask the source. It never throws because of the source: affected tokens are left out, and `why` gives the
 * reason.
 */
export function createRateFeed(parts: RateFeedParts) {
  const { source, clock, log, limits } = parts
  const board = createBoard(parts)
  let failure: string | undefined
  let isAsked = false
  let isStopped = false
  let question: AbortController | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const askOnce = async (): Promise<void> => {
    const asked = readMoment(clock)
    question = new AbortController()
    try {
      board.take(readReadings(await readInTime(source, question)), asked)
      if (failure !== undefined) log.info('rates.recovered')
      failure = undefined
    } catch (error) {
      if (isStopped) return
      const why = explain(error)
      if (failure === undefined) log.warn('rates.failed', { why })
      failure = why
      board.remark(why)
    } finally {
      question = undefined
      isAsked = true
    }
    board.look(readMoment(clock))
  }
  // After any exception, even from a provider's log, the next question is asked.
  const ask = (): Promise<void> => askOnce().catch(() => {})
  const later = (): void => {
    if (isStopped) return
    timer = setTimeout(() => void ask().then(later), limits.refreshSeconds * 1000)
    timer.unref()
  }
  const first = ask()
  void first.then(later)

  return {
    /**
     * The rates of the tokens that can be offered now, without the spread. USDC is always present and worth one. The
     * object stays the same while its content does.
     */
    current: () => board.look(readMoment(clock)),
    /** The reason why a token is not offered, in one sentence. */
    why(token: TokenCode) {
      if (token === 'USDC') return undefined
      const moment = readMoment(clock)
      board.look(moment)
      const offer = board.offerOf(token, moment)
      if (offer.kind === 'offered') return undefined
      return offer.kind === 'unread' && isAsked ? (failure ?? 'the source has no rate for this token') : offer.why
    },
    /** Resolves when the source was asked once, with any result. */
    ready: () => first,
    stop() {
      isStopped = true
      clearTimeout(timer)
      question?.abort(new Error('the request was cancelled'))
    },
  }
}

export type RateFeed = ReturnType<typeof createRateFeed>

/** The state of every token, and the resulting table. */
function createBoard({ tokens, limits, log, onChange = () => {} }: Omit<RateFeedParts, 'source' | 'clock'>) {
  const states = new Map<TokenCode, RateState>()
  const kinds = new Map<TokenCode, RateOffer['kind']>()
  let rates: readonly (bigint | undefined)[] = []
  let table: RateTable = Object.freeze({ USDC: '1' })
  const readState = (token: TokenCode): RateState => states.get(token) ?? unreadRate

  const judge = (token: TokenCode, moment: Moment): bigint | undefined => {
    states.set(token, lapse(readState(token), moment, limits))
    const offer = computeOffer(readState(token), moment, limits)
    const before = kinds.get(token) ?? 'unread'
    kinds.set(token, offer.kind)
    if (offer.kind !== before) {
      if (offer.kind === 'offered') log.info('rates.on', { token, rate: formatRate(offer.rate) })
      else log.warn('rates.off', { token, why: offer.why })
    }
    return offer.kind === 'offered' ? offer.rate : undefined
  }
  return {
    offerOf: (token: TokenCode, moment: Moment): RateOffer => computeOffer(readState(token), moment, limits),
    take(readings: Readings, asked: Moment): void {
      for (const token of tokens) {
        const reading = readings.get(token)
        const state = readState(token)
        if (reading === undefined) {
          if (state !== unreadRate)
            states.set(token, { ...state, remark: 'the source no longer has a rate for this token' })
        } else if ('why' in reading) states.set(token, { ...state, remark: reading.why })
        else states.set(token, weigh(state, reading, asked, limits))
      }
    },
    /** Records why there was no reading at all. Tokens that were never named are left out. */
    remark(why: string): void {
      for (const [token, state] of states) if (state !== unreadRate) states.set(token, { ...state, remark: why })
    },
    look(moment: Moment): RateTable {
      const latest = tokens.map((token) => judge(token, moment))
      if (latest.every((rate, index) => rate === rates[index])) return table
      rates = latest
      const entries = tokens.flatMap((token, index) => {
        const rate = latest[index]
        return rate === undefined ? [] : [[token, formatRate(rate)] as const]
      })
      table = Object.freeze({ USDC: '1', ...Object.fromEntries(entries) })
      onChange()
      return table
    },
  }
}

/** A source that neither answers nor obeys the signal is abandoned, and a late answer is ignored. */
async function readInTime(source: RateSource, question: AbortController): Promise<unknown> {
  const { signal } = question
  const timer = setTimeout(() => question.abort(new Error('the source did not respond in time')), rateQuestionMs)
  timer.unref()
  try {
    const end = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    return await Promise.race([source.read({ signal }), end])
  } finally {
    clearTimeout(timer)
  }
}

const longestReason = 200

/** Some network errors have an empty message and only a code. */
function explain(error: unknown): string {
  const { message, code } = (error instanceof Error ? error : {}) as { message?: unknown; code?: unknown }
  if (typeof message === 'string' && message !== '') return message.slice(0, longestReason)
  return typeof code === 'string' ? `the source failed: ${code.slice(0, longestReason)}` : 'the source failed'
}
