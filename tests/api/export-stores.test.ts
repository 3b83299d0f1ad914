/** Exports of what real stores hold: whatever an endpoint is called, the file says the same as the list. */
import { describe, expect, it } from 'vitest'
import { formatPayment, paymentColumns } from '../../src/api/analytics/format.ts'
import { createExports } from '../../src/api/exports/routes.ts'
import { readCell } from '../../src/core/encoding/csv.ts'
import { useDesk } from '../ledger/grants-fixture.ts'
import { createPayment, startOfTests, takeOf } from '../ledger/payments.ts'
import { stores } from '../ledger/stores.ts'
import { createShelf } from './fake-services.ts'

const names = [
  '=1+1',
  '/a;=1',
  '-x',
  '\u0000',
  '"',
  '🌦️',
  '/wetter/münchen',
  '\u202eمرحبا',
  'a\r\nb',
  "'",
  '@a',
  'x'.repeat(2_000),
]

describe.each(stores)('an export of the %s ledger', (_name, open) => {
  const fixture = useDesk(open)
  it('T137: has every payment of the list, the oldest first, and every sign of its endpoint', async () => {
    for (const [index, endpoint] of names.entries()) {
      const payment = createPayment({
        endpoint,
        paidAt: startOfTests - index * 1000,
        received: 2n ** 64n - 1n,
        worth: 10n ** 24n,
      })
      await fixture.grantOf(takeOf(payment))
    }
    const { books } = fixture.ledger
    if (!books) throw new Error('this ledger keeps no books')
    const silent = { info: () => {}, warn: () => {}, error: () => {} }
    const decimalsOf = () => 6
    const exports = createExports({
      books,
      kv: createShelf(fixture.clock),
      clock: fixture.clock,
      log: silent,
      key: new Uint8Array(32),
      decimalsOf,
      isOwner: () => true,
    })
    const ask = (format: string) =>
      exports.handle(new Request(`http://localhost/api/analytics/export?format=${format}`), 'owner')
    const list = await books.listPayments({ order: 'oldest', most: 100 })
    const wanted = list.map((capture) => formatPayment(capture, decimalsOf, 'USDC'))
    expect(wanted.map(({ endpoint }) => endpoint)).toEqual([...names].reverse())
    expect(wanted[0]).toMatchObject({ amount: '18446744073709.551615', worth: '1000000000000' })
    expect(await (await ask('json')).json()).toEqual(wanted)
    const { parseCsv } = await import('hucre/csv')
    const rows = parseCsv((await (await ask('csv')).text()).replace(/^\ufeff/, ''), { typeInference: false })
    expect(rows.map((row) => row.map((cell) => readCell(String(cell ?? ''))))).toEqual([
      [...paymentColumns],
      ...wanted.map((record) => Object.values(record)),
    ])
  })
})
