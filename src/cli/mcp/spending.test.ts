import { describe, expect, it } from 'vitest'
import type { FileJournal, Spent } from '../../client/journal/file.ts'
import type { PaymentOffer } from '../../client/options.ts'
import { createWallClock } from '../../host/clock.ts'
import { lowerMaxPrice, needsApproval, readSpending, readToday } from './spending.ts'

describe('the limit of one call', () => {
  it.each([
    ['1 USDC', '0.5 USDC', { USDC: '0.5' }],
    ['1 USDC', '2 USDC', { USDC: '1' }],
    ['1000 USDC', '5 USDC', { USDC: '5' }],
    ['1000 USDC', '999.999999 USDC', { USDC: '999.999999' }],
    ['1000 USDC', '18000000000 USDC', { USDC: '1000' }],
    ['1000 USDC', '0 usdc', { USDC: '0' }],
  ])('with %s for one payment and a call with %s is %j', (max, asked, limit) => {
    expect(lowerMaxPrice(readSpending([max], [], []), asked)).toEqual(limit)
  })

  it.each([
    '1e9 USDC',
    '-1 USDC',
    '+1 USDC',
    '١ USDC',
    '１ USDC',
    '1,5 USDC',
    '0x1 USDC',
    'NaN USDC',
    '1',
    '1 SOL',
    '',
  ])('is not set by %j', (asked) => {
    expect(() => lowerMaxPrice(readSpending(['1 USDC'], [], []), asked)).toThrow()
  })
})

it.each([
  ['--budget', ['1 USDC', '0.5 usdc'], [], []],
  ['--max', ['1 USDC'], ['1 USDC', '2 USDC'], []],
  ['--ask-over', ['1 USDC'], [], ['0.1 USDC', '1 USDC']],
])('%s with two amounts of one token is refused, because only one could apply', (flag, budget, max, askOver) => {
  expect(() => readSpending(budget, max, askOver)).toThrow(`${flag} has two amounts of USDC. Give one for each token.`)
})

it.each([
  ['0.5', false],
  ['50', false],
  ['50.000001', true],
  ['100', true],
])('with a threshold of 50, a payment of %s needs an approval: %s', (amount, isNeeded) => {
  const spending = readSpending(['1000 USDC'], [], ['50 USDC'])
  expect(needsApproval(spending, { token: 'USDC', amount } as PaymentOffer)).toBe(isNeeded)
})

it('shows the rest of a budget that has more decimals than its token', () => {
  const journal = {
    spentOn: (): Spent[] => [{ network: 'mainnet', token: 'USDC', units: 250_000n }],
  } as Pick<FileJournal, 'spentOn'> as FileJournal
  const today = readToday(journal, createWallClock(), readSpending(['1.0000009 USDC'], [], []), {})
  expect(today).toEqual([{ network: 'mainnet', token: 'USDC', spent: '0.25', left: '0.75' }])
})
