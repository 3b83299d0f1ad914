/** The books counted again: what does not add up is found, and a rebuild mends it. */
import { describe, expect, it } from 'vitest'
import type { FrozenRates } from '../../src/core/money/rates.ts'
import type { Ledger, PaymentRecord } from '../../src/core/ports/ledger.ts'
import { LedgerConfigurationError } from '../../src/ledger/identity.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { booksOf, useDesk } from './grants-fixture.ts'
import { createPayment, createTestClock, identity, startOfTests, takeOf } from './payments.ts'
import type { Place } from './places.ts'
import { places } from './places.ts'
import { stores } from './stores.ts'

const hourMs = 3_600_000
const midnight = Math.floor(startOfTests / (24 * hourMs)) * 24 * hourMs

const rates: FrozenRates = {
  table: { USDC: '1', SOL: '150', NATIVE: '0.1' },
  source: 'fixed',
  at: startOfTests,
  decimals: { USDC: 6, SOL: 9, NATIVE: 9 },
}

describe.each(stores)('a rebuild of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { books } = desk

  it('reckons the worth of every payment anew, by the rates of its moment', async () => {
    const paid: readonly Partial<PaymentRecord>[] = [
      { token: 'USDC', received: 3_000_000n, worth: 3_000_000_000_000n, rates },
      { token: 'SOL', received: 1_000_000_000n, worth: 150_000_000_000_000n, rates, endpoint: '/b' },
      { token: 'SOL', received: 1_000_000_000n, worth: undefined, rates: { ...rates, table: { SOL: '150' } } },
      { token: 'NATIVE', received: 5n, worth: 5n, rates: undefined },
      { token: 'NATIVE', received: 5n, worth: 5n, rates: { ...rates, decimals: {} } },
    ]
    const payments = paid.map((changes) => createPayment(changes))
    for (const payment of payments) await desk.grantOf(takeOf(payment))
    await books().rebuild('USDC')
    const worths = async () =>
      Promise.all(payments.map(async ({ tx }) => (await books().findPayment(tx))?.worth?.toString() ?? 'none'))
    expect(await worths()).toEqual(['3000000000000', '150000000000000', 'none', 'none', 'none'])
    await books().rebuild('SOL')
    expect(await worths()).toEqual(['20000000000', '1000000000000', '1000000000000', 'none', 'none'])
    expect(await books().reportToken()).toBe('SOL')
    expect(await books().sums({})).toEqual([
      { token: 'NATIVE', payments: 2, received: 10n, worth: 0n, unvalued: 2, refunded: 0n, refundedWorth: 0n },
      {
        token: 'SOL',
        payments: 2,
        received: 2_000_000_000n,
        worth: 2_000_000_000_000n,
        unvalued: 0,
        refunded: 0n,
        refundedWorth: 0n,
      },
      {
        token: 'USDC',
        payments: 1,
        received: 3_000_000n,
        worth: 20_000_000_000n,
        unvalued: 0,
        refunded: 0n,
        refundedWorth: 0n,
      },
    ])
    expect(await books().audit()).toEqual([])
    expect((await desk.ledger.peek(payments[0]?.tx ?? new Uint8Array()))?.state).toBe('busy')
  })

  it('keeps values without rates as long as the report token stays', async () => {
    await books().rebuild('USDC')
    await desk.grantOf(takeOf(createPayment({ worth: 7n, rates: undefined })))
    await books().rebuild('USDC')
    expect((await books().sums({}))[0]?.worth).toBe(7n)
    await books().rebuild('NATIVE')
    expect(await books().sums({})).toMatchObject([{ worth: 0n, unvalued: 1 }])
  })
})

