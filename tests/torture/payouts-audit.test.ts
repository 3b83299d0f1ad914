/** The judge of the payouts' torture: it must see every double and everything that was forgotten, and not cry wolf. */
import { describe, expect, it } from 'vitest'
import { type Evidence, judgePayouts, type Line } from './payouts-audit.mjs'

const line = (changes: Partial<Line> = {}): Line => ({
  ...{ role: 'cashback', payee: 'ann', from: 0, through: 2, units: 30n, opening: 0n },
  ...changes,
})
const share = (units: bigint) => [{ role: 'cashback', payee: 'ann', units }]
const transaction = (id: string, units: bigint, failed = false) => ({
  ...{ memo: `paystile:${id}`, failed, gains: new Map(failed ? [] : [['ann', units]]) },
})
/** Two payments, one payout for both, and one that failed before. */
const sound: Evidence = {
  payments: [
    { tx: 't1', payer: 'ann', units: 10n },
    { tx: 't2', payer: 'ann', units: 20n },
  ],
  accruals: [
    { number: 1, tx: 't1', shares: share(10n) },
    { number: 2, tx: 't2', shares: share(20n) },
  ],
  outgoing: [
    { id: 'a', state: 'landed', lines: [line()] },
    { id: 'b', state: 'dropped', lines: [line()] },
  ],
  transactions: [transaction('a', 30n), transaction('a', 30n, true)],
  balances: new Map([['ann', 30n]]),
  sharesOf: ({ payer, units }) => [[payer, units]],
  ownerOf: ({ payee }) => payee,
}
const landed = (...lines: readonly Line[]) =>
  lines.map((one, at) => ({ id: 'abc'[at] ?? '', state: 'landed', lines: [one] }))

it('no problem is found if every payee got the owed amount, less the rent of an opened account', () => {
  expect(judgePayouts(sound)).toEqual({ doubles: [], forgotten: [] })
  const opened = {
    outgoing: landed(line({ units: 25n, opening: 5n })),
    transactions: [transaction('a', 25n)],
    balances: new Map([['ann', 25n]]),
  }
  expect(judgePayouts({ ...sound, ...opened })).toEqual({ doubles: [], forgotten: [] })
})

describe('a double is', () => {
  it.each<[string, Partial<Evidence>, RegExp]>([
    [
      'a dispatch that landed twice',
      { transactions: [transaction('a', 30n), transaction('a', 30n)] },
      /landed 2 times/,
    ],
    [
      'what landed although it was dropped',
      { transactions: [transaction('a', 30n), transaction('b', 30n)] },
      /does not say so/,
    ],
    ['what brought more than its line', { transactions: [transaction('a', 31n)] }, /instead of 30/],
    [
      'what brought something to somebody else',
      {
        transactions: [
          {
            ...transaction('a', 30n),
            gains: new Map([
              ['ann', 30n],
              ['bob', 1n],
            ]),
          },
        ],
      },
      /brought bob something/,
    ],
    [
      'an accrual that two lines settle',
      {
        outgoing: landed(line(), line({ from: 1, units: 20n })),
        transactions: [transaction('a', 30n), transaction('b', 20n)],
      },
      /accrual 2 was paid to cashback ann 2 times/,
    ],
    [
      'a payment that was shared out twice',
      { accruals: [...sound.accruals, { number: 3, tx: 't2', shares: [] }] },
      /shared out 2 times/,
    ],
    ['a line that sends more than it settles', { outgoing: landed(line({ units: 31n })) }, /sends more/],
  ])('%s', (_name, changes, why) => {
    expect(judgePayouts({ ...sound, ...changes }).doubles).toContainEqual(expect.stringMatching(why))
  })
})

describe('forgotten is', () => {
  it.each<[string, Partial<Evidence>, RegExp]>([
    ['a payment that was not shared out', { accruals: sound.accruals.slice(0, 1) }, /t2 was not shared out/],
    [
      'an accrual that no line settles',
      { outgoing: landed(line({ through: 1, units: 10n })) },
      /accrual 2 was not paid/,
    ],
    ['a dispatch that the chain does not have', { transactions: [] }, /did not land, and the ledger says so/],
    ['what brought less than its line', { transactions: [transaction('a', 29n)] }, /instead of 30/],
    ['a line that sends less than it settles', { outgoing: landed(line({ units: 29n })) }, /sends less/],
    [
      'an account that was paid for twice',
      { outgoing: landed(line({ through: 1, units: 5n, opening: 5n }), line({ from: 1, units: 15n, opening: 5n })) },
      /paid for an account 2 times/,
    ],
    ['money that is not there in the end', { balances: new Map([['ann', 29n]]) }, /holds 29/],
  ])('%s', (_name, changes, why) => {
    expect(judgePayouts({ ...sound, ...changes }).forgotten).toContainEqual(expect.stringMatching(why))
  })
})
