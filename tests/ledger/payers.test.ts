/** Who paid, in every store: sums of whole days, ranked by what they paid or by when they last did. */
import { describe, expect, it } from 'vitest'
import type { PayerQuery } from '../../src/core/ports/reports.ts'
import { isLong } from '../harness/length.ts'
import { useDesk } from './grants-fixture.ts'
import { createPayment, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const midnight = Math.floor(startOfTests / dayMs) * dayMs
const days = { from: midnight - dayMs, to: midnight + 2 * dayMs }

describe.each(stores)('the payers of the %s ledger', (name, open) => {
  const desk = useDesk(open)
  const { books, journal, registered } = desk
  const ask = (query: Partial<PayerQuery>) => books().payers({ ...days, order: 'revenue', most: 100, ...query })
  const names = async (query: Partial<PayerQuery>) => (await ask(query)).payers.map(({ payer }) => payer)

  it('have their paid amounts by token, with the first and the last payment of the period', async () => {
    const paid = { payer: 'a', received: 2n, worth: 5n }
    await registered({ ...paid, paidAt: midnight + 5 })
    await registered({ ...paid, paidAt: midnight + dayMs + 7, worth: undefined })
    await registered({ ...paid, paidAt: midnight - 9, token: 'SOL' })
    await registered({ ...paid, paidAt: midnight + 2 * dayMs })
    await registered({ payer: 'b', received: 3n, worth: 12n, paidAt: midnight })
    expect(await ask({})).toEqual({
      payers: [
        {
          payer: 'b',
          sums: [
            { token: 'USDC', payments: 1, received: 3n, worth: 12n, unvalued: 0, refunded: 0n, refundedWorth: 0n },
          ],
          first: midnight,
          last: midnight,
        },
        {
          payer: 'a',
          sums: [
            { token: 'SOL', payments: 1, received: 2n, worth: 5n, unvalued: 0, refunded: 0n, refundedWorth: 0n },
            { token: 'USDC', payments: 2, received: 4n, worth: 5n, unvalued: 1, refunded: 0n, refundedWorth: 0n },
          ],
          first: midnight - 9,
          last: midnight + dayMs + 7,
        },
      ],
    })
    expect(await names({ order: 'latest' })).toEqual(['a', 'b'])
    expect(await names({ to: midnight + dayMs, order: 'latest' })).toEqual(['a', 'b'])
    expect(await names({ from: midnight, to: midnight + dayMs })).toEqual(['b', 'a'])
    expect(await names({ from: midnight, to: midnight })).toEqual([])
    expect(await names({ most: 0 })).toEqual([])
    await expect(ask({ from: midnight + hourMs })).rejects.toThrow(/whole day/)
  })

  it('T62: lose reverted payments, and have them again when they land again, and never have late ones', async () => {
    const payment = createPayment({ payer: 'a', paidAt: midnight })
    await desk.ledger.recordLate(createPayment({ payer: 'c', paidAt: midnight }))
    expect(await names({})).toEqual([])
    await desk.grantOf(takeOf(payment))
    await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
    for (const order of ['revenue', 'latest'] as const) expect(await ask({ order })).toEqual({ payers: [] })
    await desk.ledger.take(takeOf({ ...payment, paidAt: midnight + dayMs, finality: 'finalized' }))
    for (const order of ['revenue', 'latest'] as const)
      expect((await ask({ order })).payers).toMatchObject([{ payer: 'a', first: midnight + dayMs }])
    expect(await names({ from: midnight, to: midnight + dayMs })).toEqual([])
    expect(await books().audit()).toEqual([])
  })

  it('are listed page by page, each once, however often they paid and however many paid the same', async () => {
    for (let number = 0; number < 24; number += 1)
      await registered({
        payer: `payer-${number % 9}`,
        worth: number % 9 < 5 ? 10n : BigInt(number),
        paidAt: midnight + Math.floor(number / 3),
      })
    for (const order of ['revenue', 'latest'] as const) {
      const found: string[] = []
      for (let page = await ask({ order, most: 2 }); ; page = await ask({ order, most: 2, after: page.next })) {
        expect(page.payers.length).toBeLessThanOrEqual(2)
        found.push(...page.payers.map(({ payer }) => payer))
        if (!page.next) break
      }
      expect(found).toEqual(await names({ order }))
      expect(found.toSorted()).toEqual(Array.from({ length: 9 }, (_, number) => `payer-${number}`))
    }
  })

  // All stores share the rule, so the short form fills one of them.
  if (isLong || name === 'sqlite')
    it('T133: are looked for among so many payments at a time, and the next page goes on from there', async () => {
      await registered({ payer: 'quiet', paidAt: midnight })
      const busy = Array.from({ length: 10_200 }, (_, number) =>
        createPayment({ payer: 'busy', paidAt: midnight + number }),
      )
      await Promise.all(busy.map((payment) => desk.ledger.take(takeOf(payment))))
      const first = await ask({ order: 'latest', most: 5 })
      expect(first.payers.map(({ payer, sums }) => [payer, sums[0]?.payments])).toEqual([['busy', 10_200]])
      const second = await ask({ order: 'latest', most: 5, ...(first.next && { after: first.next }) })
      expect(second).toMatchObject({ payers: [{ payer: 'quiet' }] })
      expect(second.next).toBeUndefined()
    })

  it('T133: are ranked among the highest payers of a day', async () => {
    const year = { from: midnight - 365 * dayMs, to: midnight + dayMs }
    for (let number = 0; number < 12; number += 1)
      await registered({ payer: `payer-${number}`, worth: BigInt(number), paidAt: midnight })
    expect(await names(year)).toEqual(Array.from({ length: 10 }, (_, number) => `payer-${11 - number}`))
    expect(await names({ ...year, order: 'latest' })).toHaveLength(12)
  })
})
