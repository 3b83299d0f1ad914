import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { maxUnits } from '../money/money.ts'
import type { Earning, RewardRules } from './rewards.ts'
import { cashbackBps, covers, formatRules, parseRules, payable, readHost, shareOut, splitUnits } from './rewards.ts'

const rules: RewardRules = {
  collectors: ['collector'],
  partners: [{ name: 'acme', wallet: 'partner', bps: 9_000, endpoints: ['/api/weather', '/maps/*'] }],
  developerBps: 400,
  cashback: [
    { from: 0n, bps: 100 },
    { from: 10_000_000_000_000n, bps: 300 },
  ],
  rest: {
    treasury: { wallet: 'treasury', weight: 5 },
    buyback: { wallet: 'buyback', weight: 3 },
    incentives: { wallet: 'incentives', weight: 2 },
  },
  withoutPartner: false,
  hosts: [{ endpoint: '/api/weather', host: 'weather.example' }],
  insiders: ['owner'],
}
const earning: Earning = {
  recipient: 'collector',
  payer: 'hash of somebody',
  endpoint: '/api/weather',
  token: 'USDC',
  units: 1_000_000n,
  collected: [],
  rates: {
    table: { NATIVE: '0.1', USDC: '1', SOL: '150' },
    source: 'fixed',
    at: 0,
    decimals: { NATIVE: 9, USDC: 6, SOL: 9 },
  },
  spent: 0n,
  developer: 'developer',
}
const nameOf = (wallet: string) => `hash of ${wallet}`
const share = (change: Partial<Earning> = {}, changedRules: Partial<RewardRules> = {}) =>
  shareOut({ ...rules, ...changedRules }, { ...earning, ...change }, nameOf)

describe('the parts that the recipient received for other wallets', () => {
  const collected = [
    { recipient: 'author', units: 200_000n },
    { recipient: 'artist', units: 100_000n },
  ]
  const splits = [
    { role: 'split', payee: 'author', units: 2_000_000_000n },
    { role: 'split', payee: 'artist', units: 1_000_000_000n },
  ]

  it('T185: are owed in full, and the rules share only the rest', () => {
    const direct = share({ units: 700_000n })
    const sharing = share({ collected })
    if (direct.kind !== 'shared' || sharing.kind !== 'shared') throw new Error('nothing is shared')
    expect(sharing.shares).toEqual([...splits, ...direct.shares])
    expect([sharing.worth, sharing.whole, sharing.rate]).toEqual([direct.worth, 10_000_000_000n, direct.rate])
  })

  it.each<[string, Partial<Earning>]>([
    ['the recipient is no collector any more', { recipient: 'other' }],
    ['the endpoint has no partner', { endpoint: '/own' }],
    ['an insider paid', { payer: nameOf('owner') }],
  ])('T185: are owed if %s, and count as no spending', (_case, change) => {
    expect(share({ ...change, collected })).toMatchObject({ kind: 'shared', shares: splits, worth: 0n })
  })

  it('are not owed below the smallest unit of NATIVE, or without a rate', () => {
    const rates = { ...earning.rates, table: { ...earning.rates.table, NATIVE: '1000000000' } }
    const tiny = [{ recipient: 'author', units: 1n }]
    expect(share({ endpoint: '/own', units: 2n, collected: tiny, rates })).toMatchObject({ why: 'no_partner' })
    const none = { ...earning.rates, table: {} }
    expect(share({ endpoint: '/own', collected, rates: none })).toEqual({ kind: 'waiting' })
  })
})

describe('the shares of the payees', () => {
  it('is reckoned in NATIVE at the rates of the payment, partner first, then developer, payer and the rest', () => {
    expect(share()).toEqual({
      kind: 'shared',
      whole: 10_000_000_000n,
      worth: 1_000_000_000_000n,
      rate: 100_000_000_000n,
      kept: 0n,
      shares: [
        { role: 'partner', payee: 'partner', units: 9_000_000_000n },
        { role: 'developer', payee: 'developer', units: 400_000_000n },
        { role: 'cashback', payee: 'hash of somebody', units: 100_000_000n },
        { role: 'treasury', payee: 'treasury', units: 250_000_000n },
        { role: 'buyback', payee: 'buyback', units: 150_000_000n },
        { role: 'incentives', payee: 'incentives', units: 100_000_000n },
      ],
    })
  })
  it.each([
    ['went to another wallet', { recipient: 'partner' }, 'other_recipient'],
    ['is on a route without a partner', { endpoint: '/api/other' }, 'no_partner'],
    ['was made by the collector', { payer: 'hash of collector' }, 'insider'],
    ['was made by the partner', { payer: 'hash of partner' }, 'insider'],
    ['was made by the developer', { payer: 'hash of developer' }, 'insider'],
    ['was made by the treasury', { payer: 'hash of treasury' }, 'insider'],
    ['was made by an owner', { payer: 'hash of owner' }, 'insider'],
    ['is worth less than a base unit', { units: 0n }, 'too_little'],
  ] as const)('is nothing of a payment that %s', (_what, change, why) => {
    expect(share(change)).toEqual({ kind: 'nothing', why })
  })
  it.each([
    ['NATIVE', { USDC: '1', SOL: '150' }],
    ['the token that was paid', { NATIVE: '0.1' }],
  ] as const)('waits where there is no rate of %s', (_what, table) => {
    expect(share({ token: 'SOL', rates: { ...earning.rates, table } })).toEqual({ kind: 'waiting' })
  })
  it('leaves the rest with an operator that pays rewards at its own cost', () => {
    expect(share({ endpoint: '/api/other' }, { withoutPartner: true })).toMatchObject({
      kept: 9_500_000_000n,
      shares: [{ role: 'developer' }, { role: 'cashback' }],
    })
  })
  it('gives the share of an unverified developer to the rest', () => {
    const sharing = share({ developer: undefined })
    expect(sharing.kind === 'shared' && sharing.shares.map(({ role, units }) => [role, units])).toEqual([
      ['partner', 9_000_000_000n],
      ['cashback', 100_000_000n],
      ['treasury', 450_000_000n],
      ['buyback', 270_000_000n],
      ['incentives', 180_000_000n],
    ])
  })
})

