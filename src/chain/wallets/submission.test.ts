import { AccountRole, address, createNoopSigner, type Instruction } from '@solana/kit'
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget'
import { getTransferSolInstruction } from '@solana-program/system'
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
  getTransferInstruction,
} from '@solana-program/token'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { createVerifier } from '../../host/keys/ed25519.ts'
import { memoProgram } from '../accounts/programs.ts'
import type { Wallet } from '../keys/keypair.ts'
import { createWallet } from '../keys/keypair.ts'
import { composeMessage, signUnchanged, unsigned } from '../send/message.ts'
import { readSubmission } from './submission.ts'

const verify = createVerifier()
const lifetime = { blockhash: encodeBase58(new Uint8Array(32).fill(9)), lastValidBlockHeight: 10 }
const at = (byte: number) => address(encodeBase58(new Uint8Array(32).fill(byte)))
const [mint, source, destination, other] = [at(11), at(12), at(13), at(14)]
let [sponsor, payer]: Wallet[] = []

beforeAll(async () => {
  sponsor = await createWallet(new Uint8Array(32).fill(1))
  payer = await createWallet(new Uint8Array(32).fill(2))
})
const own = (wallet: Wallet | undefined) => address(wallet?.address ?? '')

const transfer = (authority = own(payer), amount = 10_000) =>
  getTransferCheckedInstruction({
    source,
    mint,
    destination,
    authority: createNoopSigner(authority),
    amount,
    decimals: 6,
  })
const memo = (text = 'memo', accounts: Instruction['accounts'] = []): Instruction => ({
  programAddress: address(memoProgram),
  accounts,
  data: new TextEncoder().encode(text),
})
const limit = (units = 20_000) => getSetComputeUnitLimitInstruction({ units })
const price = (microLamports = 1) => getSetComputeUnitPriceInstruction({ microLamports })
const assertion: Instruction = {
  programAddress: address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'),
  accounts: [{ address: source, role: AccountRole.READONLY }],
  data: Uint8Array.of(1),
}

async function submit(instructions: readonly Instruction[], feePayer = own(sponsor)): Promise<Uint8Array> {
  const draft = unsigned(composeMessage(instructions, lifetime, feePayer))
  return signUnchanged(draft, payer as Wallet)
}
const read = (bytes: Uint8Array) => readSubmission(bytes, sponsor?.address, verify)

