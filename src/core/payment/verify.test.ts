import { describe, expect, it } from 'vitest'
import { type Effect, judge, type Quote, type TokenHolding, type Transfer } from './verify.ts'

const quote: Quote = {
  requestId: 'rid',
  recipient: 'R',
  options: [
    { token: 'USDC', asset: 'mint', decimals: 6, units: 100n, destination: 'R-ata' },
    { token: 'SOL', asset: 'SOL', decimals: 9, units: 900n, destination: 'R' },
  ],
  notAfter: 2000,
}

const transfer = (change: Partial<Transfer> = {}): Transfer => ({
  asset: 'mint',
  destination: 'R-ata',
  destinationOwner: 'R',
  sourceOwner: 'P',
  authority: 'P',
  units: 100n,
  signers: ['P'],
  memos: ['rid'],
  ...change,
})
const holding = (change: Partial<TokenHolding> = {}): TokenHolding => ({
  asset: 'mint',
  account: 'R-ata',
  ownerBefore: 'R',
  ownerAfter: 'R',
  before: 0n,
  after: 100n,
  ...change,
})
const effect = (change: Partial<Effect> = {}): Effect => ({
  signature: 'S',
  slot: 1,
  blockTime: 1500,
  failed: false,
  feePayer: 'P',
  fee: 5n,
  memos: ['rid'],
  transfers: [transfer()],
  holdings: [holding()],
  ...change,
})
const solTransfer = transfer({ asset: 'SOL', destination: 'R', units: 900n })
const solHolding = holding({ asset: 'SOL', account: 'R', before: 50n, after: 950n })
const payer = { address: 'P' }

describe('judge', () => {
  it.each<[string, Partial<Effect>, bigint]>([
    ['the exact price', {}, 100n],
    [
      'T46: more than the price',
      { transfers: [transfer({ units: 150n })], holdings: [holding({ after: 150n })] },
      150n,
    ],
    ['T15: two halves in one transaction', { transfers: [transfer({ units: 50n }), transfer({ units: 50n })] }, 100n],
    ['T28: one of several memos', { transfers: [transfer({ memos: ['other', 'rid', 'more'] })] }, 100n],
    ['SOL', { transfers: [solTransfer], holdings: [solHolding] }, 900n],
    ['T59: a payment that looks earlier than the challenge', { blockTime: 1 }, 100n],
    [
      'T21: SOL where the recipient paid the fee',
      { transfers: [solTransfer], holdings: [{ ...solHolding, after: 945n }], feePayer: 'R' },
      900n,
    ],
    ['a token account that did not exist before', { holdings: [holding({ ownerBefore: undefined })] }, 100n],
  ])('takes %s', (_what, change, received) => {
    expect(judge(effect(change), quote, payer)).toMatchObject({ kind: 'paid', received, payer: 'P' })
  })

  it.each<[string, string, Partial<Effect>]>([
    ['tx_failed', 'T1: a failed transaction', { failed: true }],
    ['memo_mismatch', 'T22: no memo', { memos: [] }],
    [
      'memo_mismatch',
      'T22: a memo that only contains it',
      { transfers: [transfer({ memos: ['xrid', 'rid\0', 'RID', 'rid '] })] },
    ],
    ['memo_mismatch', 'T173: a memo that belongs to another transfer', { transfers: [transfer({ memos: [] })] }],
    [
      'underpaid',
      'T173: two halves, one of which the memo does not belong to',
      { transfers: [transfer({ units: 50n }), transfer({ units: 50n, memos: ['other'] })] },
    ],
    ['underpaid', 'T45: one unit less', { transfers: [transfer({ units: 99n })], holdings: [holding({ after: 99n })] }],
    ['underpaid', 'T10: money taken back', { holdings: [holding({ after: 0n })] }],
    [
      'underpaid',
      'T10: money taken back from another account of the recipient',
      { holdings: [holding(), holding({ account: 'R-aux', before: 100n, after: 0n })] },
    ],
    ['underpaid', 'T33: a transfer fee', { holdings: [holding({ after: 99n })] }],
    [
      'underpaid',
      'T164: money of a stranger',
      { transfers: [transfer({ units: 1n }), transfer({ authority: 'X', units: 99n })] },
    ],
    ['underpaid', 'an account signed away in the same transaction', { holdings: [holding({ ownerAfter: 'X' })] }],
    ['payer_mismatch', 'T39: another payer', { transfers: [transfer({ authority: 'Q' })] }],
    ['self_payment', 'T12: from the recipient to itself', { transfers: [transfer({ sourceOwner: 'R' })] }],
    [
      'wrong_recipient',
      'T8: the token account belongs to another',
      { transfers: [transfer({ destinationOwner: 'X' })] },
    ],
    [
      'wrong_recipient',
      'T3: to a stranger',
      { transfers: [transfer({ destination: 'X-ata', destinationOwner: 'X' })] },
    ],
    ['wrong_destination', 'T7: another account of the recipient', { transfers: [transfer({ destination: 'R-aux' })] }],
    ['wrong_mint', 'T4: another mint', { transfers: [transfer({ asset: 'other', destination: 'R-other' })] }],
    ['no_transfer', 'T17, T37: gain without a transfer', { transfers: [] }],
    ['unsupported_transfer', 'T35: a secret amount', { transfers: [transfer({ units: undefined })] }],
  ])('refuses with %s %s', (code, _what, change) => {
    expect(judge(effect(change), quote, payer)).toMatchObject({ kind: 'refused', code })
  })

  it('T12: refuses a recipient that pays itself', () => {
    const own = effect({ transfers: [transfer({ authority: 'R', sourceOwner: 'X' })] })
    expect(judge(own, quote, { address: 'R' })).toMatchObject({ code: 'self_payment' })
  })

  it('T16: does not add up two tokens, and speaks of the one that fell short', () => {
    const mixed = effect({
      transfers: [transfer({ units: 50n }), { ...solTransfer, units: 450n }],
      holdings: [holding({ after: 50n }), { ...solHolding, after: 500n }],
    })
    const shortfall = { token: 'USDC', required: 100n, received: 50n }
    expect(judge(mixed, quote, payer)).toMatchObject({ code: 'underpaid', shortfall })
  })

  it('T57: tells a late payment from an absent one', () => {
    expect(judge(effect({ blockTime: 2001 }), quote, payer)).toMatchObject({ kind: 'late', paid: { received: 100n } })
    expect(judge(effect({ blockTime: 2001, memos: [] }), quote, payer)).toMatchObject({ code: 'memo_mismatch' })
  })

  it('lets only a signer of the payment speak for a payer that cannot sign', () => {
    const vault = effect({ transfers: [transfer({ authority: 'vault', signers: ['M'] })] })
    expect(judge(vault, quote, { address: 'vault', signer: 'M' })).toMatchObject({ kind: 'paid' })
    expect(judge(vault, quote, { address: 'vault', signer: 'X' })).toMatchObject({ code: 'payer_mismatch' })
  })

  it('names the payer itself if the proof claims none', () => {
    expect(judge(effect(), quote)).toMatchObject({ kind: 'paid', payer: 'P' })
  })
})
