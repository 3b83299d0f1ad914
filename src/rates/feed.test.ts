import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RateLimits, RateReading, RateRefusal, RateSource } from '../core/money/rate-feed.ts'
import { usualRateLimits } from '../core/money/rate-feed.ts'
import type { Facts, Log } from '../core/runtime.ts'
import { createRateFeed, type RateFeed } from './feed.ts'

type Answer = readonly (RateReading | RateRefusal)[]

const start = 1_763_208_000_000
let elapsed: number
let wallStep: number
let lines: { readonly level: string; readonly event: string; readonly facts: Facts }[]
let asked: number
let answer: (question: { readonly signal: AbortSignal }) => Promise<Answer>
let feed: RateFeed | undefined

const clock = { now: () => start + elapsed + wallStep, monotonic: () => elapsed }
const line =
  (level: string) =>
  (event: string, facts: Facts = {}): void =>
    void lines.push({ level, event, facts })
const log: Log = { info: line('info'), warn: line('warn'), error: line('error') }
const source: RateSource = {
  read(question) {
    asked += 1
    return answer(question)
  },
}

beforeEach(() => {
  vi.useFakeTimers()
  elapsed = 0
  wallStep = 0
  asked = 0
  lines = []
  answer = async () => []
})
afterEach(() => {
  feed?.stop()
  feed = undefined
  vi.useRealTimers()
})

const tokens = ['NATIVE', 'SOL']

async function open(limits: Partial<RateLimits> = {}): Promise<RateFeed> {
  feed = createRateFeed({ source, tokens, clock, log, limits: { ...usualRateLimits, ...limits } })
  await feed.ready()
  return feed
}

/** Lets time pass on the clock and for the timers, second by second. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    elapsed += 1_000
    await vi.advanceTimersByTimeAsync(1_000)
  }
}

/** The next answer waits until the returned function gives it. */
function answerLater(): (readings: Answer) => void {
  let reply: (readings: Answer) => void = () => {}
  const later = new Promise<Answer>((resolve) => {
    reply = resolve
  })
  answer = () => later
  return reply
}

const sol = (rate: bigint | string) => async (): Promise<Answer> => [{ token: 'SOL', rate }]
const warnings = () => lines.filter(({ level }) => level === 'warn')

describe('current', () => {
  it('knows USDC alone until the source has answered', async () => {
    answer = sol('150')
    feed = createRateFeed({ source, tokens, clock, log, limits: usualRateLimits })
    const before = feed.current()
    expect(before).toEqual({ USDC: '1' })
    expect(feed.why('SOL')).toBe('no rate has been read yet')
    await feed.ready()
    expect(feed.current()).toEqual({ USDC: '1', SOL: '150' })
    expect(feed.why('SOL')).toBeUndefined()
    expect(feed.why('USDC')).toBeUndefined()
  })

  it('is the same thing until a rate changes, and then another', async () => {
    answer = sol(150_250_000_000_000n)
    const { current } = await open()
    const first = current()
    await pass(30)
    expect(asked).toBeGreaterThan(2)
    expect(current()).toBe(first)
    answer = sol('151')
    await pass(10)
    expect(current()).toEqual({ USDC: '1', SOL: '151' })
    expect(Object.isFrozen(current())).toBe(true)
  })

  it('values USDC at 1, regardless of the source', async () => {
    answer = async () => [{ token: 'USDC', rate: '0.5' }]
    expect((await open()).current()).toEqual({ USDC: '1' })
  })

  it('asks no source', async () => {
    answer = sol('150')
    const { current } = await open()
    for (let look = 0; look < 1_000; look += 1) current()
    expect(asked).toBe(1)
  })
})

