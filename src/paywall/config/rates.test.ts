import { describe, expect, it } from 'vitest'
import { usualRateLimits } from '../../core/money/rate-feed.ts'
import { testRates } from '../../core/money/rates.ts'
import { type RatesOption, readRatesOption } from './rates.ts'

const feed = 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'
/** What a provider may write, as the compiler sees it. */
const good = (option: RatesOption | undefined, network: 'mainnet' | 'devnet' | 'localnet' = 'mainnet') => {
  const problems: string[] = []
  const config = readRatesOption(option, network, {}, problems)
  expect(problems).toEqual([])
  return config
}
const problemsOf = (option: unknown) => {
  const problems: string[] = []
  readRatesOption(option, 'mainnet', {}, problems)
  return problems
}
const pyth = { kind: 'pyth', url: undefined, apiKey: undefined, feeds: {}, limits: usualRateLimits }

describe('without the option', () => {
  it('has no default source on mainnet, and a table on test networks', () => {
    expect(good(undefined)).toEqual({ kind: 'fixed', table: { USDC: '1' } })
    expect(good(undefined, 'devnet')).toEqual({ kind: 'fixed', table: testRates })
    expect(good(undefined, 'localnet')).toEqual({ kind: 'fixed', table: testRates })
  })
})

describe('a fixed table', () => {
  it('is used as given, beside the known rates', () => {
    expect(good({ SOL: '150', NATIVE: '0.1' })).toEqual({
      kind: 'fixed',
      table: { USDC: '1', SOL: '150', NATIVE: '0.1' },
    })
    expect(good({ SOL: '7' }, 'localnet')).toEqual({ kind: 'fixed', table: { ...testRates, SOL: '7' } })
    expect(problemsOf({ SOL: undefined })).toEqual([])
    expect(good({})).toEqual({ kind: 'fixed', table: { USDC: '1' } })
  })

  it.each(['0', '-1', '1e3', '', 'x', '0.1234567890123', 0, -1, Number.NaN, 1234567.123456789, 1e30, null])(
    'refuses the rate %j',
    (rate) => {
      expect(problemsOf({ SOL: rate })).toEqual([
        'rates.SOL: must be a decimal above zero, such as "150.25"; with many digits, in quotes',
      ])
    },
  )

  it('refuses a rate of USDC other than 1', () => {
    expect(problemsOf({ USDC: 2 })).toEqual(['rates.USDC: is always 1, because rates are in USDC; remove it'])
    expect(good({ USDC: '1.0' })).toMatchObject({ kind: 'fixed' })
  })

  it.each([
    [150, '150'],
    [0.5, '0.5'],
    [0.07, '0.07'],
    [1e-7, '0.0000001'],
    [123456789.123456, '123456789.123456'],
  ])('takes the number %d as it was written', (rate, text) => {
    expect(good({ NATIVE: rate })).toMatchObject({ table: { NATIVE: text } })
  })

  it('suggests the name that was meant', () => {
    expect(problemsOf({ sol: '1' })).toEqual(['rates.sol: is not an option; did you mean SOL?'])
    expect(problemsOf({ sorce: 'pyth' })).toEqual(['rates.sorce: is not an option; did you mean source?'])
    expect(problemsOf({ BITCOIN: '1' })).toEqual(['rates.BITCOIN: is not an option'])
  })
})

describe('a service', () => {
  it('may be a word', () => {
    expect(good('pyth')).toEqual(pyth)
    expect(good('jupiter')).toEqual({ kind: 'jupiter', url: undefined, apiKey: undefined, limits: usualRateLimits })
    expect(good('pyth', 'localnet')).toEqual(pyth)
  })

  it('may have an address, a key, feeds and limits', () => {
    const limits = { refreshSeconds: 5, maxAgeSeconds: 30, maxJump: 0.1, jumpHoldSeconds: 60, spread: 0.02 }
    const rest = { url: 'https://hermes.example/x', apiKey: 'k3y' }
    const feeds = { NATIVE: `0x${feed}`, SOL: feed.toUpperCase() }
    expect(good({ source: 'pyth', ...rest, feeds, ...limits })).toEqual({ kind: 'pyth', ...rest, feeds, limits })
    expect(good({ source: 'jupiter', ...rest, spread: 0 })).toEqual({
      kind: 'jupiter',
      ...rest,
      limits: { ...usualRateLimits, spread: 0 },
    })
  })

  it('suggests the nearest name', () => {
    expect(problemsOf('pyt')).toEqual([expect.stringMatching(/^rates: must be .*; did you mean 'pyth'\?$/)])
    expect(problemsOf({ source: 'Jupiter' })).toEqual([
      "rates.source: must be 'pyth', 'jupiter', a function or { read() }; did you mean 'jupiter'?",
    ])
    expect(problemsOf({ source: 'pyth', maxAgeSecond: 30, apikey: 's3cret' })).toEqual([
      'rates.maxAgeSecond: is not an option; did you mean maxAgeSeconds?',
      'rates.apikey: is not an option; did you mean apiKey?',
    ])
    expect(problemsOf({ source: 'jupiter', feeds: {} })).toEqual([
      expect.stringMatching(/^rates\.feeds: is not an option/),
    ])
    expect(problemsOf({ source: 'pyth', SOL: '150' })).toEqual([expect.stringMatching(/^rates\.SOL: is not an option/)])
  })

  it('has all its problems told at once', () => {
    const wrong = { source: 'pyth', url: 'ftp://x', apiKey: 'a b', feeds: { SOL: '0x12', BTC: feed }, spread: 1 }
    expect(problemsOf(wrong)).toEqual([
      'rates.spread: must be a number from 0 to 0.5',
      'rates.url: must be an http or https URL',
      'rates.apiKey: must be printable characters without spaces',
      'rates.feeds.BTC: is not an option',
      'rates.feeds.SOL: must be the id of a price feed, 64 hex digits',
    ])
  })

  it.each([[null], ['x'], [[feed]]])('refuses %j for feeds', (feeds) => {
    expect(problemsOf({ source: 'pyth', feeds })).toEqual([
      'rates.feeds: must be ids of price feeds by token: { NATIVE, USDC, SOL }',
    ])
  })
})

