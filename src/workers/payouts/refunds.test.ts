import { expect, it } from 'vitest'
import type { PlannedTransaction } from '../../core/payouts/ports/outgoing.ts'
import { formatRefund, parseRefund, type RefundReason } from '../../core/payouts/refunds.ts'
import { planRefund } from './refunds.ts'

const refused = { kind: 'refused', why: 'its surplus was refunded before, and each payment is refunded once' }
const cases: readonly (readonly [earlier: RefundReason, evenDelivered: boolean, kind: 'known' | 'refused'])[] = [
  ['surplus', false, 'known'],
  ['surplus', true, 'refused'],
  ['delivered', true, 'known'],
  ['delivered', false, 'known'],
  ['unclaimed', true, 'known'],
]

it.each([
  ['more', 8n],
  ['less', 3n],
])(
  'T248: a payment that was never claimed is refunded as it is on chain, also if that is %s than was seen',
  async (_, units) => {
    const payment = { state: 'unclaimed', request: '', units: 5n, token: 'SOL', payer: 'payer', recipient: 'wallet' }
    const planned: unknown[] = []
    const parts = {
      outgoing: {
        findByLockKey: async () => undefined,
        plan: async (plan: PlannedTransaction) => {
          planned.push(plan.refunds?.units, parseRefund(plan.about).units)
          return { kind: 'planned', transaction: {} }
        },
      },
      books: { history: async () => ({ payment, required: undefined }) },
      addresses: { sent: async () => ({ kind: 'sent', units }) },
      clock: { now: () => 0 },
      isPaused: async () => false,
      mintOf: () => null,
      sealer: { tag: 'tag' },
    }
    expect((await planRefund(parts as never, new Uint8Array(64))).kind).toBe('planned')
    expect(planned).toEqual([units, units])
  },
)

it('T242: no refund is ordered while the clock is wrong', async () => {
  const why = "the clock is 600 s ahead of the chain's time"
  const parts = { outgoing: { findByLockKey: async () => undefined }, clockCheck: { why: () => why } }
  expect(await planRefund(parts as never, new Uint8Array(64))).toEqual({ kind: 'refused', why })
})

it.each(cases)('after a refund as %s, one with evenDelivered: %s is %s', async (reason, evenDelivered, kind) => {
  const transaction = { about: formatRefund({ payment: 'tx', token: 'USDC', units: 1n, reason }) }
  const parts = { outgoing: { findByLockKey: async () => transaction } }
  const planning = await planRefund(parts as never, new Uint8Array(64), { evenDelivered })
  expect(planning).toEqual(kind === 'refused' ? refused : { kind, transaction })
})