describe('asking', () => {
  it('goes on at the usual pace, and ends with stop', async () => {
    const { stop } = await open()
    await pass(100)
    expect(asked).toBe(11)
    // Files that ran before in this process may set timers too, so only the difference counts.
    const timers = vi.getTimerCount()
    stop()
    expect(vi.getTimerCount()).toBe(timers - 1)
    await pass(100)
    expect(asked).toBe(11)
  })

  it('has another pace where one is given', async () => {
    await open({ refreshSeconds: 2 })
    await pass(10)
    expect(asked).toBe(6)
  })

  it('has one question under way at a time, and gives up on each after five seconds', async () => {
    const signals: AbortSignal[] = []
    answer = ({ signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    }
    feed = createRateFeed({ source, tokens, clock, log, limits: usualRateLimits })
    await pass(4)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    await pass(1)
    await feed.ready()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(feed.why('SOL')).toBe('the source did not respond in time')
    await pass(9)
    expect(asked).toBe(1)
    await pass(1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  })

  it('does not hear an answer that came too late', async () => {
    const reply = answerLater()
    feed = createRateFeed({ source, tokens, clock, log, limits: usualRateLimits })
    await pass(5)
    reply([{ token: 'SOL', rate: '150' }])
    await pass(1)
    expect(feed.current()).toEqual({ USDC: '1' })
  })

  it('counts the age from the question, not from the answer', async () => {
    const reply = answerLater()
    feed = createRateFeed({ source, tokens, clock, log, limits: usualRateLimits })
    await pass(4)
    reply([{ token: 'SOL', rate: '150' }])
    await feed.ready()
    elapsed = 60_000
    expect(feed.current()).toHaveProperty('SOL')
    elapsed = 60_001
    expect(feed.current()).not.toHaveProperty('SOL')
  })

  it('ends at once when it is stopped, also while a source neither answers nor listens', async () => {
    answer = () => new Promise(() => {})
    const timers = vi.getTimerCount()
    feed = createRateFeed({ source, tokens, clock, log, limits: usualRateLimits })
    feed.stop()
    await feed.ready()
    expect(vi.getTimerCount()).toBe(timers)
    expect(lines).toEqual([])
  })

  it('keeps no process alive, neither with a question nor between two', async () => {
    vi.useRealTimers()
    const unref = vi.spyOn(Object.getPrototypeOf(setTimeout(() => {}, 0)), 'unref')
    feed = createRateFeed({ source, tokens, clock, log, limits: usualRateLimits })
    expect(unref).toHaveBeenCalledTimes(1)
    await feed.ready()
    await Promise.resolve()
    expect(unref).toHaveBeenCalledTimes(2)
    unref.mockRestore()
  })

  it('goes on when the log fails', async () => {
    const broken = () => {
      throw new Error('disk full')
    }
    answer = () => Promise.reject(new Error('no'))
    feed = createRateFeed({
      source,
      tokens,
      clock,
      log: { info: broken, warn: broken, error: broken },
      limits: usualRateLimits,
    })
    await feed.ready()
    await pass(20)
    expect(asked).toBe(3)
  })
})

describe('a source that fails', () => {
  it.each<readonly [string, () => Promise<Answer>, string]>([
    ['throws', () => Promise.reject(new Error('the source returned 500')), 'the source returned 500'],
    [
      'throws at once',
      () => {
        throw new Error('oh')
      },
      'oh',
    ],
    [
      'throws a code',
      () => Promise.reject(Object.assign(new Error(''), { code: 'ECONNREFUSED' })),
      'the source failed: ECONNREFUSED',
    ],
    ['throws nothing much', () => Promise.reject(Object.create(null)), 'the source failed'],
    ['answers no list', async () => ({}) as never, 'the source did not return a list of readings'],
    [
      'answers a list of something',
      async () => [7] as never,
      'the source returned a list with other values than readings',
    ],
  ])('%s: is asked again, and heard when it answers', async (_name, fail, why) => {
    answer = fail
    const { current, why: whyNot } = await open()
    expect(current()).toEqual({ USDC: '1' })
    expect(whyNot('SOL')).toBe(why)
    answer = sol('150')
    await pass(10)
    expect(current()).toEqual({ USDC: '1', SOL: '150' })
  })

  it('leaves the old rates until they are too old, and says why', async () => {
    answer = sol('150')
    const { current, why } = await open()
    answer = () => Promise.reject(new Error('the source returned 503'))
    await pass(60)
    expect(current()).toEqual({ USDC: '1', SOL: '150' })
    await pass(1)
    expect(current()).toEqual({ USDC: '1' })
    expect(why('SOL')).toBe('its last rate is older than 60 s: the source returned 503')
  })

  it('is told of once, and so is its return', async () => {
    answer = () => Promise.reject(new Error('the source returned 503'))
    await open()
    await pass(100)
    expect(lines).toEqual([{ level: 'warn', event: 'rates.failed', facts: { why: 'the source returned 503' } }])
    answer = sol('150')
    await pass(20)
    expect(
      lines
        .slice(1)
        .map(({ event }) => event)
        .sort(),
    ).toEqual(['rates.on', 'rates.recovered'])
  })

  it('cannot fill the log with its errors', async () => {
    answer = () => Promise.reject(new Error('x'.repeat(10_000)))
    await open()
    expect(String(lines[0]?.facts['why'])).toHaveLength(200)
  })
})

describe('a token', () => {
  it('drops out by the clock alone, when no question is ever asked again', async () => {
    answer = sol('150')
    const { current, stop } = await open()
    stop()
    elapsed = 60_001
    expect(current()).toEqual({ USDC: '1' })
    wallStep = -3_600_000
    expect(current()).toEqual({ USDC: '1' })
  })

  it('that was too old stays so when the clock is set back', async () => {
    answer = sol('150')
    const { current, stop } = await open()
    stop()
    wallStep = 3_600_000
    expect(current()).toEqual({ USDC: '1' })
    wallStep = 0
    expect(current()).toEqual({ USDC: '1' })
  })

  it('is switched off by a jump and on again when it has lasted, with one line for each', async () => {
    answer = sol('150')
    const { current, why } = await open()
    answer = sol('150000')
    await pass(10)
    expect(current()).toEqual({ USDC: '1' })
    expect(why('SOL')).toBe('its rate jumped from 150 to 150000 USDC and must stay there for 300 s')
    await pass(299)
    expect(current()).toEqual({ USDC: '1' })
    await pass(1)
    expect(current()).toEqual({ USDC: '1', SOL: '150000' })
    expect(lines.map(({ level, event }) => [level, event])).toEqual([
      ['info', 'rates.on'],
      ['warn', 'rates.off'],
      ['info', 'rates.on'],
    ])
    expect(warnings()[0]?.facts).toEqual({
      token: 'SOL',
      why: 'its rate jumped from 150 to 150000 USDC and must stay there for 300 s',
    })
  })

  it('that fails costs no other', async () => {
    answer = async () => [
      { token: 'SOL', rate: '150' },
      { token: 'NATIVE', rate: '0.1' },
    ]
    const { current, why } = await open()
    answer = async () => [
      { token: 'SOL', rate: 0n },
      { token: 'NATIVE', rate: '0.11' },
    ]
    await pass(61)
    expect(current()).toEqual({ USDC: '1', NATIVE: '0.11' })
    expect(why('SOL')).toBe('its last rate is older than 60 s: the source returned an impossible rate')
  })

  it('that its source refuses, or does not name, is not offered', async () => {
    answer = async () => [{ token: 'SOL', why: 'too unsure' }]
    const { current, why } = await open()
    expect(current()).toEqual({ USDC: '1' })
    expect(why('SOL')).toBe('too unsure')
    expect(why('NATIVE')).toBe('the source has no rate for this token')
    expect(lines).toEqual([{ level: 'warn', event: 'rates.off', facts: { token: 'SOL', why: 'too unsure' } }])
  })

  it('that is told twice is not offered', async () => {
    answer = async () => [
      { token: 'SOL', rate: '150' },
      { token: 'SOL', rate: '150' },
    ]
    const { current, why } = await open()
    expect(current()).toEqual({ USDC: '1' })
    expect(why('SOL')).toBe('the source returned two rates for this token')
    expect(warnings()).toHaveLength(1)
  })

  it('that its source no longer names goes when it is too old', async () => {
    answer = sol('150')
    const { current, why } = await open()
    answer = async () => []
    await pass(61)
    expect(current()).toEqual({ USDC: '1' })
    expect(why('SOL')).toBe('its last rate is older than 60 s: the source no longer has a rate for this token')
    expect(warnings().map(({ event }) => event)).toEqual(['rates.off'])
  })
})