describe('a submitted transaction', () => {
  it('is read with its payer, transfer, memo and fee', async () => {
    const bytes = await submit([limit(), price(), transfer(), memo()])
    expect(read(bytes)).toMatchObject({
      kind: 'submitted',
      transaction: {
        feePayer: sponsor?.address,
        signature: undefined,
        payer: payer?.address,
        transfers: [{ asset: mint, destination, authority: payer?.address, units: 10_000n }],
        memos: ['memo'],
        blockhash: lifetime.blockhash,
        fee: 10_001n,
      },
    })
    const complete = read(await signUnchanged(bytes, sponsor as Wallet))
    expect(complete).toMatchObject({ kind: 'submitted', transaction: { signature: expect.any(String) } })
  })

  it('may be paid for by its payer, in SOL, and carry assertions', async () => {
    const pays = getTransferSolInstruction({ source: createNoopSigner(own(payer)), destination: other, amount: 7 })
    const reading = read(await submit([pays, memo(), assertion, assertion, assertion], own(payer)))
    expect(reading).toMatchObject({
      transaction: {
        feePayer: payer?.address,
        fee: 5_000n,
        transfers: [{ asset: 'SOL', destination: other, units: 7n }],
      },
    })
  })

  it('may open token accounts if its payer pays for them', async () => {
    const open = (by: Wallet | undefined) =>
      getCreateAssociatedTokenIdempotentInstruction({
        payer: createNoopSigner(own(by)),
        ata: destination,
        owner: other,
        mint,
      })
    expect(read(await submit([transfer(), open(payer), transfer()], own(payer)))).toMatchObject({ kind: 'submitted' })
    const why = 'unknown_instruction'
    expect(read(await submit([transfer(), open(sponsor)]))).toEqual({ kind: 'invalid', why })
    expect(read(await submit([transfer(), open(payer)]))).toEqual({ kind: 'invalid', why })
    const another = { ...open(payer), data: Uint8Array.of(0) }
    expect(read(await submit([transfer(), another], own(payer)))).toEqual({ kind: 'invalid', why })
    const [, ...rest] = open(payer).accounts
    const foreign = { ...open(payer), accounts: [{ address: other, role: AccountRole.WRITABLE }, ...rest] }
    expect(read(await submit([transfer(), foreign], own(payer)))).toEqual({ kind: 'invalid', why })
    const many = Array.from({ length: 10 }, () => open(payer))
    expect(read(await submit([transfer(), ...many], own(payer)))).toEqual({
      kind: 'invalid',
      why: 'instructions_length',
    })
  })

  it.each<[string, () => readonly Instruction[]]>([
    [
      'no_transfer_instruction',
      () => [{ ...assertion, accounts: [{ address: own(payer), role: AccountRole.READONLY_SIGNER }] }],
    ],
    ['unknown_instruction', () => [transfer(), { programAddress: other, accounts: [], data: new Uint8Array() }]],
    [
      'unknown_instruction',
      () => [getTransferInstruction({ source, destination, authority: createNoopSigner(own(payer)), amount: 1 })],
    ],
    [
      'unknown_instruction',
      () => [
        getTransferCheckedInstruction({
          source,
          mint,
          destination,
          authority: createNoopSigner(own(payer)),
          amount: 1,
          decimals: 6,
          multiSigners: [createNoopSigner(own(payer))],
        }),
      ],
    ],
    ['memo_with_accounts', () => [transfer(), memo('m', [{ address: own(payer), role: AccountRole.READONLY_SIGNER }])]],
    ['compute_budget_instruction', () => [limit(), limit(), transfer()]],
    ['compute_limit_too_high', () => [limit(200_001), transfer()]],
    ['compute_price_too_high', () => [limit(200_000), price(25_001), transfer()]],
    ['compute_price_too_high', () => [price(3_572), transfer()]],
    ['instructions_length', () => [transfer(), ...Array.from({ length: 4 }, () => assertion)]],
    ['instructions_length', () => [transfer(), ...Array.from({ length: 10 }, () => memo())]],
    [
      'fee_payer_included_in_instruction_accounts',
      () => [transfer(), { ...assertion, accounts: [{ address: own(sponsor), role: AccountRole.READONLY }] }],
    ],
  ])('T21: is refused for the rule %s', async (why, instructions) => {
    expect(read(await submit(instructions()))).toEqual({ kind: 'invalid', why })
  })

  it('T21: cannot move money of the sponsor', async () => {
    const drain = getTransferSolInstruction({ source: createNoopSigner(own(sponsor)), destination: other, amount: 7 })
    const draft = unsigned(composeMessage([drain], lifetime, own(sponsor)))
    expect(read(draft)).toEqual({ kind: 'invalid', why: 'signers' })
    expect(read(await submit([drain, transfer()]))).toMatchObject({ kind: 'invalid', why: 'several_payers' })
  })

  it('needs the payer’s own signature, and no further signer', async () => {
    const bytes = await submit([transfer(), memo()])
    expect(read(bytes.slice().fill(7, 65, 129))).toEqual({ kind: 'invalid', why: 'payer_signature' })
    expect(read(bytes.slice().fill(7, 1, 65))).toEqual({ kind: 'invalid', why: 'payer_signature' })
    const third = { ...assertion, accounts: [{ address: other, role: AccountRole.READONLY_SIGNER }] }
    expect(read(await submit([transfer(), third]))).toEqual({ kind: 'invalid', why: 'signers' })
    expect(readSubmission(bytes, undefined, verify)).toEqual({ kind: 'invalid', why: 'signers' })
  })

  it('may be any bytes, and is then refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1300 }), (bytes) => {
        expect(read(bytes).kind).toBe('invalid')
      }),
    )
  })
})
