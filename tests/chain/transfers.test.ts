import { describe, expect, it } from 'vitest'
import { memoProgram, systemProgram } from '../../src/chain/accounts/programs.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { splTokenProgram, token2022Program } from '../../src/core/money/tokens.ts'
import {
  bytes,
  destination,
  effectOf,
  keyOf,
  mint,
  nameOf,
  other,
  payer,
  read,
  recipient,
  soundMeta,
  source,
  transactionOf,
  units,
} from './craft.ts'

describe('transfers', () => {
  const tokenMove = {
    asset: mint,
    destination,
    destinationOwner: recipient,
    sourceOwner: payer,
    authority: payer,
    units: 100n,
    signers: [payer],
    memos: [],
  }
  const unchecked = { accounts: bytes(2, 3, 0), data: bytes(3, units(100n)) }
  const checked = { accounts: bytes(2, 4, 3, 0), data: bytes(12, units(100n), 6) }

  it.each([
    ['System Transfer', systemProgram, { accounts: bytes(0, 1), data: bytes([2, 0, 0, 0], units(45n)) }],
    ['with bytes left over', systemProgram, { accounts: bytes(0, 1), data: bytes([2, 0, 0, 0], units(45n), 1, 2) }],
  ])('%s', (_name, program, instruction) => {
    expect(effectOf(transactionOf(program, [instruction])).transfers).toEqual([
      {
        asset: 'SOL',
        destination: recipient,
        destinationOwner: recipient,
        sourceOwner: payer,
        authority: payer,
        units: 45n,
        signers: [payer],
        memos: [],
      },
    ])
  })

  it('T19: TransferWithSeed is ordered by the base, not by the derived source', () => {
    const instruction = { accounts: bytes(2, 0, 1), data: bytes([11, 0, 0, 0], units(45n), units(0n)) }
    expect(effectOf(transactionOf(systemProgram, [instruction])).transfers).toMatchObject([
      { asset: 'SOL', destination: recipient, sourceOwner: source, authority: payer, units: 45n },
    ])
  })

  it.each([
    ['T30: Transfer, whose mint is known from the balances', splTokenProgram, unchecked],
    ['TransferChecked', splTokenProgram, checked],
    ['Transfer of Token-2022', token2022Program, unchecked],
    ['TransferChecked of Token-2022', token2022Program, checked],
    [
      'T33: TransferCheckedWithFee says the amount declared',
      token2022Program,
      { accounts: bytes(2, 4, 3, 0), data: bytes(26, 1, units(100n), 6, units(1n)) },
    ],
    ['a Batch of one', splTokenProgram, { accounts: bytes(2, 3, 0), data: bytes(255, 3, 9, 3, units(100n)) }],
    [
      'a Batch in which it comes second',
      splTokenProgram,
      { accounts: bytes(5, 5, 5, 2, 4, 3, 0), data: bytes(255, 3, 1, 9, 4, 10, 12, units(100n), 6) },
    ],
  ])('%s', (_name, program, instruction) => {
    expect(effectOf(transactionOf(program, [instruction])).transfers).toEqual([tokenMove])
  })

  it('gives every transfer of a Batch its own accounts, and only its own signers', () => {
    const data = bytes(255, 3, 9, 3, units(1n), 3, 9, 3, units(2n))
    const batch = { accounts: bytes(2, 3, 5, 3, 2, 0), data }
    expect(effectOf(transactionOf(splTokenProgram, [batch])).transfers).toMatchObject([
      { destination, authority: other, units: 1n, signers: [] },
      { destination: source, authority: payer, units: 2n, signers: [payer] },
    ])
  })

  it.each([7, 13])('T35: a confidential transfer (%i) has no amount, and the owner as its authority', (kind) => {
    const hidden = { accounts: bytes(2, 4, 3, 5, 0), data: bytes(27, kind, 1, 2, 3) }
    expect(effectOf(transactionOf(token2022Program, [hidden])).transfers).toEqual([{ ...tokenMove, units: undefined }])
  })

  it.each([
    ['T6: the same bytes under a foreign program', nameOf(16), checked],
    ['T37: MintTo', splTokenProgram, { accounts: bytes(4, 3, 0), data: bytes(7, units(100n)) }],
    ['T17: CloseAccount', splTokenProgram, { accounts: bytes(2, 1, 0), data: bytes(9) }],
    ['T18: WithdrawNonce', systemProgram, { accounts: bytes(2, 1, 5, 5, 0), data: bytes([5, 0, 0, 0], units(45n)) }],
    ['extensions of Token-2022 under SPL Token', splTokenProgram, { accounts: bytes(2, 4, 3, 0), data: bytes(27, 7) }],
    ['a confidential deposit', token2022Program, { accounts: bytes(2, 4, 0), data: bytes(27, 5, units(1n), 6) }],
    ['another fee instruction', token2022Program, { accounts: bytes(4, 0), data: bytes(26, 0, units(1n)) }],
    ['an instruction without data', systemProgram, { accounts: bytes(0, 1), data: bytes() }],
  ])('%s is no transfer', (_name, program, instruction) => {
    expect(effectOf(transactionOf(program, [instruction])).transfers).toEqual([])
  })

  it.each([
    ['a System Transfer cut short', systemProgram, { accounts: bytes(0, 1), data: bytes([2, 0, 0, 0, 1]) }],
    [
      'a System Transfer without destination',
      systemProgram,
      { accounts: bytes(0), data: bytes([2, 0, 0, 0], units(1n)) },
    ],
    ['a Transfer without authority', splTokenProgram, { accounts: bytes(2, 3), data: bytes(3, units(1n)) }],
    ['a TransferChecked cut short', splTokenProgram, { accounts: bytes(2, 4, 3, 0), data: bytes(12, 1, 2) }],
    ['a Batch that promises more data', splTokenProgram, { accounts: bytes(2, 3, 0), data: bytes(255, 3, 9, 3, 1) }],
    [
      'a Batch that promises more accounts',
      splTokenProgram,
      { accounts: bytes(2), data: bytes(255, 3, 9, 3, units(1n)) },
    ],
    [
      'a Batch with a part longer than what is left',
      splTokenProgram,
      { accounts: bytes(2, 3, 0), data: bytes(255, 3, 20, 3, units(1n)) },
    ],
    [
      'a Batch with a harmless part that lacks accounts',
      splTokenProgram,
      { accounts: bytes(2), data: bytes(255, 3, 1, 9) },
    ],
    ['a Batch in a Batch', splTokenProgram, { accounts: bytes(2, 3, 0), data: bytes(255, 0, 1, 255) }],
    ['a Batch with an empty part', splTokenProgram, { accounts: bytes(), data: bytes(255, 0, 0) }],
  ])('%s cannot have run, so the answer is not used', (_name, program, instruction) => {
    expect(read(transactionOf(program, [instruction])).kind).toBe('unusable')
  })

  it('T1: a failed transaction did nothing', () => {
    const transaction = transactionOf(splTokenProgram, [checked, { accounts: bytes(2), data: bytes(12) }])
    const effect = effectOf(transaction, { ...soundMeta, err: { InstructionError: [1, { Custom: 1 }] } })
    expect(effect).toMatchObject({ failed: true, transfers: [], memos: [] })
    expect(effectOf(transactionOf(splTokenProgram, [checked]), { ...soundMeta, err: 'AccountInUse' }).failed).toBe(true)
  })

  describe('by calls between programs', () => {
    const smartWallet = nameOf(20)
    const run = (instructions: unknown, program = smartWallet) =>
      read(
        transactionOf(
          program,
          [{ accounts: bytes(0, 2, 3) }, { accounts: bytes(1) }],
          [{ table: keyOf(30), writable: bytes(1), readonly: bytes(2, 3) }],
        ),
        {
          ...soundMeta,
          preBalances: [...soundMeta.preBalances, 0, 0, 0],
          postBalances: [...soundMeta.postBalances, 0, 0, 0],
          loadedAddresses: { writable: [nameOf(40)], readonly: [splTokenProgram, memoProgram] },
          innerInstructions: instructions,
        },
      )
    // 7 is the loaded writable account, 8 the token program, 9 the memo program.
    const call = (programIdIndex: number, accounts: readonly number[], data: Uint8Array) => ({
      programIdIndex,
      accounts,
      data: encodeBase58(data),
      stackHeight: 2,
    })
    const move = call(8, [2, 3, 5], bytes(3, units(100n)))

    it('T27, T31: reads transfers and memos of inner instructions, through loaded addresses', () => {
      const reading = run([{ index: 0, instructions: [move, call(9, [], bytes([114, 105, 100]))] }])
      if (reading.kind !== 'effect') throw new Error(reading.why)
      expect(reading.effect.memos).toEqual(['rid'])
      expect(reading.effect.transfers).toEqual([{ ...tokenMove, authority: other, memos: ['rid'] }])
    })

    it('T173: memos below the token program belong to no transfer that a wallet signed for', () => {
      const rid = call(9, [], bytes([114, 105, 100]))
      const signed = call(8, [2, 3, 0], bytes(3, units(100n)))
      const at = (stackHeight: number, one: typeof move) => ({ ...one, stackHeight })
      // A hook, and the calls that it makes.
      const hookAt = (height: number) => [
        at(height, call(5, [], bytes())),
        ...[rid, signed, move].map((one) => at(height + 1, one)),
      ]
      const memosIn = (instructions: unknown, program?: string) => {
        const reading = run([{ index: 0, instructions }], program)
        if (reading.kind !== 'effect') throw new Error(reading.why)
        return reading.effect.transfers.map(({ memos }) => memos)
      }
      expect(memosIn([signed, ...hookAt(3)])).toEqual([[], [], ['rid']])
      expect(memosIn(hookAt(2), token2022Program)).toEqual([[], ['rid']])
      expect(memosIn(hookAt(2))).toEqual([['rid'], ['rid']])
    })

    it('counts only the accounts of the top-level instruction as signers', () => {
      const second = run([{ index: 1, instructions: [move] }])
      if (second.kind !== 'effect') throw new Error(second.why)
      expect(second.effect.transfers).toMatchObject([{ signers: [] }])
    })

    it('leaves out data too long to be a payment of ours, instead of spending time on it', () => {
      const long = { ...call(9, [], bytes()), data: '2'.repeat(701) }
      const reading = run([{ index: 0, instructions: [long, move] }])
      expect(reading).toMatchObject({ kind: 'effect', effect: { memos: [], transfers: [{ units: 100n }] } })
    })

    it.each([
      ['null', null],
      ['absent', undefined],
      ['an object', {}],
      ['an index out of range', [{ index: 2, instructions: [] }]],
      ['a negative index', [{ index: -1, instructions: [] }]],
      ['the same index twice', [0, 0].map((index) => ({ index, instructions: [] }))],
      ['no list', [{ index: 0 }]],
      ['a program out of range', [{ index: 0, instructions: [{ ...move, programIdIndex: 10 }] }]],
      ['an account out of range', [{ index: 0, instructions: [{ ...move, accounts: [2, 3, 10] }] }]],
      ['an account that is no whole number', [{ index: 0, instructions: [{ ...move, accounts: [2, 3, 0.5] }] }]],
      [
        'by a program whose call does not tell its depth',
        [{ index: 0, instructions: [{ ...move, stackHeight: null }] }],
      ],
      ['data that is no base58', [{ index: 0, instructions: [{ ...move, data: '0OIl' }] }]],
      ['data that is no text', [{ index: 0, instructions: [{ ...move, data: [1] }] }]],
      ['more calls than the chain allows', [{ index: 0, instructions: Array.from({ length: 257 }, () => move) }]],
    ])('inner instructions that are %s make the answer useless', (_name, instructions) => {
      expect(run(instructions).kind).toBe('unusable')
    })
  })
})
