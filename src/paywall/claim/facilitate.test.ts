import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimits } from '../../core/collections/limits.ts'
import { createTurns } from '../../core/collections/turns.ts'
import { decodeSignature, encodeBase58 } from '../../core/encoding/base58.ts'
import { token2022Program } from '../../core/money/tokens.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { type Ledger, LedgerUnavailable } from '../../core/ports/ledger.ts'
import type { SentState, SubmittedTransaction } from '../../core/ports/sponsor.ts'
import { createPseudonyms } from '../../core/protocol/pseudonyms.ts'
import { createSealer } from '../../host/keys/seal.ts'
import { openLedger } from '../../ledger/open.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { createFacilitator, nameReason } from './facilitate.ts'

const wallet = (index: number) => encodeBase58(new Uint8Array(32).fill(index))
const [payTo, payer, feePayer, asset, destination] = [1, 2, 3, 4, 5].map(wallet) as [
  string,
  string,
  string,
  string,
  string,
]
const tx = encodeBase58(new Uint8Array(64).fill(9))
const fee = 10_001n
const noRates = { current: () => ({}) }

const transaction: SubmittedTransaction = {
  bytes: new Uint8Array(100),
  message: new Uint8Array(32).fill(7),
  feePayer,
  signature: undefined,
  payer,
  transfers: [{ asset, destination, authority: payer, units: 10n }],
  memos: [],
  blockhash: wallet(6),
  fee,
}
const payment = { transaction: transaction.bytes, payTo, asset, units: 10n, feePayer, memo: undefined }
const call = { payment, address: '192.0.2.1' }
const pending = { kind: 'refused', refusal: { code: 'settlement_pending' }, tx, payer }

const ledgers: Ledger[] = []
afterEach(async () => {
  for (const ledger of ledgers.splice(0)) await ledger.close()
})

/** A facilitator on a real ledger and a chain that says what it is told to say. */
async function begin({ network = 'localnet', leastPrice = 0n } = {}) {
  let passedMs = 0
  const clock = { now: () => 1_700_000_000_000 + passedMs, monotonic: () => passedMs }
  const identity = { network: 'localnet', service: 'default', fingerprint: 'f' } as const
  const ledger = await openLedger('memory:', { clock, identity })
  ledgers.push(ledger)
  const chain = {
    /** How the chain reads the transaction. */
    reading: { kind: 'missing' } as object,
    state: 'open' as SentState,
    posting: { kind: 'posted' } as object,
    isOffering: true,
    tokenProgram: wallet(8),
    inspection: { kind: 'unknown', why: 'silence' } as object,
  }
  const send = vi.fn(async () => chain.posting)
  const read = vi.fn(async (..._call: Parameters<Runtime['chain']['read']>): Promise<object> => chain.reading)
  const simulate = vi.fn(async () => ({ kind: 'succeeds' }))
  const sign = vi.fn(async () => ({ kind: 'signed', wire: new Uint8Array(100), signature: tx }))
  const faults = { put: false, close: false }
  const fail = () => Promise.reject(new LedgerUnavailable('down'))
  const runtime = {
    clock,
    openLimits: () => createLimits(clock),
    config: { network },
    log: { info: () => {}, warn: () => {}, error: () => {} },
    ledger: {
      ...ledger,
      kv: {
        ...ledger.kv,
        put: (...put: Parameters<typeof ledger.kv.put>) => (faults.put ? fail() : ledger.kv.put(...put)),
      },
      submissions: {
        ...ledger.submissions,
        close: (...close: Parameters<typeof ledger.submissions.close>) =>
          faults.close ? fail() : ledger.submissions.close(...close),
      },
    },
    sealer: createSealer(new Uint8Array(32)),
    pseudonyms: createPseudonyms(new Uint8Array(32)),
    encodeWire: () => 'wire',
    payerTurns: createTurns(),
    submitter: {
      start: async () => {},
      recent: () => ({ slot: 1 }),
      // The first byte tells transactions apart.
      read: (bytes: Uint8Array) => ({
        kind: 'submitted',
        transaction: { ...transaction, bytes, message: new Uint8Array(32).fill(bytes[0] ?? 0) },
      }),
      simulate,
      send,
      readState: async () => chain.state,
    },
    chain: { read, watch: () => {} },
    tokenAccountOf: async () => destination,
    prepareRecipient: async () => {},
    inspect: async () => chain.inspection,
    openSponsor: () => ({
      current: () => ({ address: feePayer, sign }),
      isOffering: () => chain.isOffering,
      problem: () => undefined,
      ready: async () => {},
      rest: () => {},
    }),
  } as unknown as Runtime
  const limits = { perDay: 10n * fee, lostPerDay: 10n * fee, failuresPerPayer: 3, failuresPerClient: 10 }
  const sponsor = { key: undefined, floor: 0n, leastPrice, limits }
  const mints = () => ({ USDC: { address: asset, decimals: 6, tokenProgram: chain.tokenProgram } })
  const facilitator = createFacilitator({ runtime, config: { payTo: [payTo], sponsor }, mints, rates: noRates })
  const pass = (ms: number): void => {
    passedMs += ms
  }
  return { facilitator, chain, faults, ledger, send, sign, read, simulate, pass }
}

