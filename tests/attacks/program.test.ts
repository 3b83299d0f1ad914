/** Programs in between: smart wallets that pay for their owner, and programs that pay for nobody. */
import type { Instruction, KeyPairSigner } from '@solana/kit'
import { getApproveInstruction } from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
  price,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo } from '../harness/localnet-fixture.ts'
import { succeed } from '../harness/message.ts'
import { move } from '../harness/mint.ts'
import { deployScriptedProgram, type ScriptedProgram, withoutHeights } from '../harness/scripted-program.ts'

let fixture: AttackFixture
let world: LocalnetFixture
let shop: AttackedShop
let thief: KeyPairSigner
let recipient: KeyPairSigner
let scriptedProgram: ScriptedProgram

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  recipient = world.recipient
  shop = await fixture.open()
  thief = await world.person()
  scriptedProgram = await deployScriptedProgram(world)
  await world.localnet.fund(scriptedProgram.vault.address, { SOL: 1_000_000_000n, USDC: 1_000_000_000n })
})
afterAll(() => fixture.close())

const usdc = (units: bigint, from = thief) => move(world, world.usdc, from, recipient.address, units)
const fromVault = (units: bigint) =>
  move(world, world.usdc, scriptedProgram.vault.address, recipient.address, units, scriptedProgram.vault as never)

describe('a smart wallet', () => {
  it('T27: pays by a call, with the memo in a call too', async () => {
    const attempt = await fixture.commit(
      shop,
      thief,
      async ({ requestId }) => [scriptedProgram.act([memo(requestId), await fromVault(price)], [thief])],
      { bare: true },
    )
    await shop.refuses('payer_mismatch', attempt)
    await shop.serves({ ...attempt, payer: scriptedProgram.vault })
  })

  it('T27: pays too little by a call', async () => {
    const attempt = await fixture.commit(
      shop,
      thief,
      async ({ requestId }) => [scriptedProgram.act([memo(requestId), await fromVault(price - 1n)])],
      { bare: true },
    )
    await expectNothing(shop, 'underpaid', { ...attempt, payer: scriptedProgram.vault })
  })

  it('T27: pays by a call, and a node does not tell which program called', async () => {
    const attempt = await fixture.commit(
      shop,
      thief,
      async ({ requestId }) => [scriptedProgram.act([memo(requestId), await fromVault(price)])],
      { bare: true },
    )
    world.localnet.faults.intercept(withoutHeights)
    await shop.refuses('chain_unavailable', { ...attempt, payer: scriptedProgram.vault })
    world.localnet.faults.clear()
    await shop.serves({ ...attempt, payer: scriptedProgram.vault })
  })

  it('T27: passes on the order of a wallet that signed', async () => {
    await shop.serves(await fixture.commit(shop, thief, [scriptedProgram.act([await usdc(price)])]))
  })
})

describe('a program that pays the recipient from its own account', () => {
  it('T164: beside a transfer of one unit by the thief', async () => {
    const attempt = await fixture.commit(shop, thief, [
      scriptedProgram.act([await fromVault(price)], [thief]),
      await usdc(1n),
    ])
    const { body } = await expectNothing(shop, 'underpaid', attempt)
    expect(body).toMatchObject({ received: '0.000001' })
  })

  it('T164: and the thief names the program’s own address as the payer', async () => {
    const attempt = await fixture.commit(shop, thief, [scriptedProgram.act([await fromVault(price)], [thief])])
    await expectNothing(shop, 'memo_mismatch', { ...attempt, payer: scriptedProgram.vault })
  })

  it('T164: and the thief wraps it together with the memo into a program of its own', async () => {
    const proxy = await deployScriptedProgram(world)
    const attempt = await fixture.commit(
      shop,
      thief,
      async ({ requestId }) => [proxy.act([scriptedProgram.act([await fromVault(price)], [thief]), memo(requestId)])],
      { bare: true },
    )
    await expectNothing(shop, 'memo_mismatch', { ...attempt, payer: scriptedProgram.vault })
  })

  it('T164: and the memo is written by another call, as deep as the one that pays', async () => {
    const [proxy, scribe] = [await deployScriptedProgram(world), await deployScriptedProgram(world)]
    const attempt = await fixture.commit(
      shop,
      thief,
      async ({ requestId }) => [
        proxy.act([scribe.act([memo(requestId)]), scriptedProgram.act([await fromVault(price)], [thief])]),
      ],
      { bare: true },
    )
    await expectNothing(shop, 'memo_mismatch', { ...attempt, payer: scriptedProgram.vault })
  })

  it('T164: beside a call by which the thief pays half', async () => {
    const half = scriptedProgram.act([await usdc(price / 2n)])
    const attempt = await fixture.commit(shop, thief, [half, scriptedProgram.act([await fromVault(price)], [thief])])
    const { body } = await expectNothing(shop, 'underpaid', attempt)
    expect(body).toMatchObject({ received: '0.005' })
  })

  it('T164: beside lamports of the thief, sent to the recipient’s token account', async () => {
    const account = await world.tokenAccount(recipient.address, world.usdc)
    const lamports = await world.transfer(thief, account, 'SOL', price)
    const attempt = await fixture.commit(shop, thief, [
      scriptedProgram.act([await fromVault(price)], [thief]),
      lamports,
    ])
    await expectNothing(shop, 'payer_mismatch', attempt)
  })

  it('T+: while a delegate takes back the payment of the thief', async () => {
    const source = await world.tokenAccount(recipient.address, world.usdc)
    const approve = getApproveInstruction({ source, delegate: thief.address, owner: recipient, amount: price })
    await succeed(world, [approve], recipient)
    const back = await move(world, world.usdc, recipient.address, thief.address, price, thief)
    const attempt = await fixture.commit(shop, thief, [
      await usdc(price),
      back,
      scriptedProgram.act([await fromVault(price)], [thief]),
    ])
    await expectNothing(shop, 'underpaid', attempt)
  })
})

describe('several token instructions in one', () => {
  it('T+: a batch pays, though no inner instruction tells of it', async () => {
    const [first, second] = [await usdc(4_000n), await usdc(6_000n)]
    await shop.serves(await fixture.commit(shop, thief, [batch(first, second)]))
  })

  it('T+: a batch pays and takes back', async () => {
    const source = await world.tokenAccount(recipient.address, world.usdc)
    const approve = getApproveInstruction({ source, delegate: thief.address, owner: recipient, amount: price })
    await succeed(world, [approve], recipient)
    const back = await move(world, world.usdc, recipient.address, thief.address, price, thief)
    await expectNothing(shop, 'underpaid', await fixture.commit(shop, thief, [batch(await usdc(price), back)]))
  })

  it('T+: a batch inside a call', async () => {
    await shop.serves(await fixture.commit(shop, thief, [scriptedProgram.act([batch(await usdc(price))])]))
  })
})

/** One instruction for several: for each the number of its accounts, the length of its data, and the data. */
function batch(...parts: readonly Instruction[]): Instruction {
  const data = parts.flatMap((part) => [part.accounts?.length ?? 0, part.data?.length ?? 0, ...(part.data ?? [])])
  return {
    programAddress: (parts[0] as Instruction).programAddress,
    accounts: parts.flatMap((part) => part.accounts ?? []),
    data: Uint8Array.from([255, ...data]),
  }
}