describe('limits', () => {
  it.each<readonly [string, unknown]>([
    ['refreshSeconds', 0.5],
    ['refreshSeconds', 3601],
    ['maxAgeSeconds', 4],
    ['maxAgeSeconds', Number.POSITIVE_INFINITY],
    ['maxJump', 0],
    ['maxJump', 1],
    ['jumpHoldSeconds', 0],
    ['spread', -0.01],
    ['spread', Number.NaN],
    ['spread', '0.01'],
    ['spread', null],
  ])('%s cannot be %j', (name, value) => {
    expect(problemsOf({ source: 'pyth', [name]: value })).toEqual([
      expect.stringMatching(new RegExp(`^rates\\.${name}: must be a number from [\\d.]+ to [\\d.]+$`)),
    ])
  })

  it('must let a rate live until the next question', () => {
    const why = 'rates.maxAgeSeconds: must be more than refreshSeconds, which is 60'
    expect(problemsOf({ source: 'pyth', refreshSeconds: 60 })).toEqual([why])
    expect(problemsOf({ source: 'pyth', refreshSeconds: 60, maxAgeSeconds: 61 })).toEqual([])
    expect(problemsOf({ source: 'pyth', refreshSeconds: 60, maxAgeSeconds: '61' })).toHaveLength(1)
  })

  it('that are left undefined are the usual ones', () => {
    const option = { source: 'pyth', spread: undefined, url: undefined, apiKey: undefined, feeds: undefined }
    expect(good(option as unknown as RatesOption)).toEqual(pyth)
  })
})

describe('a source of one’s own', () => {
  const question = { signal: new AbortController().signal }
  const reading = { token: 'SOL', rate: '150' } as const

  it.each<readonly [string, RatesOption]>([
    ['a function', async () => [reading]],
    ['{ read }', { read: async () => [reading] }],
    ['{ read } with limits', { read: async () => [reading], spread: 0.01 }],
    ['{ source: function }', { source: async () => [reading], maxAgeSeconds: 60 }],
    ['{ source: { read } }', { source: { read: async () => [reading] } }],
  ])('may be %s', async (_name, option) => {
    const config = good(option)
    expect(config.kind === 'own' && (await config.source.read(question))).toEqual([reading])
    expect(config).toMatchObject({ limits: usualRateLimits })
  })

  it('keeps its own state, and learns when its last user leaves', async () => {
    const source = {
      rate: '150',
      async read({ signal }: { readonly signal: AbortSignal }) {
        return [{ token: 'SOL' as const, rate: signal.aborted ? '0' : this.rate }]
      },
    }
    const config = good({ source, spread: 0.02 })
    expect(config.kind === 'own' && (await config.source.read(question))).toEqual([reading])
    expect(config).toMatchObject({ limits: { spread: 0.02 } })
  })

  it('takes limits, but no address', () => {
    const read = async () => []
    expect(problemsOf({ read, url: 'https://x' })).toEqual([expect.stringMatching(/^rates\.url: is not an option/)])
    expect(problemsOf({ read, spred: 0.1 })).toEqual(['rates.spred: is not an option; did you mean spread?'])
  })

  it.each([{ read: 7 }, { source: {} }, { source: null }, { source: { read: 'x' } }])('is not %j', (option) => {
    expect(problemsOf(option)).toEqual(["rates.source: must be 'pyth', 'jupiter', a function or { read() }"])
  })
})

it.each([[7], [true], [null], [[]], [['pyth']], ['http://s3cret'], ['']])('%j is no option', (option) => {
  const problems = problemsOf(option)
  expect(problems).toEqual([expect.stringMatching(/^rates: must be a table/)])
  expect(problems.join()).not.toContain('s3cret')
})

it('shows no key, wherever it is written', () => {
  const wrong = [
    { source: 'pyth', apiKey: 's3cret\n' },
    { source: 'pyth', url: 'hermes/s3cret' },
    { source: 'pyth', feeds: { SOL: 's3cret' } },
    { source: 's3cret' },
    { SOL: 's3cret' },
    's3cret',
  ]
  const problems = wrong.map(problemsOf)
  expect(problems.every((list) => list.length === 1)).toBe(true)
  expect(problems.flat().join()).not.toContain('s3cret')
})

it('is frozen, all the way down', () => {
  const config = good({ source: 'pyth', feeds: { SOL: feed } })
  const parts = config.kind === 'pyth' ? [config, config.limits, config.feeds] : []
  expect(parts.map(Object.isFrozen)).toEqual([true, true, true])
  const table = good({ SOL: '1' })
  expect(table.kind === 'fixed' && Object.isFrozen(table.table)).toBe(true)
})
