import { describe, expect, it } from 'vitest'
import { memoProgram, memoPrograms } from '../../src/chain/accounts/programs.ts'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import type { Effect } from '../../src/core/payment/verify.ts'
import {
  balance,
  bytes,
  destination,
  effectOf,
  keyOf,
  mint,
  nameOf,
  noTransfer,
  other,
  payer,
  read,
  recipient,
  soundMeta,
  source,
  transactionOf,
  units,
} from './craft.ts'

describe('memos', () => {
  it('T23: all three programs, one character per byte', () => {
    expect(memoPrograms.size).toBe(3)
    for (const program of memoPrograms) {
      const transaction = transactionOf(program, [{ data: bytes([0xff, 0x00, 0xc3, 0xa9]) }])
      expect(effectOf(transaction).memos).toEqual(['\u00ff\u0000\u00c3\u00a9'])
    }
  })

  it('T28: several, in order', () => {
    const transaction = transactionOf(memoProgram, [{ data: bytes(97) }, { data: bytes(98) }])
    expect(effectOf(transaction).memos).toEqual(['a', 'b'])
  })
})

describe('holdings', () => {
  const tokens = (effect: Effect) => effect.holdings.filter((holding) => holding.asset !== 'SOL')

  it('has the lamports of every account, and tokens with their owners', () => {
    const { holdings } = effectOf(noTransfer)
    expect(holdings.filter((holding) => holding.asset === 'SOL')).toHaveLength(7)
    expect(holdings[1]).toEqual({
      asset: 'SOL',
      account: recipient,
      ownerBefore: recipient,
      ownerAfter: recipient,
      before: 0n,
      after: 45n,
    })
    expect(tokens(effectOf(noTransfer))).toEqual([
      { asset: mint, account: source, ownerBefore: payer, ownerAfter: payer, before: 500n, after: 400n },
      { asset: mint, account: destination, ownerBefore: recipient, ownerAfter: recipient, before: 7n, after: 107n },
    ])
  })

  it('keeps a changed owner, a new account, a closed one, and one opened again under another mint apart', () => {
    const meta = {
      ...soundMeta,
      preTokenBalances: [balance(2, '5'), balance(3, '6'), balance(5, '7', payer, other)],
      postTokenBalances: [balance(1, '4', recipient), balance(3, '6', recipient), balance(5, '8')],
    }
    const nobody = { ownerBefore: undefined, ownerAfter: undefined }
    expect(tokens(effectOf(noTransfer, meta))).toEqual([
      { asset: mint, account: recipient, ...nobody, ownerAfter: recipient, before: 0n, after: 4n },
      { asset: mint, account: source, ...nobody, ownerBefore: payer, before: 5n, after: 0n },
      { asset: mint, account: destination, ownerBefore: payer, ownerAfter: recipient, before: 6n, after: 6n },
      { asset: other, account: other, ...nobody, ownerBefore: payer, before: 7n, after: 0n },
      { asset: mint, account: other, ...nobody, ownerAfter: payer, before: 0n, after: 8n },
    ])
  })

  it('T36: takes the raw amount and never the scaled one', () => {
    const scaled = { ...balance(2, '1'), uiTokenAmount: { amount: '1', uiAmount: 10, uiAmountString: '10' } }
    const effect = effectOf(noTransfer, { ...soundMeta, preTokenBalances: [scaled] })
    expect(tokens(effect)[0]).toMatchObject({ before: 1n })
  })

  it('keeps balances beyond 2^53 exact, as the reader of JSON hands them over', () => {
    const effect = effectOf(noTransfer, { ...soundMeta, preBalances: ['9007199254740993', 0, 20, 20, 1, 0, 1] })
    expect(effect.holdings[0]?.before).toBe(9_007_199_254_740_993n)
  })
})

describe('token accounts of which the node does not tell', () => {
  const transfer = transactionOf(splTokenProgram, [{ accounts: bytes(2, 3, 0), data: bytes(3, units(100n)) }])

  it('cannot be judged while they still exist', () => {
    expect(read(transfer, { ...soundMeta, postTokenBalances: [balance(2, '400')] }).kind).toBe('unusable')
    expect(read(transfer, { ...soundMeta, postTokenBalances: [balance(3, '107', recipient)] }).kind).toBe('unusable')
  })

  it('are told by the other side when they were closed', () => {
    const meta = {
      ...soundMeta,
      postBalances: [50, 45, 0, 20, 1, 0, 1],
      preTokenBalances: [],
      postTokenBalances: [balance(3, '107', recipient)],
    }
    expect(effectOf(transfer, meta).transfers).toMatchObject([
      { asset: mint, sourceOwner: undefined, authority: payer },
    ])
  })

  it('are passed over when both lived only inside the transaction', () => {
    const meta = { ...soundMeta, postBalances: [50, 45, 0, 0, 1, 0, 1], preTokenBalances: [], postTokenBalances: [] }
    expect(effectOf(transfer, meta).transfers).toEqual([])
  })

  it('are believed about the mint by the destination first', () => {
    const meta = {
      ...soundMeta,
      preTokenBalances: [],
      postTokenBalances: [balance(2, '1', payer, other), balance(3, '1')],
    }
    expect(effectOf(transfer, meta).transfers).toMatchObject([{ asset: mint }])
  })

  it('do not lend their mint when it changed on the way', () => {
    const meta = {
      ...soundMeta,
      preTokenBalances: [balance(2, '500'), balance(3, '7', recipient, other)],
    }
    expect(effectOf(transfer, meta).transfers).toMatchObject([{ asset: mint }])
    const both = { ...meta, preTokenBalances: [balance(2, '500', payer, other), balance(3, '7', recipient, other)] }
    expect(effectOf(transfer, both).transfers).toEqual([])
  })
})

