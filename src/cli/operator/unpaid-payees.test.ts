import { expect, it } from 'vitest'
import type { Payee } from '../../core/payouts/ports/rewards.ts'
import { findWaiting, waitingLines } from './unpaid-payees.ts'

const payee = (name: string, more: Partial<Payee>): Payee => ({
  ...{
    role: 'cashback',
    payee: name,
    accrued: 9n,
    owed: 9n,
    paid: 0n,
    reserved: 0n,
    settledThrough: 0,
    why: '',
    parkedUntil: 0,
  },
  ...more,
})

it('lists every waiting payee with the reason', async () => {
  const all = [
    payee('a', { owed: 0n }),
    payee('b', { owed: 4n }),
    payee('c', { why: 'the payee has no token account', parkedUntil: 60_000 }),
    payee('d', { reserved: 5n }),
    payee('e', {}),
    payee('f', { why: 'it was frozen', parkedUntil: 10 }),
  ]
  const pages = [all, []]
  const list = await findWaiting({ payees: async () => pages.shift() ?? [] }, { now: 50, decimals: 0, least: 5n })
  expect(list.waiting.map(({ payee: name, why, until }) => [name, why, until])).toEqual([
    ['b', 'the amount is below the threshold of 5 NATIVE', undefined],
    ['c', 'the payee has no token account', 60_000],
    ['d', 'a payout is under way', undefined],
  ])
  expect(waitingLines(list, String)[4]).toContain(
    'the payee has no token account; checked again after 1970-01-01 00:01 UTC',
  )
  expect(waitingLines({ waiting: [], isAll: true }, String)).toEqual([])
})

it('looks at a bounded number of payees, and says that there are more', async () => {
  let asked = 0
  const page = Array.from({ length: 500 }, () => payee('x', { owed: 1n }))
  const payees = async () => {
    asked += 1
    return page
  }
  const list = await findWaiting({ payees }, { now: 50, decimals: 0, least: 5n })
  expect([asked, list.isAll, list.waiting.length]).toEqual([10, false, 5_000])
  expect(waitingLines(list, String).at(-1)).toBe('  and 4950 or more others')
})
