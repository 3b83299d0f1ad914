/** SOL reaches a wallet in many ways; only a transfer says who gave it. */
import { address, createAddressWithSeed, type KeyPairSigner } from '@solana/kit'
import { getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget'
import {
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getTransferSolWithSeedInstruction,
  getWithdrawNonceAccountInstruction,
} from '@solana-program/system'
import {
  getCloseAccountInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getSyncNativeInstruction,
  getUnwrapLamportsInstruction,
} from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeAddress } from '../../src/core/encoding/base58.ts'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { instruction, succeed, u32, u64 } from '../harness/message.ts'
import { deployScriptedProgram, type ScriptedProgram } from '../harness/scripted-program.ts'

const lamports = 1_000_000n
const system = address('11111111111111111111111111111111')
const wrapped = address('So11111111111111111111111111111111111111112')
const stake = 'Stake11111111111111111111111111111111111111'

let fixture: AttackFixture
let world: LocalnetFixture
let attackedShop: AttackedShop
let thief: KeyPairSigner
let recipient: KeyPairSigner
let scriptedProgram: ScriptedProgram

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  recipient = world.recipient
  attackedShop = await fixture.open({ token: 'SOL', price: '0.001' })
  thief = await world.person()
  scriptedProgram = await deployScriptedProgram(world)
})
afterAll(() => fixture.close())

const sol = (units: bigint, from = thief, to = recipient.address as string) => world.transfer(from, to, 'SOL', units)
const balance = () => world.localnet.getAccount(recipient.address)?.lamports ?? 0n

/** Wrapped SOL of the thief, ready to be unwrapped. */
async function wrap(units: bigint) {
  const account = await world.tokenAccount(thief.address, { ...world.usdc, address: wrapped })
  const open = getCreateAssociatedTokenIdempotentInstruction({
    payer: thief,
    ata: account,
    owner: thief.address,
    mint: wrapped,
  })
  await succeed(world, [open, await sol(units, thief, account), getSyncNativeInstruction({ account })], thief)
  return account
}

/** A nonce account of the thief. */
async function nonceAccount(units: bigint) {
  const account = await newSigner()
  await succeed(
    world,
    [
      getCreateAccountInstruction({
        payer: thief,
        newAccount: account,
        lamports: units,
        space: 80,
        programAddress: system,
      }),
      getInitializeNonceAccountInstruction({ nonceAccount: account.address, nonceAuthority: thief.address }),
    ],
    thief,
  )
  return account.address
}

/** A stake account of the thief, never delegated. */
async function stakeAccount(units: bigint) {
  const account = await newSigner()
  const key = decodeAddress(thief.address) as Uint8Array
  const programAddress = address(stake)
  const size = { newAccount: account, lamports: units, space: 200, programAddress }
  const rent = 'SysvarRent111111111111111111111111111111111'
  const initialize = instruction(
    stake,
    [
      ['w', account.address],
      ['r', rent],
    ],
    u32(0),
    key,
    key,
    new Uint8Array(48),
  )
  await succeed(world, [getCreateAccountInstruction({ payer: thief, ...size }), initialize], thief)
  return account.address
}

/** An account that the puppet owns, with money in it. */
async function purse(units: bigint) {
  const account = await newSigner()
  const programAddress = scriptedProgram.address
  const opening = { payer: thief, newAccount: account, lamports: units, space: 0, programAddress }
  await succeed(world, [getCreateAccountInstruction(opening)], thief)
  return account.address
}

type Way = () => Promise<Parameters<AttackFixture['commit']>[2]>

const ways: Readonly<Record<string, Way>> = {
  'T17: a wrapped SOL account is closed in its favour': async () => [
    getCloseAccountInstruction({ account: await wrap(5_000_000n), destination: recipient.address, owner: thief }),
  ],
  'T18: a nonce account is emptied into it': async () => [
    getWithdrawNonceAccountInstruction({
      nonceAccount: await nonceAccount(5_000_000n),
      recipientAccount: recipient.address,
      nonceAuthority: thief,
      withdrawAmount: 5_000_000n,
    }),
  ],
  'T18: stake is withdrawn to it': async () => [
    instruction(
      stake,
      [
        ['w', await stakeAccount(10_000_000n)],
        ['w', recipient.address],
        ['r', 'SysvarC1ock11111111111111111111111111111111'],
        ['r', 'SysvarStakeHistory1111111111111111111111111'],
        ['r', thief],
      ],
      u32(4),
      u64(5_000_000n),
    ),
  ],
  'T18: a program moves lamports of its own to it': async () => [
    scriptedProgram.act([{ from: await purse(10_000_000n), to: recipient.address, lamports: 5_000_000n }]),
  ],
  'T+: lamports are unwrapped to it without closing the account': async () => [
    getUnwrapLamportsInstruction({
      source: await wrap(5_000_000n),
      destination: recipient.address,
      authority: thief,
      amount: 5_000_000n,
    }),
  ],
}

