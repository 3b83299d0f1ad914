import { describe, expect, it } from 'vitest'
import { encodeBase58 } from '../encoding/base58.ts'
import { splTokenProgram } from '../money/tokens.ts'
import { checkRules } from './reward-rules.ts'
import type { RewardRules } from './rewards.ts'

const wallet = (number: number) => encodeBase58(new Uint8Array(32).fill(number))
const partner = { name: 'acme', wallet: wallet(2), bps: 9_000, endpoints: ['/api/*'] }
const rest = {
  treasury: { wallet: wallet(3), weight: 5 },
  buyback: { wallet: wallet(4), weight: 3 },
  incentives: { wallet: wallet(5), weight: 2 },
}
const rules: RewardRules = {
  collectors: [wallet(1)],
  partners: [partner],
  developerBps: 400,
  cashback: [
    { from: 0n, bps: 100 },
    { from: 50n, bps: 500 },
  ],
  rest,
  withoutPartner: true,
  hosts: [{ endpoint: '/api/*', host: 'api.example:8443' }],
  insiders: [wallet(9)],
}

describe('rules of sharing out', () => {
  it('may be as they are promised', () => expect(checkRules(rules)).toEqual([]))
  it.each<readonly [string, Partial<RewardRules>, string]>([
    ['a partner below 85 percent', { partners: [{ ...partner, bps: 8_499 }] }, 'partners.acme.share: must be 85 to 95'],
    ['a partner above 95 percent', { partners: [{ ...partner, bps: 9_501 }] }, 'partners.acme.share: must be 85 to 95'],
    ['more than 99 percent in all', { partners: [{ ...partner, bps: 9_001 }] }, 'cashback is 99.01 percent'],
    ['a developer below 3 percent', { developerBps: 299 }, 'developers: must be 3 to 5 percent'],
    ['a developer above 5 percent', { developerBps: 501 }, 'developers: must be 3 to 5 percent'],
    ['more than 5 percent back', { cashback: [{ from: 0n, bps: 501 }] }, 'cashback: must be more than 0'],
    ['nothing back', { cashback: [{ from: 0n, bps: 0 }] }, 'cashback: must be more than 0'],
    [
      'two tiers from one amount',
      { cashback: [rules.cashback[0], rules.cashback[0]] as never },
      'cashback: two tiers start at the same amount',
    ],
    [
      'a falling tier',
      {
        cashback: [
          { from: 0n, bps: 200 },
          { from: 1n, bps: 100 },
        ],
      },
      'cashback: a higher tier must not',
    ],
    ['no collector', { collectors: [] }, 'collector: must be'],
    ['a collector that is no wallet', { collectors: ['me'] }, 'collector: is not'],
    [
      'a treasury that is a program',
      { rest: { ...rest, treasury: { wallet: splTokenProgram, weight: 1 } } },
      'treasury',
    ],
    ['a negative weight', { rest: { ...rest, buyback: { ...rest.buyback, weight: -1 } } }, 'buyback.weight'],
    [
      'no weight at all',
      {
        rest: {
          treasury: { ...rest.treasury, weight: 0 },
          buyback: { ...rest.buyback, weight: 0 },
          incentives: { ...rest.incentives, weight: 0 },
        },
      },
      'must have a weight above 0',
    ],
    ['a partner twice', { partners: [partner, { ...partner, endpoints: ['/x'] }] }, 'partners: a name appears twice'],
    [
      'T258: an endpoint in two spellings',
      {
        partners: [
          { ...partner, endpoints: ['/a'] },
          { ...partner, name: 'b', endpoints: ['/A/'] },
        ],
      },
      'an endpoint can have only one partner',
    ],
    ['an endpoint twice', { partners: [partner, { ...partner, name: 'b' }] }, 'an endpoint can have only one partner'],
    ['a partner who is the collector', { partners: [{ ...partner, wallet: wallet(1) }] }, 'belongs to the operator'],
    ['a partner who is an owner', { partners: [{ ...partner, wallet: wallet(9) }] }, 'belongs to the operator'],
    ['a partner who is the treasury', { partners: [{ ...partner, wallet: wallet(3) }] }, 'belongs to the operator'],
    ['a partner without a wallet', { partners: [{ ...partner, wallet: 'x' }] }, 'partners.acme.wallet: is not'],
    ['a partner with an odd name', { partners: [{ ...partner, name: 'a b' }] }, 'a name must have'],
    ['a partner of nothing', { partners: [{ ...partner, endpoints: [] }] }, 'must name an endpoint'],
    ['an endpoint that is no path', { partners: [{ ...partner, endpoints: ['api'] }] }, 'api is not a path'],
    ['a host with a path', { hosts: [{ endpoint: '/a', host: 'x.example/y' }] }, 'hosts./a: must be a host'],
    ['a host in capitals', { hosts: [{ endpoint: '/a', host: 'X.example' }] }, 'hosts./a: must be a host'],
    ['a host of no path', { hosts: [{ endpoint: 'a', host: 'x.example' }] }, 'hosts: a is not a path'],
  ])('must not have %s', (_what, change, problem) => {
    expect(checkRules({ ...rules, ...change }).join('\n')).toContain(problem)
  })
})