const effectOf = (owner: string, credited: bigint) => ({
  failed: false,
  transfers: [{ asset, destination, destinationOwner: owner, sourceOwner: payer, authority: payer, units: 10n }],
  holdings: [{ asset, account: destination, ownerBefore: owner, ownerAfter: owner, before: 0n, after: credited }],
})
const landed = { kind: 'found', effect: effectOf(payTo, 10n) }
const settled = { kind: 'settled', payer, tx }

describe('a transaction with an open outcome', () => {
  it('is pending, and the next call continues it with the recorded bytes', async () => {
    const { facilitator, chain, send, sign, ledger } = await begin()
    expect(await facilitator.settle(call)).toMatchObject(pending)
    expect(await facilitator.settle(call)).toMatchObject(pending)
    expect([sign.mock.calls.length, send.mock.calls.length]).toEqual([1, 2])
    expect(await facilitator.verify(call)).toEqual({ kind: 'valid', payer })
    chain.reading = landed
    expect(await facilitator.settle(call)).toEqual(settled)
    expect(await ledger.submissions.sums(0)).toEqual({ spent: fee, lost: 0n, open: 0n })
  })

  it.each([
    ['paid another wallet', effectOf(payer, 10n)],
    ['paid too little', effectOf(payTo, 9n)],
    ['failed', { ...effectOf(payTo, 0n), failed: true }],
  ])('T206: is not refused because an old reading says that it %s', async (_name, old) => {
    const { facilitator, read } = await begin()
    read.mockImplementationOnce(async (...[, , { isEnough } = {}]: Parameters<Runtime['chain']['read']>) =>
      isEnough?.(old as unknown as Effect) === false ? landed : { kind: 'found', effect: old },
    )
    expect(await facilitator.settle(call)).toEqual(settled)
  })

  it('is pending if no node answers, or the nodes contradict each other', async () => {
    const { facilitator, chain } = await begin()
    for (const kind of ['unavailable', 'disagreement']) {
      chain.reading = { kind, why: 'silence' }
      expect(await facilitator.settle(call)).toMatchObject(pending)
    }
  })

  it('is pending if the node refuses to send it, because the node may have forwarded it', async () => {
    const { facilitator, chain } = await begin()
    chain.posting = { kind: 'rejected', why: 'no' }
    expect(await facilitator.settle(call)).toMatchObject(pending)
    chain.reading = landed
    expect(await facilitator.settle(call)).toEqual(settled)
  })

  it('is over for good when it can no longer land, and costs nothing', async () => {
    const { facilitator, chain, ledger } = await begin()
    chain.state = 'expired'
    const expired = { kind: 'refused', refusal: { code: 'payment_expired' } }
    expect(await facilitator.settle(call)).toMatchObject(expired)
    chain.reading = landed
    expect(await facilitator.settle(call)).toMatchObject(expired)
    expect(await facilitator.verify(call)).toMatchObject(expired)
    expect(await ledger.submissions.sums(0)).toEqual({ spent: 0n, lost: 0n, open: 0n })
  })
})