describe('the tier of a payer', () => {
  it.each([
    [0n, 100],
    [9_999_999_999_999n, 100],
    [10_000_000_000_000n, 300],
    [99_000_000_000_000n, 300],
  ])('after %s it is %s', (spent, bps) => expect(cashbackBps(rules.cashback, spent)).toBe(bps))
  it('is none where none is reached', () => expect(cashbackBps([{ from: 5n, bps: 100 }], 4n)).toBe(0))
})

describe('an endpoint', () => {
  it.each([
    ['/api/weather', '/api/weather', true],
    ['/maps/*', '/maps/1', true],
    ['/maps/*', '/maps', true],
    ['/maps/*', '/maps/', true],
    ['/*', '/', true],
    ['/', '/maps', false],
    ['/maps/*', '/mapsx', false],
  ])('%s covers %s: %s', (pattern, endpoint, isCovered) => expect(covers(pattern, endpoint)).toBe(isCovered))
  it.each(['/api/WEATHER', '/api/weather/', '/api/%77eather', '/api/%57eather//', '/api/we%41ther'])(
    'T258: %s earns for the partner and the host of /api/weather',
    (endpoint) => {
      const [acme, other] = [
        { name: 'acme', wallet: 'acme-wallet', bps: 8_500, endpoints: ['/api/Weather'] },
        { name: 'other', wallet: 'other-wallet', bps: 8_500, endpoints: ['/api/*'] },
      ]
      for (const partners of [
        [acme, other],
        [other, acme],
      ]) {
        const sharing = shareOut({ ...rules, partners }, { ...earning, endpoint }, (wallet) => `name of ${wallet}`)
        const shares = sharing.kind === 'shared' ? sharing.shares : []
        expect(shares.find(({ role }) => role === 'partner')?.payee).toBe('acme-wallet')
      }
      const hosts = [
        { endpoint: '/api/weather', host: 'one.example' },
        { endpoint: '/api/*', host: 'two.example' },
      ]
      expect(readHost({ hosts }, endpoint)).toBe('one.example')
    },
  )
  it.each(['/api/we%zzather', '/api/weather%', '/api%2Fweather', '/api/weathers'])(
    '%s is another one than /api/weather',
    (endpoint) => expect(covers('/api/weather', endpoint)).toBe(false),
  )
  it('belongs to the host of the longest name', () => {
    const hosts = [
      { endpoint: '/api/*', host: 'one.example' },
      { endpoint: '/api/weather', host: 'two.example' },
    ]
    expect([readHost({ hosts }, '/api/weather'), readHost({ hosts }, '/api/x'), readHost({ hosts }, '/x')]).toEqual([
      'two.example',
      'one.example',
      undefined,
    ])
  })
})

describe('rules', () => {
  it('come back from the journal as they were, under a name that tells them from others', () => {
    const { id, text } = formatRules(rules)
    expect(parseRules(text)).toEqual(rules)
    expect(formatRules(parseRules(text))).toEqual({ id, text })
    expect(formatRules({ ...rules, developerBps: 300 }).id).not.toBe(id)
  })
})

describe('T151: splitting', () => {
  it('gives the remaining units to the largest remainders', () => {
    expect(splitUnits(7n, [95n, 2n, 2n, 1n])).toEqual([7n, 0n, 0n, 0n])
    expect(splitUnits(10n, [1n, 1n, 1n])).toEqual([4n, 3n, 3n])
  })
  it('adds up, and differs from the exact share by at most one unit', () => {
    const weights = fc.array(fc.bigInt({ min: 0n, max: 10_000n }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: maxUnits }), weights, (units, given) => {
        fc.pre(given.some((weight) => weight > 0n))
        const total = given.reduce((sum, weight) => sum + weight, 0n)
        const parts = splitUnits(units, given)
        expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(units)
        for (const [index, part] of parts.entries()) {
          const exact = units * (given[index] ?? 0n)
          const off = part * total - exact
          expect(off > -total && off < total && part >= 0n).toBe(true)
        }
      }),
      { numRuns: size(200, 2_000) },
    )
  })
  it.each([
    ['negative units', -1n, [1n]],
    ['a negative weight', 1n, [2n, -1n]],
    ['no weight', 1n, [0n]],
  ])('refuses %s', (_what, units, weights) => expect(() => splitUnits(units, weights)).toThrow(RangeError))
})

describe('T171: payouts of owed amounts', () => {
  it.each([
    ['NATIVE rose by half', 150n, 66n + 100n],
    ['NATIVE fell by half', 50n, 100n + 150n],
    ['nothing moved', 100n, 100n + 150n],
  ])('is the lower of both rates when %s', (_what, rateNow, units) => {
    const owed = [
      { units: 100n, rate: 100n },
      { units: 150n, rate: 100n },
    ]
    expect(payable(owed, rateNow)).toBe(units)
  })
  it('needs a rate', () => expect(() => payable([], 0n)).toThrow(RangeError))
})
