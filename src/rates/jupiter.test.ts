import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokenAnswers, openPriceServer, type PriceServer } from '../../tests/harness/price-server.ts'
import { knownMints, splTokenProgram } from '../core/money/tokens.ts'
import { createJupiterSource, type JupiterParts } from './jupiter.ts'

const solMint = 'So11111111111111111111111111111111111111112'
const usdcMint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const nativeMint = 'JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN'
const native = { address: nativeMint, decimals: 6, tokenProgram: splTokenProgram }

/** In the shape of the reference of Price API v3. */
const sol = {
  createdAt: '2024-06-05T08:55:25.527Z',
  liquidity: 621_679_197.67,
  usdPrice: 147.48,
  blockId: 348_004_023,
  decimals: 9,
  priceChange24h: 1.29,
}
const usdc = { ...sol, liquidity: 522_175_174.66, usdPrice: 0.9999, blockId: 348_004_025, decimals: 6 }
const jup = { ...sol, usdPrice: 0.0000123456789, decimals: 6 }

let server: PriceServer
beforeAll(async () => {
  server = await openPriceServer()
})
afterAll(() => server.close())

const read = (parts: Partial<JupiterParts> = {}) =>
  createJupiterSource({ get: server.get, url: `${server.url}/price/v3`, mints: knownMints.mainnet, ...parts }).read({
    signal: new AbortController().signal,
  })
const readAnswer = (answer: unknown) => {
  server.tell(answer)
  return read()
}
const both = { [solMint]: sol, [usdcMint]: usdc }
const refusal = (why: string) => [{ token: 'SOL', why }]

describe('the question', () => {
  it('names the mints, and sends the key', async () => {
    await readAnswer(both)
    const url = new URL(server.asked.at(-1)?.url ?? '', server.url)
    expect(url.pathname).toBe('/price/v3')
    expect(url.searchParams.get('ids')).toBe(`${usdcMint},${solMint}`)
    expect(server.asked.at(-1)?.headers['x-api-key']).toBeUndefined()
    await read({ apiKey: 'k3y', mints: { ...knownMints.mainnet, NATIVE: native } })
    expect(server.asked.at(-1)?.headers['x-api-key']).toBe('k3y')
    const second = new URL(server.asked.at(-1)?.url ?? '', server.url)
    expect(second.searchParams.get('ids')?.split(',').sort()).toEqual([usdcMint, nativeMint, solMint].sort())
  })

  it('cannot be put without the mint of USDC', () => {
    expect(() => createJupiterSource({ get: server.get, url: server.url, mints: {} })).toThrow(/needs the mint of USDC/)
  })
})

describe('the answer', () => {
  it('gives the worth in USDC by the decimals that were written, and no time', async () => {
    expect(await readAnswer(both)).toEqual([{ token: 'SOL', rate: (14_748n * 10n ** 14n) / 9_999n }])
  })

  it('may hold prices as small as a float writes them', async () => {
    server.tell({ ...both, [nativeMint]: { ...jup, usdPrice: 1.23456789e-7 }, [usdcMint]: { ...usdc, usdPrice: 1 } })
    expect(await read({ mints: { ...knownMints.mainnet, NATIVE: native } })).toEqual([
      { token: 'NATIVE', rate: 123_456n },
      { token: 'SOL', rate: 147_480_000_000_000n },
    ])
  })

  it('keeps the others when one mint is not traded', async () => {
    server.tell(both)
    expect(await read({ mints: { ...knownMints.mainnet, NATIVE: native } })).toEqual([
      { token: 'NATIVE', why: 'the source has no price for the mint' },
      expect.objectContaining({ token: 'SOL', rate: expect.any(BigInt) }),
    ])
  })
})

describe('a price is refused', () => {
  const impossible = 'the source returned an impossible price'
  const unreadable = 'the source returned an unreadable price'
  const decimals = 'the source reports other decimals for the mint than configured'

  it.each<readonly [string, unknown, string]>([
    ['zero', { ...sol, usdPrice: 0 }, impossible],
    ['minus zero', { ...sol, usdPrice: -0 }, impossible],
    ['negative', { ...sol, usdPrice: -147.48 }, impossible],
    ['text', { ...sol, usdPrice: '147.48' }, impossible],
    ['null', { ...sol, usdPrice: null }, impossible],
    ['missing', { ...sol, usdPrice: undefined }, impossible],
    ['huge', { ...sol, usdPrice: 1e300 }, impossible],
    ['tiny', { ...sol, usdPrice: 5e-324 }, impossible],
    ['a list', [sol], unreadable],
    ['a bare number', 147.48, unreadable],
    ['of nothing', null, 'the source has no price for the mint'],
    ['of other decimals', { ...sol, decimals: 6 }, decimals],
    ['of decimals in text', { ...sol, decimals: '9' }, decimals],
    ['without decimals', { ...sol, decimals: undefined }, decimals],
  ])('that is %s', async (_name, entry, why) => {
    expect(await readAnswer({ ...both, [solMint]: entry })).toEqual(refusal(why))
  })

  it('that is beyond all numbers', async () => {
    const text = JSON.stringify(both).replace('147.48', '1e999')
    server.act((_request, response) => void response.end(text))
    expect(await read()).toEqual(refusal(impossible))
  })

  it('when that of USDC is', async () => {
    const none = 'the price of USDC: the source has no price for the mint'
    expect(await readAnswer({ [solMint]: sol })).toEqual(refusal(none))
    expect(await readAnswer({})).toEqual(refusal(none))
    expect(await readAnswer({ ...both, [usdcMint]: { ...usdc, usdPrice: 0 } })).toEqual(
      refusal(`the price of USDC: ${impossible}`),
    )
    expect(await readAnswer({ ...both, [usdcMint]: { ...usdc, decimals: 9 } })).toEqual(
      refusal(`the price of USDC: ${decimals}`),
    )
  })

  it('that belongs to another mint', async () => {
    const answer = { [usdcMint]: usdc, [nativeMint]: sol }
    expect(await readAnswer(answer)).toEqual(refusal('the source has no price for the mint'))
  })
})

describe('an answer that is none', () => {
  it.each(brokenAnswers)('%s: throws, and does not tell the address', async (_name, listener, why) => {
    server.act(listener)
    const failed = read({ url: `${server.url}/s3cret`, apiKey: 'k3y' })
    await expect(failed).rejects.toThrow(why)
    await expect(failed).rejects.not.toThrow(/s3cret|k3y/)
  })
})