describe.each(places)('the audit of a %s ledger', (name, make) => {
  const filled = async () => {
    const place = await make()
    const ledger = await place.open()
    for (let number = 0; number < 30; number += 1) {
      const paidAt = midnight + (number - 15) * 7 * hourMs
      const payment = createPayment({
        paidAt,
        endpoint: `/${number % 4}`,
        token: number % 2 === 0 ? 'SOL' : 'USDC',
        rates,
      })
      await ledger.take(takeOf(payment))
      if (number % 5 === 0) await ledger.journal.conclude([{ tx: payment.tx, finality: 'reverted' }])
    }
    return { place, books: booksOf(ledger), ledger }
  }
  const lane = name === 'postgres' ? ', 3' : ''
  const counts = name === 'postgres' ? '1, 5, 0, 0, 0, 0' : '1, 0, 5, 0, 0, 0, 0, 0, 0, 0'
  const stray = (grain: string, at: number) =>
    `INSERT INTO rollups VALUES ('${grain}', ${at}, '', 'USDC'${lane}, ${counts}) RETURNING at`
  const faults: readonly (readonly [what: string, statement: string, lines: RegExp])[] = [
    [
      'a line that is off',
      `UPDATE rollups SET payments = payments + 1 WHERE grain = 'all' RETURNING at`,
      /^all (SOL|USDC)$/,
    ],
    [
      'a line that is missing',
      `DELETE FROM rollups WHERE grain = 'endpoint' AND endpoint = '/1' RETURNING at`,
      /^endpoint \/1/,
    ],
    ['a line too many, before the first payment', stray('hour', 0), /^hour 1970-01-01T00:00:00.000Z USDC$/],
    [
      'a line too many, after the last payment',
      stray('day_endpoint', midnight + 999 * 24 * hourMs),
      /^day_endpoint 20/,
    ],
    [
      'what a payer paid',
      `UPDATE payers SET payments = payments + 1 WHERE token = 'SOL' RETURNING at`,
      /^day_payer 20.* payer-1 SOL$/,
    ],
    [
      'a refund that is in no book',
      `INSERT INTO dispatches (id, kind, lane, state, version, at, changed_at, attempts, sealed, slot, why, about, sent, payment)
        SELECT 'stray', 'refund', 'refund/stray', 'landed', 3, 0, ${midnight + 99 * hourMs}, 1, '', 1, '', '', '1', tx
        FROM ${name === 'postgres' ? 'paystile_' : ''}payments WHERE endpoint = '/3' LIMIT 1 RETURNING at`,
      /^(all|endpoint|hour|day)/,
    ],
    [
      'what was sent back to a payer',
      `UPDATE payers SET ${name === 'postgres' ? 'refunded' : 'refunded_lo'} = 7 WHERE token = 'SOL' RETURNING at`,
      /^day_payer 20.* payer-1 SOL$/,
    ],
    ['a line too many, between two', stray('hour', midnight + 5 * hourMs), /^hour 20/],
    [
      'a payment that was changed',
      `UPDATE payments SET worth = '1' WHERE endpoint = '/3' RETURNING tx`,
      /\/3|all|hour|payer/,
    ],
  ]

  it('finds nothing where nothing is wrong', async () => {
    const { books } = await filled()
    expect(await books.audit()).toEqual([])
  })

  it.each(faults)('finds %s, and a rebuild mends it', async (_what, statement, lines) => {
    const { place, books } = await filled()
    expect((await place.sql(statement)).length).toBeGreaterThan(0)
    const found = await books.audit()
    expect(found.length).toBeGreaterThan(0)
    for (const { line, kept, counted } of found) {
      expect(line).toMatch(lines)
      expect(kept).toMatch(/^payments \d+, received \d+, worth \d+, unvalued \d+(, refunded \d+, refunded worth \d+)?$/)
      expect(kept).not.toBe(counted)
    }
    await books.rebuild('USDC')
    expect(await books.audit()).toEqual([])
  })

  it('sees everything as it was at one moment, while others pay', async () => {
    const { place, books } = await filled()
    const other = await place.open()
    let paying = true
    const pay = async () => {
      while (paying) await other.take(takeOf(createPayment({ paidAt: midnight + hourMs })))
    }
    const load = Promise.all([pay(), pay(), pay()])
    for (let time = 0; time < 10; time += 1) expect(await books.audit()).toEqual([])
    paying = false
    await load
  })

  it('is as good after a rebuild while others pay', async () => {
    const { place, books } = await filled()
    const other = await place.open()
    let paying = true
    const pay = async () => {
      while (paying) await other.take(takeOf(createPayment({ paidAt: midnight + hourMs, rates })))
    }
    const load = Promise.all([pay(), pay(), pay(), booksOf(other).rebuild('USDC')])
    for (const token of ['SOL', 'NATIVE', 'USDC'] as const) await books.rebuild(token)
    paying = false
    await load
    expect(await books.audit()).toEqual([])
  })
})