it('T200: a transaction that failed stays open until that is final, because it can land on another fork', async () => {
  const { facilitator, chain, ledger } = await begin()
  chain.reading = { kind: 'found', effect: { failed: true } }
  const failed = { kind: 'refused', refusal: { code: 'tx_failed' }, tx }
  expect(await facilitator.settle(call)).toMatchObject(failed)
  expect(await ledger.submissions.sums(0)).toEqual({ spent: 0n, lost: 0n, open: fee })
  chain.reading = landed
  expect(await facilitator.settle(call)).toEqual(settled)
  expect(await ledger.submissions.sums(0)).toEqual({ spent: fee, lost: 0n, open: 0n })
})

it('T200: a seller does not begin its work for a transaction that failed, unless its block is dropped', async () => {
  const { facilitator, chain } = await begin()
  const failure = { kind: 'found', effect: { failed: true } }
  chain.reading = failure
  await facilitator.settle(call)
  for (const [reading, kind] of [
    [failure, 'refused'],
    [{ kind: 'missing' }, 'valid'],
    [landed, 'valid'],
  ] as const) {
    chain.reading = reading
    expect((await facilitator.verify(call)).kind).toBe(kind)
  }
})

it('a transaction whose failure is recorded stays refused', async () => {
  const { facilitator, chain, ledger } = await begin()
  expect(await facilitator.settle(call)).toMatchObject(pending)
  await ledger.submissions.close(decodeSignature(tx) as Uint8Array, 'failed', fee)
  chain.reading = landed
  expect(await facilitator.settle(call)).toMatchObject({ kind: 'refused', refusal: { code: 'tx_failed' }, tx })
})

it.each([
  ['after a fee of the mint', effectOf(payTo, 9n)],
  ['at an account that belongs to another wallet', effectOf(wallet(12), 10n)],
])('T8, T33: a payment that did not arrive is no success: %s', async (_name, effect) => {
  const { facilitator, chain } = await begin()
  chain.reading = { kind: 'found', effect }
  const short = { kind: 'refused', refusal: { code: 'underpaid' }, tx }
  for (let turn = 0; turn < 2; turn += 1) expect(await facilitator.settle(call)).toMatchObject(short)
})

describe('an outage of the ledger after the record', () => {
  it('leaves the outcome open while no success can be reported', async () => {
    const { facilitator, chain, faults } = await begin()
    chain.reading = landed
    faults.put = true
    expect(await facilitator.settle(call)).toMatchObject(pending)
    faults.put = false
    expect(await facilitator.settle(call)).toEqual(settled)
  })

  it('does not hide a reported success', async () => {
    const { facilitator, chain, faults } = await begin()
    chain.reading = landed
    faults.close = true
    expect(await facilitator.settle(call)).toEqual(settled)
    const again = { kind: 'refused', refusal: { code: 'payment_replay' }, tx }
    expect(await facilitator.settle(call)).toMatchObject(again)
  })
})

it('is reported once, also while its record outlives the report', async () => {
  const { facilitator, chain, pass } = await begin()
  chain.reading = landed
  expect(await facilitator.settle({ ...call, key: 'k' })).toEqual(settled)
  // The worker deletes records once an hour.
  pass(40 * 24 * 3_600_000 + 1_800_000)
  const again = { kind: 'refused', refusal: { code: 'payment_replay' } }
  expect(await facilitator.verify(call)).toMatchObject(again)
  expect(await facilitator.settle(call)).toMatchObject(again)
})

