import { describe, expect, it } from 'vitest'
import type { Taken } from '../../core/ports/ledger.ts'
import { type Admission, admit, isRepeatable } from './admit.ts'
import type { Claim } from './verify-on-chain.ts'

const nowMs = 1_000_000_000
const grant = { tx: new Uint8Array(64), fence: 2n, from: 0n, amount: 1n }
const earlier = {
  kind: 'admitted',
  grant: { ...grant, fence: 1n },
  remaining: 9n,
  allowance: { unit: 'request', amount: 10n },
  request: 'name',
  isRepeatable: true,
  first: true,
} as unknown as Admission

/** Presents a proof whose requestId is not sealed: only an earlier admission can admit it. */
function present(taken: Taken, ts?: number) {
  const taking: unknown[] = []
  const ledger = {
    take: async (order: unknown) => {
      taking.push(order)
      return taken
    },
  }
  const runtime = {
    clock: { now: () => nowMs, monotonic: () => 0 },
    clockCheck: { aheadMs: () => 0, isConfirmed: () => true },
    meter: { observe: () => {} },
    trace: { span: (_name: string, _facts: object, work: (note: () => void) => unknown) => work(() => {}) },
    ledger,
  }
  const route = { config: { scope: 'scope', leaseMs: 1_000 } }
  const proof = { txBytes: grant.tx, requestId: '!', ...(ts !== undefined && { ts }) }
  return { taking, outcome: admit({ routeRuntime: { runtime, route }, proof } as unknown as Claim, earlier) }
}

describe('T191: a recent admission of the same request', () => {
  it('takes one more use from the ledger', async () => {
    const { taking, outcome } = present({ kind: 'granted', grant, remaining: 3n })
    expect(await outcome).toMatchObject({ kind: 'admitted', grant, remaining: 3n, first: false })
    expect(taking).toEqual([{ tx: grant.tx, request: 'name', leaseMs: 1_000, amount: 1n }])
  })

  it.each(['spent', 'busy', 'foreign', 'unknown'] as const)(
    'admits nothing if the ledger says %s: all checks run again',
    async (kind) => {
      expect(await present({ kind }).outcome).toMatchObject({ kind: 'refused', code: 'unknown_request' })
    },
  )

  it.each([
    [0, 'admitted'],
    [-300, 'admitted'],
    [300, 'admitted'],
    [-301, 'refused'],
    [301, 'refused'],
  ])('signed %i seconds from now is %s', async (seconds, kind) => {
    const { outcome } = present({ kind: 'granted', grant, remaining: 3n }, nowMs / 1000 + seconds)
    expect((await outcome).kind).toBe(kind)
  })
})

it.each<[string, object, 'bare' | 'claim' | 'sig', boolean]>([
  ['a claim', {}, 'claim', true],
  ['a signature', {}, 'sig', true],
  ['a signature of the payer', { proof: { payer: 'a', signer: 'a' } }, 'sig', true],
  ['a signature for the payer', { proof: { payer: 'a', signer: 'b' } }, 'sig', false],
  ['a bare proof', {}, 'bare', false],
  ['a payment of another protocol', { via: {} }, 'claim', false],
])('an admission by %s', (_name, claim, kind, isExpected) => {
  const given = { proof: { payer: 'a' }, ...claim } as unknown as Claim
  expect(isRepeatable(given, { proof: kind })).toBe(isExpected)
})