describe.each(places)('the report token of a %s ledger', (_name, make) => {
  const openWith = async (place: Place, reportToken?: 'SOL' | 'USDC') =>
    place.open(reportToken && { ...identity, reportToken })

  it('is stored by the first server that names it, and another one is refused in one sentence', async () => {
    const place = await make()
    expect(await booksOf(await openWith(place)).reportToken()).toBeUndefined()
    expect(await booksOf(await openWith(place, 'USDC')).reportToken()).toBe('USDC')
    expect(await booksOf(await openWith(place)).reportToken()).toBe('USDC')
    const refused = await openWith(place, 'SOL').catch((error) => error)
    expect(refused).toBeInstanceOf(LedgerConfigurationError)
    expect(refused.message).toMatch(
      /^The ledger .* keeps its reports in USDC, not in SOL: set reportToken back, or recompute them with npx paystile books rebuild --token SOL\.$/,
    )
    await booksOf(await openWith(place)).rebuild('SOL')
    expect(await booksOf(await openWith(place, 'SOL')).reportToken()).toBe('SOL')
  })
})

describe.each(places)('a server on a %s ledger that still reckons in the former token', (_name, make) => {
  const inUsdc = { ...identity, reportToken: 'USDC' } as const
  const sol = (changes: Partial<PaymentRecord> = {}) =>
    createPayment({ token: 'SOL', received: 1_000_000_000n, worth: 150_000_000_000_000n, rates, ...changes })

  it('registers payments with their value in the token of the books', async () => {
    const place = await make()
    const ledger = await place.open(inUsdc)
    await ledger.take(takeOf(sol()))
    const [early, late] = [sol(), sol()]
    await ledger.recordLate(early)
    await booksOf(await place.open()).rebuild('SOL')
    await ledger.take(takeOf(early))
    await ledger.recordLate(late)
    expect((await booksOf(ledger).findPayment(late.tx))?.worth).toBe(1_000_000_000_000n)
    await Promise.all([sol(), late].map((payment) => ledger.take(takeOf(payment))))
    await ledger.take(takeOf(sol({ rates: undefined })))
    const books = booksOf(ledger)
    expect(await books.sums({})).toEqual([
      {
        token: 'SOL',
        payments: 5,
        received: 5_000_000_000n,
        worth: 4_000_000_000_000n,
        unvalued: 1,
        refunded: 0n,
        refundedWorth: 0n,
      },
    ])
    expect(await books.audit()).toEqual([])
    await booksOf(await place.open()).rebuild('USDC')
    const last = sol()
    await ledger.take(takeOf(last))
    expect((await books.findPayment(last.tx))?.worth).toBe(150_000_000_000_000n)
  })

  it('writes no wrong worth either while the books are being rebuilt', async () => {
    const place = await make()
    const [ledger, other] = [await place.open(inUsdc), await place.open(inUsdc)]
    let paying = true
    const pay = async (one: Ledger) => {
      while (paying) await one.take(takeOf(sol({ paidAt: midnight + hourMs })))
    }
    const load = Promise.all([ledger, ledger, other].map(pay))
    const books = booksOf(await place.open())
    const wrong: unknown[] = []
    for (const token of ['SOL', 'NATIVE', 'USDC', 'SOL'] as const) {
      await books.rebuild(token)
      wrong.push(...(await books.audit()))
    }
    paying = false
    await load
    const [sum] = await books.sums({})
    expect(wrong).toEqual([])
    expect(sum?.worth).toBe(BigInt(sum?.payments ?? 0) * 1_000_000_000_000n)
  })
})

it('the ledger in memory reckons in the token of its books', async () => {
  const ledger = await openLedger('memory:', {
    clock: createTestClock(),
    identity: { ...identity, reportToken: 'USDC' },
  })
  await booksOf(ledger).rebuild('SOL')
  for (const register of [(one: PaymentRecord) => ledger.take(takeOf(one)), ledger.recordLate]) {
    const payment = createPayment({ token: 'SOL', received: 1_000_000_000n, worth: 150_000_000_000_000n, rates })
    await register(payment)
    expect((await booksOf(ledger).findPayment(payment.tx))?.worth).toBe(1_000_000_000_000n)
  }
})

it('the ledger in memory knows its report token as well', async () => {
  const ledger = await openLedger('memory:', {
    clock: createTestClock(),
    identity: { ...identity, reportToken: 'SOL' },
  })
  expect(await booksOf(ledger).reportToken()).toBe('SOL')
})