describe('two payments of one wallet', () => {
  const other = { ...call, payment: { ...payment, transaction: new Uint8Array(100).fill(1) } }

  it('are simulated one after the other, when the first has landed', async () => {
    const { facilitator, chain, read, simulate } = await begin()
    let land: () => void = () => {}
    read.mockImplementationOnce(() => new Promise((resolve) => (land = () => resolve(landed))))
    const first = facilitator.settle(call)
    await vi.waitFor(() => expect(read).toHaveBeenCalled())
    chain.reading = { kind: 'found', effect: { failed: true } }
    const second = facilitator.settle(other)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(simulate).toHaveBeenCalledTimes(1)
    land()
    expect(await first).toEqual(settled)
    await second
    expect(simulate).toHaveBeenCalledTimes(2)
  })

  it('the second is not sent if it has waited too long: its caller may have given up', async () => {
    const { facilitator, read, sign, pass } = await begin()
    let land: () => void = () => {}
    read.mockImplementationOnce(() => new Promise((resolve) => (land = () => resolve(landed))))
    const first = facilitator.settle(call)
    await vi.waitFor(() => expect(read).toHaveBeenCalled())
    const second = facilitator.settle(other)
    await new Promise((resolve) => setTimeout(resolve, 0))
    pass(10_001)
    land()
    expect(await first).toEqual(settled)
    expect(await second).toMatchObject({ kind: 'refused', refusal: { code: 'rate_limited' } })
    expect(sign).toHaveBeenCalledTimes(1)
  })

  it('a repetition of the first gets its answer, however long it has waited', async () => {
    const { facilitator, read, pass } = await begin()
    let land: () => void = () => {}
    read.mockImplementationOnce(() => new Promise((resolve) => (land = () => resolve(landed))))
    const calls = [facilitator.settle({ ...call, key: 'k' }), facilitator.settle({ ...call, key: 'k' })]
    await vi.waitFor(() => expect(read).toHaveBeenCalled())
    pass(10_001)
    land()
    expect(await Promise.all(calls)).toEqual([settled, settled])
  })
})

describe('a mint of Token-2022', () => {
  const seen = (mint: object) => ({ kind: 'seen', tokens: { USDC: { mint } } })
  const withFees = (...fees: readonly object[]) => seen({ kind: 'mint', traits: { fees } })

  it.each([
    ['cannot be read', { kind: 'unknown', why: 'silence' }, 'chain_unavailable'],
    ['does not exist', seen({ kind: 'absent' }), 'wrong_mint'],
    ['takes a fee', withFees({ basisPoints: 1, maximum: 1n }), 'wrong_mint'],
  ])('that %s is refused before the sponsor signs', async (_name, inspection, code) => {
    const { facilitator, chain, sign } = await begin()
    Object.assign(chain, { tokenProgram: token2022Program, inspection })
    expect(await facilitator.verify(call)).toMatchObject({ kind: 'refused', refusal: { code } })
    expect(await facilitator.settle(call)).toMatchObject({ kind: 'refused', refusal: { code } })
    expect(sign).not.toHaveBeenCalled()
  })

  it('without a fee is settled', async () => {
    const { facilitator, chain } = await begin()
    Object.assign(chain, { tokenProgram: token2022Program, inspection: withFees(), reading: landed })
    expect(await facilitator.settle(call)).toEqual(settled)
  })
})

it('a sponsor that pays no fees is asked for no signature', async () => {
  const { facilitator, chain, sign } = await begin()
  chain.isOffering = false
  expect(await facilitator.verify(call)).toMatchObject({ kind: 'refused', refusal: { code: 'sponsor_exhausted' } })
  expect(await facilitator.settle(call)).toMatchObject({ kind: 'refused', refusal: { code: 'sponsor_exhausted' } })
  expect(sign).not.toHaveBeenCalled()
})

it('reasons are those of the reference implementation, and outages are named by endpoint', () => {
  const refusal = (code: 'underpaid' | 'chain_unavailable' | 'rate_limited') => ({ kind: 'refused', code }) as const
  expect(nameReason('verify', refusal('underpaid'), undefined)).toBe('invalid_exact_svm_payload_amount_mismatch')
  expect(nameReason('verify', refusal('chain_unavailable'), undefined)).toBe('unexpected_verify_error')
  expect(nameReason('settle', refusal('chain_unavailable'), undefined)).toBe('unexpected_settle_error')
  expect(nameReason('settle', refusal('chain_unavailable'), tx)).toBe('settlement_pending')
  expect(nameReason('settle', refusal('rate_limited'), undefined)).toBe('rate_limited')
})

it.each([
  ['mainnet', 1n, 'refused'],
  ['mainnet', 0n, 'valid'],
  ['devnet', 1n, 'valid'],
])('without a rate of SOL, on %s with the least price %s, a payment is %s', async (network, leastPrice, kind) => {
  const { facilitator, sign } = await begin({ network, leastPrice })
  expect(await facilitator.verify(call)).toMatchObject({
    kind,
    ...(kind === 'refused' && { refusal: { code: 'not_priced' } }),
  })
  expect(sign).not.toHaveBeenCalled()
})
