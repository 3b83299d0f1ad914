import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokenAnswers, openPriceServer, type PriceServer } from '../../tests/harness/price-server.ts'
import { createPythSource, type PythParts } from './pyth.ts'

const solFeed = 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'
const usdcFeed = 'eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a'
const nativeFeed = '0A0408D619E9380ABAD35060F9192039ED5042FA6F82301D0E48BB52BE830996'
const time = 1_763_208_000

type Fields = Readonly<Record<string, unknown>>
interface Entry {
  readonly id: unknown
  readonly price: Fields
  readonly ema_price: Fields
  readonly metadata: Fields
}

/** One entry of `parsed`, in the shape of Hermes' reference. */
const entry = (id: string, price: Fields, average: Fields = {}): Entry => ({
  id,
  price: { price: '14256789012', conf: '7123456', expo: -8, publish_time: time, ...price },
  ema_price: { price: '14201234500', conf: '8012345', expo: -8, publish_time: time, ...average },
  metadata: { slot: 280_123_456, proof_available_time: time + 1, prev_publish_time: time - 1 },
})
const usdc = entry(usdcFeed, { price: '99981234', conf: '61234' }, { price: '99979000', conf: '60000' })
const sol = entry(solFeed, {})
const answer = (...parsed: readonly unknown[]) => ({ binary: { encoding: 'hex', data: ['504e4155'] }, parsed })

let server: PriceServer
beforeAll(async () => {
  server = await openPriceServer()
})
afterAll(() => server.close())

const read = (parts: Partial<PythParts> = {}) =>
  createPythSource({ get: server.get, url: server.url, ...parts }).read({ signal: new AbortController().signal })
const readAnswer = (...parsed: readonly unknown[]) => {
  server.tell(answer(...parsed))
  return read()
}
const refusal = (why: string) => [{ token: 'SOL', why }]

describe('the question', () => {
  it('names the feeds of SOL and USDC', async () => {
    await readAnswer(sol, usdc)
    const url = new URL(server.asked.at(-1)?.url ?? '', server.url)
    expect(url.pathname).toBe('/v2/updates/price/latest')
    expect(url.searchParams.getAll('ids[]')).toEqual([solFeed, usdcFeed])
    expect(url.searchParams.get('parsed')).toBe('true')
    expect(url.searchParams.get('ignore_invalid_price_ids')).toBe('true')
    expect(server.asked.at(-1)?.headers.authorization).toBeUndefined()
  })

  it('keeps the path and the query of an address of one’s own, and sends the key', async () => {
    server.tell(answer(sol, usdc))
    await read({ url: `${server.url}/hermes/?tenant=7`, apiKey: 'k3y' })
    const url = new URL(server.asked.at(-1)?.url ?? '', server.url)
    expect(url.pathname).toBe('/hermes/v2/updates/price/latest')
    expect(url.searchParams.get('tenant')).toBe('7')
    expect(server.asked.at(-1)?.headers.authorization).toBe('Bearer k3y')
  })

  it('asks for other feeds where they are given, and for each once', async () => {
    server.tell(answer(sol, usdc))
    await read({ feeds: { NATIVE: `0x${solFeed}` } })
    const url = new URL(server.asked.at(-1)?.url ?? '', server.url)
    expect(url.searchParams.getAll('ids[]')).toEqual([solFeed, usdcFeed])
  })
})

describe('the answer', () => {
  it('gives the worth in USDC with twelve decimals, its average and its time', async () => {
    expect(await readAnswer(sol, usdc)).toEqual([
      {
        token: 'SOL',
        rate: (14_256_789_012n * 10n ** 12n) / 99_981_234n,
        average: (14_201_234_500n * 10n ** 12n) / 99_979_000n,
        at: time * 1000,
      },
    ])
  })

  it('may have other exponents in every price', async () => {
    const [reading] = await readAnswer(
      entry(solFeed, { price: '150', conf: '1', expo: 0 }, { price: '15000', expo: -2 }),
      entry(usdcFeed, { price: '1000000000000', conf: '1', expo: -12 }, { price: '100000', expo: -5 }),
    )
    expect(reading).toMatchObject({ rate: 150n * 10n ** 12n, average: 150n * 10n ** 12n })
  })

  it('may be finer than twelve decimals', async () => {
    const [reading] = await readAnswer(
      entry(solFeed, { price: '9000000000000000001', conf: '1', expo: -18 }),
      entry(usdcFeed, { price: '1', conf: '0', expo: 0 }),
    )
    expect(reading).toMatchObject({ rate: 9n * 10n ** 12n })
  })

  it('is as old as the older of the two prices', async () => {
    const old = entry(usdcFeed, { price: '100000000', conf: '1', publish_time: time - 7 })
    expect((await readAnswer(sol, old))[0]).toMatchObject({ at: (time - 7) * 1000 })
  })

  it('may name feeds with 0x, in capitals and in any order', async () => {
    const shout = (one: Entry) => ({ ...one, id: `0x${String(one.id).toUpperCase()}` })
    expect((await readAnswer(shout(usdc), shout(sol)))[0]).toHaveProperty('rate')
  })

  it('tells of NATIVE where it has a feed, and keeps it when SOL fails', async () => {
    server.tell(answer(entry(solFeed, { price: '0' }), usdc, entry(nativeFeed, { price: '2000000', conf: '10' })))
    expect(await read({ feeds: { NATIVE: nativeFeed } })).toEqual([
      expect.objectContaining({ token: 'NATIVE', rate: (2_000_000n * 10n ** 12n) / 99_981_234n }),
      { token: 'SOL', why: 'the source returned a price of zero or less' },
    ])
  })
})

