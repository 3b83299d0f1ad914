import { expect, it } from 'vitest'
import type { Sighting } from '../../core/ports/journal.ts'
import type { Problem } from '../../core/ports/reports.ts'
import { mergeProblems, readProblem } from './problems.ts'

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

it('lists are merged, the latest first, and a payment that was claimed between the reads has its current state', () => {
  const unclaimed = (at: number, last: number) => readProblem(seen(at, last), 'unclaimed', 1)
  const late = (at: number, last: number): Problem => ({ ...unclaimed(at, last), kind: 'late' })
  const merged = mergeProblems([[late(5, 1)], [unclaimed(9, 2), unclaimed(5, 1), unclaimed(5, 0)]], 3)
  expect(merged.map(({ kind, payment }) => [kind, payment.at, payment.tx[0]])).toEqual([
    ['unclaimed', 9, 2],
    ['late', 5, 1],
    ['unclaimed', 5, 0],
  ])
  expect(mergeProblems([merged], 1)).toHaveLength(1)
})
