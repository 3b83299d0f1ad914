import { expect, it } from 'vitest'
import type { Sighting } from '../../core/ports/journal.ts'
import { listObservation, listPayment, mergeLists } from './payment-list.ts'

const seen = (at: number, last: number): Sighting => ({
  tx: new Uint8Array(64).fill(last),
  recipient: '',
  request: 'request',
  payer: '',
  token: 'SOL',
  received: 1n,
  slot: 1,
  paidAt: at,
  endpoint: '',
  claimableUntil: 0,
  required: undefined,
  payableUntil: 0,
})
const paid = (at: number, last: number) =>
  listPayment({
    ...seen(at, last),
    worth: undefined,
    allowance: { unit: 'request', amount: 1n },
    used: 1n,
    deliveries: 0n,
    positions: [],
    late: false,
    finality: 'confirmed',
  })
const unclaimed = (at: number, last: number) => listObservation(seen(at, last), false, 1)

it('two lists are merged in order, and a payment that was claimed between the reads has its current state', () => {
  const [one, other] = [
    [paid(9, 1), paid(5, 2)],
    [unclaimed(9, 0), unclaimed(9, 1), unclaimed(7, 1)],
  ]
  const merged = mergeLists(one, other, { order: 'latest', most: 9 })
  expect(merged.map(({ at, tx, state }) => [at, tx[0], state])).toEqual([
    [9, 1, 'confirmed'],
    [9, 0, 'unclaimed'],
    [5, 2, 'confirmed'],
  ])
  expect(mergeLists(one.toReversed(), [], { order: 'oldest', most: 1 }).map(({ at }) => at)).toEqual([5])
})