describe('an answer that is not whole', () => {
  const without = (key: keyof typeof soundMeta) => {
    const { [key]: _, ...rest } = soundMeta
    return rest
  }

  it.each([
    ['T2: meta is null', null],
    ['meta is text', 'ok'],
    ['err is absent', without('err')],
    ['err is false', { ...soundMeta, err: false }],
    ['fee is absent', without('fee')],
    ['fee is negative', { ...soundMeta, fee: -1 }],
    ['fee is a fraction', { ...soundMeta, fee: 0.5 }],
    ['preBalances is absent', without('preBalances')],
    ['postBalances is absent', without('postBalances')],
    ['a balance is missing', { ...soundMeta, postBalances: [50, 45, 20, 20, 1, 0] }],
    ['a balance before is missing', { ...soundMeta, preBalances: [100, 0, 20, 20, 1, 0] }],
    ['a balance is negative', { ...soundMeta, postBalances: [50, 45, 20, 20, 1, 0, -1] }],
    ['a balance was rounded', { ...soundMeta, postBalances: [2 ** 60, 45, 20, 20, 1, 0, 1] }],
    ['a balance is beyond 64 bits', { ...soundMeta, postBalances: ['18446744073709551616', 45, 20, 20, 1, 0, 1] }],
    ['preTokenBalances is absent', without('preTokenBalances')],
    ['postTokenBalances is null', { ...soundMeta, postTokenBalances: null }],
    ['an owner is absent', { ...soundMeta, postTokenBalances: [{ ...balance(2, '1'), owner: undefined }] }],
    ['an owner is no address', { ...soundMeta, postTokenBalances: [balance(2, '1', 'me')] }],
    ['a mint is absent', { ...soundMeta, postTokenBalances: [{ ...balance(2, '1'), mint: undefined }] }],
    [
      'a token amount is a number',
      { ...soundMeta, postTokenBalances: [{ ...balance(2, '1'), uiTokenAmount: { amount: 1 } }] },
    ],
    ['a token amount is not plain', { ...soundMeta, postTokenBalances: [balance(2, '1e3')] }],
    ['a token amount is beyond 64 bits', { ...soundMeta, postTokenBalances: [balance(2, '18446744073709551616')] }],
    ['a token amount is absent', { ...soundMeta, postTokenBalances: [{ ...balance(2, '1'), uiTokenAmount: {} }] }],
    ['a token account is out of range', { ...soundMeta, postTokenBalances: [balance(7, '1')] }],
    ['a token account is told twice', { ...soundMeta, postTokenBalances: [balance(2, '1'), balance(2, '1')] }],
    [
      'addresses were loaded that nobody asked for',
      { ...soundMeta, loadedAddresses: { writable: [other], readonly: [] } },
    ],
    ['innerInstructions is null', { ...soundMeta, innerInstructions: null }],
  ])('%s', (_name, meta) => {
    expect(read(noTransfer, meta).kind).toBe('unusable')
  })

  it('may leave out loaded addresses only where there are no lookups', () => {
    expect(read(noTransfer, without('loadedAddresses')).kind).toBe('effect')
    const looking = transactionOf(memoProgram, [], [{ table: keyOf(9), writable: bytes(1), readonly: bytes() }])
    const longer = {
      ...soundMeta,
      preBalances: [...soundMeta.preBalances, 0],
      postBalances: [...soundMeta.postBalances, 0],
    }
    const loaded = (loadedAddresses: unknown) => read(looking, { ...longer, loadedAddresses }).kind
    expect(loaded({ writable: [nameOf(40)], readonly: [] })).toBe('effect')
    expect(loaded(undefined)).toBe('unusable')
    expect(loaded({ writable: [], readonly: [nameOf(40)] })).toBe('unusable')
    expect(loaded({ writable: ['short'], readonly: [] })).toBe('unusable')
  })

  it('must not list an account twice', () => {
    const looking = transactionOf(memoProgram, [], [{ table: keyOf(9), writable: bytes(1), readonly: bytes() }])
    const meta = {
      ...soundMeta,
      preBalances: [...soundMeta.preBalances, 0],
      postBalances: [...soundMeta.postBalances, 0],
      loadedAddresses: { writable: [recipient], readonly: [] },
    }
    expect(read(looking, meta).kind).toBe('unusable')
  })
})
