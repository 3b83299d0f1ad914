import { expect, it } from 'vitest'
import { createPayment, takeOf } from '../../../tests/ledger/payments.ts'
import { createReferenceLedger } from '../../../tests/ledger/reference/ledger.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { searchPayments, sumFound } from './search.ts'

it('sums a payment once whose payer and transaction begin with the same text', async () => {
  const { take, books } = createReferenceLedger({ clock: { now: () => 1_800_000_000_000, monotonic: () => 0 } })
  const payment = createPayment({ tx: new Uint8Array(64).fill(200) })
  const start = encodeBase58(payment.tx).slice(0, 4)
  const own = { ...payment, payer: `${start}-payer` }
  const other = createPayment({ payer: 'other', tx: new Uint8Array(64).fill(200, 0, 60) })
  for (const one of [own, other]) await take(takeOf(one))
  const parts = { books, cursors: { read: () => undefined }, nameOf: () => '', payerOf: () => '' }
  const query = { order: 'latest', most: 10 } as const
  const { payments, names } = await searchPayments(parts, query, start, true)
  expect(payments).toHaveLength(2)
  const sums = await sumFound(books, query, names)
  expect(sums.reduce((count, sum) => count + sum.payments, 0)).toBe(2)
})
