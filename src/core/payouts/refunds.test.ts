import { describe, expect, it } from 'vitest'
import type { History, PaymentListItem } from '../payment/history.ts'
import { formatRefund, judgeRefund, listRefunds, parseRefund } from './refunds.ts'

const capture: PaymentListItem = {
  tx: new Uint8Array(64),
  at: 0,
  request: 'hash of a request',
  payer: 'hash of a payer',
  recipient: 'collector',
  endpoint: '/api',
  token: 'USDC',
  units: 100n,
  worth: undefined,
  status: 'confirmed',
  state: 'finalized',
  delivery: 'none',
}
const now = 1_000_000_000
const judge = (change: Partial<PaymentListItem>, facts: Partial<History> = {}) =>
  judgeRefund({ payment: { ...capture, ...change }, required: 100n, ...facts } as History, now)

describe('a refund', () => {
  it.each<readonly [string, Partial<PaymentListItem>, Partial<History>, object]>([
    ['a late payment', { state: 'late' }, {}, { reason: 'late', units: 100n, voids: true }],
    [
      'what nobody can match',
      { state: 'unclaimed', request: '' },
      {},
      { reason: 'unmatched', units: 100n, voids: true },
    ],
    ['too little', { state: 'unclaimed', units: 99n }, {}, { reason: 'underpaid', units: 99n, voids: true }],
    [
      'what nobody claimed for ten minutes, though it could still be claimed',
      { state: 'unclaimed', at: now - 600_001 },
      { claimableUntil: now + 86_400_000 },
      { reason: 'unclaimed', units: 100n, voids: true },
    ],
    ['what brought nothing, and then it buys nothing', {}, {}, { reason: 'undelivered', units: 100n, voids: true }],
    [
      'what was too much, and no more',
      { units: 130n, delivery: 'all' },
      {},
      { reason: 'surplus', units: 30n, voids: false },
    ],
    ['all of a surplus that brought nothing', { units: 130n }, {}, { reason: 'undelivered', units: 130n, voids: true }],
  ])('is possible of %s', (_what, change, facts, ruling) => {
    expect(judge(change, facts)).toMatchObject({ kind: 'refundable', ...ruling })
  })
  it.each<readonly [string, Partial<PaymentListItem>, Partial<History>, string]>([
    ['was taken back by the chain', { state: 'reverted' }, {}, 'the chain reverted the payment'],
    ['is not final', { state: 'confirmed' }, {}, 'is not final yet'],
    ['was just made', { state: 'unclaimed', at: now - 600_000 }, {}, 'can still claim the payment'],
    ['is not on chain', { state: 'unclaimed', at: 0, fault: 'not_on_chain' }, {}, 'is not on chain yet'],
    ['was delivered', { delivery: 'all' }, {}, 'was delivered'],
    ['was delivered in part', { delivery: 'some' }, {}, 'was delivered'],
  ])('is refused of a payment that %s', (_what, change, facts, why) => {
    expect(judge(change, facts)).toMatchObject({ kind: 'refused', why: expect.stringContaining(why) })
  })
  it('that is refused while the payer can claim names the time from which it is possible', () => {
    const from = Date.UTC(2026, 11, 3, 13, 41)
    const payment = { ...capture, state: 'unclaimed', at: from - 600_000 } as const
    expect(judgeRefund({ payment, required: 100n }, from)).toEqual({
      kind: 'refused',
      why: 'the payer can still claim the payment; try again after 2026-12-03T13:41:00.000Z',
      from,
    })
    expect(judgeRefund({ payment, required: 100n }, from + 1).kind).toBe('refundable')
  })
  it.each<readonly [string, Partial<PaymentListItem>, string[]]>([
    ['was delivered', { delivery: 'all' }, ['delivered 100']],
    ['was delivered in part', { delivery: 'some' }, ['delivered 100']],
    ['was delivered and has a surplus', { delivery: 'all', units: 130n }, ['surplus 30', 'delivered 130']],
    ['brought nothing', {}, ['undelivered 100']],
    ['came too late', { state: 'late' }, ['late 100']],
    ['was taken back by the chain', { state: 'reverted' }, ['the chain reverted the payment']],
    ['is not final', { state: 'confirmed', delivery: 'all' }, ['the payment is not final yet; try again in a minute']],
  ])('has these choices for a payment that %s', (_what, change, choices) => {
    const payment = { ...capture, ...change }
    const rulings = listRefunds({ payment, required: 100n }, now)
    expect(rulings.map((one) => (one.kind === 'refused' ? one.why : `${one.reason} ${one.units}`))).toEqual(choices)
  })
  it('of a delivered payment is made only on request, and voids the rest of it', () => {
    const payment = { ...capture, delivery: 'some' } as const
    expect(judgeRefund({ payment, required: 100n }, now)).toMatchObject({ kind: 'refused' })
    expect(judgeRefund({ payment, required: 100n }, now, { evenDelivered: true })).toEqual({
      ...{ kind: 'refundable', reason: 'delivered', units: 100n, voids: true, coversUse: true },
    })
    const late = { ...capture, state: 'late' } as const
    expect(judgeRefund({ payment: late, required: 100n }, now, { evenDelivered: true })).toMatchObject({
      coversUse: false,
    })
  })
  it('is kept as text', () => {
    const facts = { payment: 'tx', token: 'SOL', units: 10n ** 19n, reason: 'late' } as const
    expect(parseRefund(formatRefund(facts))).toEqual(facts)
  })
})
