/** What was shared out of payments and sent back, in every export of every store, and what it costs to look up. */
import { readXlsx } from 'hucre/xlsx'
import { describe, expect, it } from 'vitest'
import { paymentColumns } from '../../src/api/analytics/format.ts'
import type { Outgoing } from '../../src/api/analytics/records.ts'
import { readOutgoing, readWentOut } from '../../src/api/analytics/records.ts'
import { createExports } from '../../src/api/exports/routes.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { OutgoingTransaction } from '../../src/core/payouts/ports/outgoing.ts'
import { formatRefund, formatRefundLockKey } from '../../src/core/payouts/refunds.ts'
import type { PaymentRecord } from '../../src/core/ports/ledger.ts'
import { useDesk } from '../ledger/grants-fixture.ts'
import {
  accrualOf,
  accrue,
  bytes,
  dispatchesOf,
  plannedBy,
  planOf,
  rewardsOf,
  signedBy,
} from '../ledger/payables-fixture.ts'
import { createPayment, startOfTests, takeOf } from '../ledger/payments.ts'
import { stores } from '../ledger/stores.ts'
import { createBooks, createHandClock, createShelf } from './fake-services.ts'

const log = { info: () => {}, warn: () => {}, error: () => {} }
const decimalsOf = (token: string) => (token === 'NATIVE' ? 9 : 6)
const key = new Uint8Array(32)
const address = 'http://localhost/api/analytics/export'
const outColumns = ['shared', 'refundedAt', 'refundTx', 'refunded', 'revenue'] as const

describe.each(stores)('an export of the %s ledger', (_name, open) => {
  const fixture = useDesk(open)
  const exportsOf = () => {
    const { ledger, clock } = fixture
    const parts = { books: fixture.books(), outgoing: readOutgoing(ledger), kv: createShelf(clock), clock, log, key }
    return createExports({ ...parts, decimalsOf, isOwner: () => true })
  }
  const refunded = async ({ tx }: PaymentRecord, until: 'planned' | 'signed' | 'landed' | 'dropped') => {
    const outgoing = dispatchesOf(fixture.ledger)
    const payment = encodeBase58(tx)
    const about = formatRefund({ payment, token: 'USDC', units: 4_000n, reason: 'surplus' })
    const plan = planOf({ id: `r-${until}`, kind: 'refund', lockKey: formatRefundLockKey(payment), about })
    const transaction = plannedBy(await outgoing.plan(plan))
    const must = (next: OutgoingTransaction | undefined): OutgoingTransaction => next ?? expect.fail()
    if (until === 'planned') return transaction
    if (until === 'dropped') return must(await outgoing.drop(transaction.id, 1, 'no'))
    const signed = signedBy(await outgoing.sign(transaction.id, 1, { ...bytes, signature: `tx-${until}` }))
    fixture.clock.advance(5_000)
    return until === 'signed' ? signed : must(await outgoing.land(signed.id, signed.version, 7))
  }

  it('has the rewards and refunds of each payment after all other columns, as CSV, JSON and XLSX', async () => {
    const all: PaymentRecord[] = []
    for (let index = 0; index < 7; index += 1) {
      const payment = createPayment({ paidAt: startOfTests - 100_000 + index * 1_000 })
      await fixture.grantOf(takeOf(payment))
      all.push(payment)
    }
    const [plain, shared, unshared, planned, signed, landed, dropped] = all as [
      ...[PaymentRecord, PaymentRecord, PaymentRecord, PaymentRecord, PaymentRecord, PaymentRecord, PaymentRecord],
    ]
    await accrue(
      rewardsOf(fixture.ledger),
      accrualOf({ 'partner:p': 2n ** 63n, 'developer:d': 2n ** 63n - 1n }, { tx: shared.tx }),
      accrualOf({}, { tx: unshared.tx, why: 'insider' }),
      accrualOf({ 'partner:p': 1n }, { tx: landed.tx }),
    )
    await refunded(planned, 'planned')
    await refunded(signed, 'signed')
    await refunded(dropped, 'dropped')
    const { changedAt } = await refunded(landed, 'landed')
    const none = ['', '', '', '', '0.01']
    const wanted = new Map([
      [plain, none],
      [shared, ['18446744073.709551615', '', '', '', '0.01']],
      [unshared, ['0', '', '', '', '0.01']],
      [planned, none],
      [signed, none],
      [landed, ['0.000000001', new Date(changedAt).toISOString(), 'tx-landed', '0.004', '0.006']],
      [dropped, none],
    ])
    const exports = exportsOf()
    const ask = (format: string, owner = 'owner') =>
      exports.handle(new Request(`${address}?format=${format}`), owner).then((response) => response.arrayBuffer())
    const lines = new TextDecoder()
      .decode(await ask('csv'))
      .trimEnd()
      .split('\r\n')
    const csv = lines.map((line) => line.split(','))
    expect(paymentColumns.slice(-6)).toEqual(['tx', ...outColumns])
    expect(csv[0]?.slice(-5)).toEqual([...outColumns])
    const rows = [...wanted].map(([{ tx }, cells]) => [encodeBase58(tx), ...cells])
    expect(csv.slice(1).map((row) => row.slice(-6))).toEqual(rows)
    const json = JSON.parse(new TextDecoder().decode(await ask('json'))) as Record<string, string>[]
    expect(json.map((record) => [record['tx'], ...outColumns.map((name) => record[name])])).toEqual(rows)
    const [sheet] = (await readXlsx(new Uint8Array(await ask('xlsx')))).sheets
    expect(sheet?.rows.slice(1).map((row) => paymentColumns.map((_, index) => row[index] ?? '').slice(-6))).toEqual(
      rows,
    )
    // A refund leads to who paid as the payment does: who is not signed in gets neither.
    const open = new TextDecoder().decode(await ask('csv', ''))
    expect(open.split('\r\n')[0]).toMatch(/,recipient,splits,collected,shared,refundedAt,refunded,revenue$/)
    expect(open).not.toContain('tx-landed')
  })
})

describe('outgoing transactions', () => {
  function setUp(count: number, change: Partial<Outgoing['rewards']> = {}) {
    const asked: number[] = []
    const outgoing: Outgoing = {
      rewards: {
        shared: async (txs) => {
          asked.push(txs.length)
          return txs.map(() => undefined)
        },
        ...change,
      },
      transactions: {
        findByLockKeys: async (lanes) => {
          asked.push(lanes.length)
          return lanes.map(() => undefined)
        },
      },
    }
    const clock = createHandClock()
    const { books } = createBooks(count)
    const exports = createExports({
      books,
      outgoing,
      kv: createShelf(clock),
      clock,
      log,
      key,
      decimalsOf,
      isOwner: () => true,
    })
    return { asked, outgoing, ask: () => exports.handle(new Request(address), 'owner') }
  }

  it('is looked up twice for a page, however many rows it has, and not for none', async () => {
    const { asked, ask } = setUp(2_500)
    expect((await (await ask()).text()).split('\r\n')).toHaveLength(2_502)
    expect(asked).toEqual([1_000, 1_000, 1_000, 1_000, 500, 500])
    const empty = setUp(0)
    expect(await readWentOut({ outgoing: empty.outgoing }, [])).toEqual([])
    expect(empty.asked).toEqual([])
  })

  it('that cannot be read breaks the export off before it begins', async () => {
    const { ask } = setUp(1, {
      shared: async () => {
        throw new Error('the store is gone')
      },
    })
    await expect(ask()).rejects.toThrow('the store is gone')
  })
})