describe('a price is refused', () => {
  const unreadable = 'the source returned an unreadable price'

  it.each<readonly [string, Fields, string]>([
    ['zero', { price: '0' }, 'the source returned a price of zero or less'],
    ['negative', { price: '-14256789012' }, 'the source returned a price of zero or less'],
    ['NaN', { price: 'NaN' }, unreadable],
    ['empty', { price: '' }, unreadable],
    ['a number', { price: 14_256_789_012 }, unreadable],
    ['a fraction', { price: '142.56' }, unreadable],
    ['hexadecimal', { price: '0x10' }, unreadable],
    ['padded', { price: ' 14256789012' }, unreadable],
    ['a line', { price: '14256789012\n' }, unreadable],
    ['twenty digits long', { price: '1'.repeat(20) }, unreadable],
    ['with a negative confidence', { conf: '-1' }, unreadable],
    ['without a confidence', { conf: undefined }, unreadable],
    ['with an exponent above zero', { expo: 1 }, unreadable],
    ['with an exponent far below zero', { expo: -19 }, unreadable],
    ['with a broken exponent', { expo: -8.5 }, unreadable],
    ['with an exponent in text', { expo: '-8' }, unreadable],
    ['without a time', { publish_time: undefined }, unreadable],
    ['of 1970', { publish_time: 0 }, unreadable],
    ['with a time in milliseconds', { publish_time: time * 1000 }, unreadable],
    ['with a broken time', { publish_time: time + 0.5 }, unreadable],
  ])('that is %s', async (_name, price, why) => {
    expect(await readAnswer(entry(solFeed, price), usdc)).toEqual(refusal(why))
    expect(await readAnswer(sol, entry(usdcFeed, { price: '99981234', conf: '1', ...price }))).toEqual(
      refusal(`the price of USDC: ${why}`),
    )
  })

  it('that is more uncertain than two per cent, to the unit', async () => {
    const sure = entry(solFeed, { price: '10000', conf: '200' })
    expect((await readAnswer(sure, usdc))[0]).toHaveProperty('rate')
    const unsure = entry(solFeed, { price: '10000', conf: '201' })
    expect(await readAnswer(unsure, usdc)).toEqual(refusal("the source's confidence interval is too wide"))
  })

  it.each<readonly [string, Fields, string]>([
    ['zero', { price: '0' }, 'the source returned a price of zero or less'],
    ['negative', { price: '-1' }, 'the source returned a price of zero or less'],
    ['unreadable', { expo: -99 }, unreadable],
  ])('with an average that is %s', async (_name, average, why) => {
    expect(await readAnswer(entry(solFeed, {}, average), usdc)).toEqual(refusal(why))
  })

  it('without an average', async () => {
    expect(await readAnswer({ ...sol, ema_price: undefined }, usdc)).toEqual(refusal(unreadable))
  })

  it('that is missing, or named for another feed', async () => {
    const none = 'the source returned no price for the feed'
    expect(await readAnswer(usdc)).toEqual(refusal(none))
    expect(await readAnswer({ ...sol, id: nativeFeed }, usdc)).toEqual(refusal(none))
    expect(await readAnswer({ ...sol, id: 7 }, null, 'x', usdc)).toEqual(refusal(none))
    expect(await readAnswer(sol)).toEqual(refusal(`the price of USDC: ${none}`))
    expect(await readAnswer()).toEqual(refusal(`the price of USDC: ${none}`))
  })

  it('that is told twice', async () => {
    const twice = 'the source returned two prices for the feed'
    expect(await readAnswer(sol, usdc, { ...sol, id: `0x${solFeed}` })).toEqual(refusal(twice))
    expect(await readAnswer(sol, usdc, usdc)).toEqual(refusal(`the price of USDC: ${twice}`))
  })
})

describe('an answer that is none', () => {
  it.each(brokenAnswers)('%s: throws, and does not tell the address', async (_name, listener, why) => {
    server.act(listener)
    const failed = read({ url: `${server.url}/s3cret`, apiKey: 'k3y' })
    await expect(failed).rejects.toThrow(why)
    await expect(failed).rejects.not.toThrow(/s3cret|k3y/)
  })

  it('without prices: throws', async () => {
    server.tell({ binary: {}, parsed: { [solFeed]: sol } })
    await expect(read()).rejects.toThrow('the source returned no prices')
  })
})
