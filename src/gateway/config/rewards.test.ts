import { describe, expect, it } from 'vitest'
import { readRoutesConfig } from '../../api/options.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { cashbackBps } from '../../core/payouts/rewards.ts'
import { createPlan } from './plan.ts'

const wallet = (number: number) => encodeBase58(new Uint8Array(32).fill(number))
const rewards = {
  developers: 4,
  cashback: { 0: 1, 50: '3.5' },
  treasury: { wallet: wallet(3), weight: 50 },
  buyback: { wallet: wallet(4), weight: 30 },
  incentives: { wallet: wallet(5), weight: 20 },
  partners: [{ name: 'acme', wallet: wallet(6), share: 90 }],
}
const config = {
  network: 'localnet',
  recipient: wallet(2),
  token: 'USDC',
  upstream: 'http://127.0.0.1:3000',
  rewards,
  routes: [
    { path: '/api/weather', price: 1, partner: 'acme', upstream: 'https://weather.example/v1' },
    { path: '/api/weather', methods: ['POST'], price: 2, partner: 'acme', upstream: 'https://weather.example/v1' },
    { path: '/files/*', price: 1 },
  ],
} as const
const problemsOf = (change: object): string => {
  try {
    createPlan({ ...config, ...change } as never, {})
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('rewards in a gateway', () => {
  it('are collected by its recipient, and know the routes of partners and the hosts of upstreams', () => {
    expect(createPlan(config, {}).service.rewards).toMatchObject({
      collector: wallet(2),
      partners: [{ name: 'acme', wallet: wallet(6), share: 90, endpoints: ['/api/weather'] }],
      hosts: { '/api/weather': 'weather.example', '/files/*': '127.0.0.1:3000' },
    })
  })
  it.each([
    [5, [500, 500, 500], '4.5'],
    ['2.5', [250, 250, 250], '2.25'],
    [{ 0: 1, 50: 3, 500: 5 }, [100, 100, 300], '1.5'],
  ])('give back as docs/rewards.md has it in numbers: %j', (cashback, percentages, total) => {
    const { service } = createPlan({ ...config, rewards: { ...rewards, cashback } }, {})
    const { cashback: tiers = [] } = readRoutesConfig(service, {}).rewards?.rules ?? {}
    const usdc = 10n ** 12n
    const given = [20n, 40n, 30n].map((_paid, index) => cashbackBps(tiers, ([0n, 20n, 60n][index] ?? 0n) * usdc))
    expect(given).toEqual(percentages)
    const back = [20, 40, 30].reduce((sum, paid, index) => sum + paid * (given[index] ?? 0), 0)
    expect(String(back / 10_000)).toBe(total)
  })
  it('are collected by the wallet that the environment names', () => {
    const { recipient: _recipient, ...rest } = config
    expect(createPlan(rest, { PAYSTILE_RECIPIENT: wallet(7) }).service.rewards).toMatchObject({ collector: wallet(7) })
  })
  it.each([
    [
      'a partner that there is not',
      { routes: [{ path: '/a', price: 1, partner: 'acne' }] },
      'routes[0].partner: is not a partner',
    ],
    ['a partner without rewards', { rewards: undefined }, 'rewards.partners is empty'],
    ['too much in all', { rewards: { ...rewards, developers: 5, cashback: { 0: 5 } } }, 'cashback is 100 percent'],
    ['a name that is not known', { rewards: { ...rewards, tresury: {} } }, 'did you mean treasury?'],
    ['a share that is no number', { rewards: { ...rewards, developers: 'many' } }, 'developers: must be a decimal'],
    [
      'too much for everybody',
      { rewards: { ...rewards, cashback: 5.01 } },
      'cashback: must be more than 0 and at most 5',
    ],
    ['a percentage that is none', { rewards: { ...rewards, cashback: 'some' } }, 'cashback: must be a decimal'],
    ['a list', { rewards: { ...rewards, cashback: [5] } }, 'cashback: must be a percentage such as 5'],
    [
      'a tier that is no amount',
      { rewards: { ...rewards, cashback: { some: 1 } } },
      'cashback.some: must be an amount',
    ],
    [
      'no NATIVE to pay with',
      { network: 'mainnet', rpc: 'https://node.example', secret: `1:${'s'.repeat(32)}` },
      'mints.NATIVE: rewards are paid in NATIVE, but no mint is configured; set its address and decimals',
    ],
    ['a partner without endpoints', { routes: [{ path: '/a', price: 1 }] }, 'must name an endpoint'],
  ])('must not have %s', (_what, change, problem) => expect(problemsOf(change)).toContain(problem))
})