describe('the balance of the recipient grows without a transfer', () => {
  it.each(Object.entries(ways))('%s', async (_name, build) => {
    const plan = await build()
    const before = balance()
    const attempt = await fixture.commit(attackedShop, thief, plan)
    expect(balance() - before).toBeGreaterThanOrEqual(5_000_000n)
    await expectNothing(attackedShop, 'no_transfer', attempt)
  })

  it.each(Object.entries(ways))('%s, beside a transfer of one lamport', async (_name, build) => {
    const attempt = await fixture.commit(attackedShop, thief, [...((await build()) as []), await sol(1n)])
    const { body } = await expectNothing(attackedShop, 'underpaid', attempt)
    expect(body).toMatchObject({ required: '0.001', received: '0.000000001' })
  })

  it('T+: a new account is created at the address of a recipient that signs for it', async () => {
    const novice = await newSigner()
    const shop = await fixture.open({ token: 'SOL', price: '0.001', recipient: novice.address, scope: 'novice' })
    const opening = { payer: thief, newAccount: novice, lamports: 2_000_000n, space: 0, programAddress: system }
    await expectNothing(shop, 'no_transfer', await fixture.commit(shop, thief, [getCreateAccountInstruction(opening)]))
  })
})

describe('a transfer, in an unusual way', () => {
  it('T19: from an address derived with a seed', async () => {
    const source = await createAddressWithSeed({ baseAddress: thief.address, seed: 'till', programAddress: system })
    await succeed(world, [await sol(5_000_000n, thief, source)], thief)
    const transfer = getTransferSolWithSeedInstruction({
      source,
      baseAccount: thief,
      destination: recipient.address,
      amount: lamports,
      fromSeed: 'till',
      fromOwner: system,
    })
    await attackedShop.serves(await fixture.commit(attackedShop, thief, [transfer]))
  })

  it('T19: called by another program', async () => {
    await attackedShop.serves(await fixture.commit(attackedShop, thief, [scriptedProgram.act([await sol(lamports)])]))
  })

  it('T+: called by a program that was called by itself', async () => {
    const nested = scriptedProgram.act([scriptedProgram.act([scriptedProgram.act([await sol(lamports)])])])
    await attackedShop.serves(await fixture.commit(attackedShop, thief, [nested]))
    const short = scriptedProgram.act([scriptedProgram.act([scriptedProgram.act([await sol(lamports - 1n)])])])
    await expectNothing(attackedShop, 'underpaid', await fixture.commit(attackedShop, thief, [short]))
  })

  it('T21: the recipient pays the fee, which is not taken off the price', async () => {
    const bid = getSetComputeUnitPriceInstruction({ microLamports: 1_000_000n })
    const before = balance()
    const attempt = await fixture.commit(attackedShop, thief, [bid, await sol(lamports)], { feePayer: recipient })
    expect(balance() - before).toBeLessThan(lamports)
    await attackedShop.serves(attempt)
  })

  it('T+: the fee that the recipient paid is not itself a payment', async () => {
    const bid = getSetComputeUnitPriceInstruction({ microLamports: 10_000_000n })
    const attempt = await fixture.commit(attackedShop, thief, [bid, await sol(lamports - 1n)], { feePayer: recipient })
    const { body } = await expectNothing(attackedShop, 'underpaid', attempt)
    expect(body).toMatchObject({ received: '0.000999999' })
  })

  it('T+: SOL sent to the token account of the recipient, where it is of no use', async () => {
    const account = await world.tokenAccount(recipient.address, world.usdc)
    await expectNothing(
      attackedShop,
      'wrong_recipient',
      await fixture.commit(attackedShop, thief, [await sol(lamports, thief, account)]),
    )
  })

  it.each([
    ['all of it', lamports],
    ['no more than the fee, which somebody else paid', 5_000n],
  ])('T+: sent on by the recipient in the same transaction: %s', async (_name, units) => {
    const plan = [await sol(lamports), await sol(units, recipient, thief.address)]
    await expectNothing(attackedShop, 'underpaid', await fixture.commit(attackedShop, thief, plan))
  })
})
