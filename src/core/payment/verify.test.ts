import fc from 'fast-check'
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

describe('judge, with splits', () => {
  const split: Quote = {
    ...quote,
    options: [
      {
        ...{ token: 'USDC', asset: 'mint', decimals: 6, units: 80n, destination: 'R-ata' },
        splits: [
          { recipient: 'A', destination: 'A-ata', units: 15n },
          { recipient: 'B', destination: 'B-ata', units: 5n },
        ],
      },
    ],
  }
  const part = (wallet: string, units: bigint, change: Partial<Transfer> = {}): Transfer =>
    transfer({ destination: `${wallet}-ata`, destinationOwner: wallet, units, ...change })
  const gain = (wallet: string, units: bigint): TokenHolding =>
    holding({ account: `${wallet}-ata`, ownerBefore: wallet, ownerAfter: wallet, after: units })
  const paid = (sent: readonly Transfer[], gains?: readonly TokenHolding[]): Effect =>
    effect({
      transfers: sent,
      holdings: gains ?? sent.map(({ destinationOwner = '', units = 0n }) => gain(destinationOwner, units)),
    })
  const full = [part('R', 80n), part('A', 15n), part('B', 5n)]

  it('takes a payment of all parts, in any order and with more than asked', () => {
    const more = [part('B', 6n), part('R', 81n), part('A', 15n)]
    expect(judge(paid(more), split, payer)).toMatchObject({
      kind: 'paid',
      received: 81n,
      splits: [
        { recipient: 'A', units: 15n },
        { recipient: 'B', units: 6n },
      ],
    })
    expect(judge(paid(full), split)).toMatchObject({ kind: 'paid', payer: 'P' })
  })

  describe('whose recipient collects', () => {
    const collected: Quote = { ...split, options: split.options.map((option) => ({ ...option, isCollected: true })) }
    const owed = [
      { recipient: 'A', units: 15n },
      { recipient: 'B', units: 5n },
    ]

    it.each([
      ['the whole price', [part('R', 100n)], 100n],
      ['more than the whole price', [part('R', 103n)], 103n],
      ['the whole price and some of the parts', [part('R', 100n), part('A', 15n)], 100n],
      ['the whole price and too small a part', [part('R', 100n), part('A', 14n), part('B', 5n)], 100n],
    ])('T185: takes %s to the recipient, and owes the wallets their parts', (_name, sent, received) => {
      const verdict = judge(paid(sent), collected, payer)
      expect(verdict).toMatchObject({
        kind: 'paid',
        received,
        splits: owed,
        isCollected: true,
        option: { units: 100n },
      })
      expect(judge(paid(sent), split, payer)).toMatchObject({ code: 'underpaid' })
    })

    it('T185: owes nothing to wallets that received their parts, whatever the recipient got', () => {
      for (const own of [80n, 100n, 200n]) {
        const verdict = judge(paid([part('R', own), part('A', 15n), part('B', 5n)]), collected, payer)
        expect(verdict).toMatchObject({ kind: 'paid', received: own, option: { units: 80n } })
        expect(verdict).not.toHaveProperty('isCollected')
      }
    })

    it.each([
      ['less than the whole price', [part('R', 99n)], 'underpaid'],
      ['less, with one part', [part('R', 85n), part('A', 15n)], 'underpaid'],
      ['a payment by a wallet of the splits', [part('R', 100n, { authority: 'A' })], 'self_payment'],
    ])('T185: refuses %s', (_name, sent, code) => {
      const address = sent[0]?.authority ?? ''
      expect(judge(paid(sent), collected, { address })).toMatchObject({ kind: 'refused', code })
    })
  })

  it('takes a payment exactly if every part is at least as large as asked', () => {
    const units = fc.bigInt(0n, 100n)
    fc.assert(
      fc.property(units, units, units, (own, first, second) => {
        const sent = [part('R', own), part('A', first), part('B', second)].filter((one) => one.units !== 0n)
        const verdict = judge(paid(sent), split, payer)
        expect(verdict.kind === 'paid').toBe(own >= 80n && first >= 15n && second >= 5n)
      }),
    )
  })

  it.each<[string, string, readonly Transfer[], (readonly TokenHolding[])?]>([
    ['underpaid', 'a part of another memo', [part('R', 80n), part('A', 15n, { memos: ['other'] }), part('B', 5n)]],
    ['underpaid', 'a part in another token', [part('R', 80n), part('A', 15n, { asset: 'other' }), part('B', 5n)]],
    ['underpaid', 'a part of another payer', [part('R', 80n), part('A', 15n, { authority: 'Q' }), part('B', 5n)]],
    ['underpaid', 'a part that did not arrive', full, [gain('R', 80n), gain('A', 14n), gain('B', 5n)]],
    ['wrong_recipient', 'an account of another owner', [...full, part('A', 1n, { destinationOwner: 'Q' })]],
    ['self_payment', 'a part out of its own wallet', [...full, part('A', 1n, { sourceOwner: 'A' })]],
    ['unsupported_transfer', 'a hidden amount', [...full, part('A', 1n, { units: undefined })]],
  ])('refuses as %s: %s', (code, _what, sent, gains) => {
    expect(judge(paid(sent, gains), split, payer)).toMatchObject({ kind: 'refused', code })
  })

  it('refuses a payer who receives a part', () => {
    const own = full.map((one) => ({ ...one, authority: 'A', sourceOwner: 'A' }))
    const holdings = [gain('R', 80n), gain('A', 15n), gain('B', 5n)]
    expect(judge(effect({ transfers: own, holdings }), split, { address: 'A' })).toMatchObject({ code: 'self_payment' })
  })
})
