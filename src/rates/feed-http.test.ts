/** The whole way, from a price service that lies over HTTP to the table. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { brokenAnswers, openPriceServer, type PriceServer } from '../../tests/harness/price-server.ts'
import { type RateSource, usualRateLimits } from '../core/money/rate-feed.ts'
import { knownMints } from '../core/money/tokens.ts'
import { createRateFeed, type RateFeed } from './feed.ts'
import { createJupiterSource } from './jupiter.ts'
import { createPythSource } from './pyth.ts'

const start = 1_763_208_000_000
const silent = { info() {}, warn() {}, error() {} }
let elapsed = 0
const clock = { now: () => start + elapsed, monotonic: () => elapsed }
let server: PriceServer
let feed: RateFeed | undefined

beforeAll(async () => {
  server = await openPriceServer()
})
afterAll(() => server.close())
afterEach(() => {
  feed?.stop()
  elapsed = 0
})

/** Asks anew so often that a test need not wait. */
async function open(source: RateSource): Promise<RateFeed> {
  feed = createRateFeed({
    source,
    tokens: ['NATIVE', 'SOL'],
    clock,
    log: silent,
    limits: { ...usualRateLimits, refreshSeconds: 0.005 },
  })
  await feed.ready()
  return feed
}
/** Resolves when a question that begins from now on was answered. */
async function askedAgain(): Promise<void> {
  const before = server.asked.length
  while (server.asked.length < before + 3) await new Promise((resolve) => setTimeout(resolve, 2))
}

const pythAnswer = (price: string, seconds = 0, average = price) => {
  const of = (text: string) => ({ price: text, conf: '1', expo: -8, publish_time: start / 1000 + seconds })
  return {
    binary: { encoding: 'hex', data: [] },
    parsed: [
      {
        id: 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d',
        price: of(price),
        ema_price: of(average),
      },
      {
        id: 'eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a',
        price: of('100000000'),
        ema_price: of('100000000'),
      },
    ],
  }
}
const pyth = () => createPythSource({ get: server.get, url: server.url })
const jupiterAnswer = (usdPrice: number) => ({
  So11111111111111111111111111111111111111112: { usdPrice, blockId: 348_004_023, decimals: 9, priceChange24h: 1.29 },
  EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v: { usdPrice: 1, blockId: 348_004_025, decimals: 6, priceChange24h: 0 },
})
const jupiter = () => createJupiterSource({ get: server.get, url: server.url, mints: knownMints.mainnet })

describe('Pyth', () => {
  it('is believed', async () => {
    server.tell(pythAnswer('15025000000'))
    expect((await open(pyth())).current()).toEqual({ USDC: '1', SOL: '150.25' })
  })

  it.each<readonly [string, unknown, RegExp]>([
    ['a stale price', pythAnswer('15000000000', -61), /is 61 s old/],
    ['a price of the future', pythAnswer('15000000000', 16), /from the future/],
    [
      'a first price far from its average',
      pythAnswer('15000000000000', 0, '15000000000'),
      /jumped away from its average/,
    ],
    ['a price of a billion times', pythAnswer('1500000000000000000', 0), /impossible/],
  ])('is not believed with %s', async (_name, answer, why) => {
    server.tell(answer)
    const { current, why: whyNot } = await open(pyth())
    expect(current()).toEqual({ USDC: '1' })
    expect(whyNot('SOL')).toMatch(why)
  })

  it('is switched off by a thousandfold price, and on when it is over', async () => {
    server.tell(pythAnswer('15000000000'))
    const { current, why } = await open(pyth())
    server.tell(pythAnswer('15000000000000', 1))
    await askedAgain()
    expect(current()).toEqual({ USDC: '1' })
    expect(why('SOL')).toMatch(/jumped from 150 to 150000/)
    server.tell(pythAnswer('15100000000', 2))
    await askedAgain()
    expect(current()).toEqual({ USDC: '1', SOL: '151' })
  })

  it('that says the same for ever grows old, though it answers', async () => {
    server.tell(pythAnswer('15000000000'))
    const { current } = await open(pyth())
    elapsed = 60_001
    await askedAgain()
    expect(current()).toEqual({ USDC: '1' })
  })
})

describe('Jupiter', () => {
  it('is believed, and switched off by a thousandfold price', async () => {
    server.tell(jupiterAnswer(147.48))
    const { current, why } = await open(jupiter())
    expect(current()).toEqual({ USDC: '1', SOL: '147.48' })
    server.tell(jupiterAnswer(147_480))
    await askedAgain()
    expect(current()).toEqual({ USDC: '1' })
    expect(why('SOL')).toMatch(/jumped/)
  })
})

describe.each([
  ['Pyth', pyth, pythAnswer('15000000000')],
  ['Jupiter', jupiter, jupiterAnswer(150)],
] as const)('%s that breaks', (_source, create, good) => {
  it.each(brokenAnswers)('with %s keeps the last rate, and loses it in time', async (_name, listener, why) => {
    server.tell(good)
    const { current, why: whyNot } = await open(create())
    server.act(listener)
    await askedAgain()
    expect(current()).toEqual({ USDC: '1', SOL: '150' })
    elapsed = 60_001
    expect(current()).toEqual({ USDC: '1' })
    expect(whyNot('SOL')).toMatch(why)
  })
})
