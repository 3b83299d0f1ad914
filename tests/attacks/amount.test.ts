/** How much arrived: judged by what the recipient has more than before, never by what an instruction says. */
import { address, type KeyPairSigner } from '@solana/kit'
import { getApproveInstruction, getMintToInstruction } from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import type { Mint } from '../../src/core/money/tokens.ts'
import { doubtfulTraits } from '../../src/core/payment/token-rules.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
  price,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo } from '../harness/localnet-fixture.ts'
import { succeed, u64 } from '../harness/message.ts'
import { auxiliary, createMint, type Extension, extensions, mintTo, move, moveBetween } from '../harness/mint.ts'
import { deployScriptedProgram, type ScriptedProgram } from '../harness/scripted-program.ts'

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
  attackedShop = await fixture.open()
  thief = await world.person()
  scriptedProgram = await deployScriptedProgram(world)
})
afterAll(() => fixture.close())

const usdc = (units: bigint, from = thief) => move(world, world.usdc, from, recipient.address, units)

it('T1: a payment that failed later on, with its memo in the logs', async () => {
  const attempt = await fixture.commit(attackedShop, thief, [await usdc(price), await usdc(10n ** 18n)], {
    mayFail: true,
  })
  const { meta } = await world.rpc<{ meta: { err: unknown; logMessages: readonly string[] } }>('getTransaction', [
    attempt.tx,
    { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 },
  ])
  expect(meta.err).toEqual({ InstructionError: [2, { Custom: 1 }] })
  expect(meta.logMessages.join()).toContain(attempt.challenge.requestId)
  await expectNothing(attackedShop, 'tx_failed', attempt)
})

it('T2: a payment of which the node knows no outcome, until it does', async () => {
  const attempt = await fixture.commit(attackedShop, thief, [await usdc(price)])
  world.localnet.faults.intercept((method, _params, answer) =>
    method === 'getTransaction' && 'result' in answer
      ? { result: { ...(answer.result as object), meta: null } }
      : answer,
  )
  await attackedShop.refuses('chain_unavailable', attempt)
  world.localnet.faults.clear()
  await attackedShop.serves(attempt)
})

describe('the amount that arrived', () => {
  it.each([
    ['USDC', '0.01'],
    ['SOL', '0.001'],
    ['NATIVE', '0.5'],
  ] as const)('T45: one base unit of %s too little', async (token, decimal) => {
    const shop = await fixture.open({ token, price: decimal, scope: `short-${token}` })
    const units = { USDC: 10_000n, SOL: 1_000_000n, NATIVE: 500_000_000n }[token]
    const short = await world.transfer(thief, recipient.address, token, units - 1n)
    const { body } = await expectNothing(shop, 'underpaid', await fixture.commit(shop, thief, [short]))
    const received = { USDC: '0.009999', SOL: '0.000999999', NATIVE: '0.499999999' }[token]
    expect(body).toMatchObject({ token, required: decimal, received })
  })

  it('T46: a surplus is booked, and buys nothing else', async () => {
    const second = await attackedShop.challenge()
    const attempt = await fixture.commit(attackedShop, thief, [memo(second.requestId), await usdc(3n * price)])
    await attackedShop.serves(attempt)
    const row = await fixture.ledger.peek(decodeSignature(attempt.tx) as Uint8Array)
    expect(row).toMatchObject({ received: 3n * price, state: 'spent', remaining: 0n })
    await expectNothing(attackedShop, 'payment_replay', { ...attempt, challenge: second })
  })

  it('T15: two halves in one transaction are one payment', async () => {
    await attackedShop.serves(
      await fixture.commit(attackedShop, thief, [await usdc(price / 2n), await usdc(price / 2n)]),
    )
  })

  it('T15: two halves in two transactions are none', async () => {
    const first = await fixture.commit(attackedShop, thief, [await usdc(price / 2n)])
    const tx = await succeed(world, [memo(first.challenge.requestId), await usdc(price / 2n)], thief)
    await attackedShop.refuses('underpaid', first)
    await expectNothing(attackedShop, 'underpaid', { ...first, tx })
  })

  it('T16: half in USDC and the rest in SOL', async () => {
    const shop = await fixture.open({ acceptedMints: ['USDC', 'SOL'], scope: 'two-tokens' })
    const attempt = await fixture.commit(shop, thief, [
      await usdc(price / 2n),
      await world.transfer(thief, recipient.address, 'SOL', 40_000n),
    ])
    const { body } = await expectNothing(shop, 'underpaid', attempt)
    expect(body).toMatchObject({ token: 'USDC', required: '0.01', received: '0.005' })
  })

  it('T+: a crumb of one token beside the price in another', async () => {
    const shop = await fixture.open({ acceptedMints: ['USDC', 'SOL'], scope: 'crumbs' })
    const plan = (lamports: bigint) => world.transfer(thief, recipient.address, 'SOL', lamports)
    const quoted = BigInt(Math.round(Number((await shop.challenge()).amounts?.SOL) * 1e9))
    await shop.serves(await fixture.commit(shop, thief, [await usdc(1n), await plan(quoted)]))
    // Of two shortfalls the answer is about the payer's own, whatever strangers sent.
    const partner = await world.person()
    const attempt = await fixture.commit(shop, thief, [await usdc(price, partner), await plan(quoted - 1n)])
    const { body } = await expectNothing(shop, 'underpaid', attempt)
    expect(body).toMatchObject({ token: 'SOL' })
  })

  it('T+: two payers with one half each, and each of them claims the whole', async () => {
    const partner = await world.person()
    const attempt = await fixture.commit(attackedShop, thief, [await usdc(price / 2n), await usdc(price / 2n, partner)])
    await attackedShop.refuses('underpaid', attempt)
    await expectNothing(attackedShop, 'underpaid', { ...attempt, payer: partner })
  })

  it('T+: a payer that sends too little beside one that sends enough for another request', async () => {
    const partner = await world.person()
    const attempt = await fixture.commit(attackedShop, thief, [await usdc(1n), await usdc(price, partner)])
    const { body } = await expectNothing(attackedShop, 'underpaid', attempt)
    expect(body).toMatchObject({ received: '0.000001' })
    await attackedShop.serves({ ...attempt, payer: partner })
  })
})

describe('money that is taken back in the same transaction', () => {
  const back = (units: bigint, mint = world.usdc) => move(world, mint, recipient.address, thief.address, units, thief)

  beforeAll(async () => {
    const source = await world.tokenAccount(recipient.address, world.usdc)
    const approve = getApproveInstruction({ source, delegate: thief.address, owner: recipient, amount: 100n * price })
    await succeed(world, [approve], recipient)
  })

  it('T10: by a delegate of the recipient', async () => {
    const attempt = await fixture.commit(attackedShop, thief, [await usdc(price), await back(price)])
    const { body } = await expectNothing(attackedShop, 'underpaid', attempt)
    expect(body).toMatchObject({ received: '0' })
  })

  it('T+: the same coin paid in five times over', async () => {
    const round = [await usdc(price / 5n), await back(price / 5n)]
    const attempt = await fixture.commit(attackedShop, thief, [...round, ...round, ...round, ...round, ...round])
    await expectNothing(attackedShop, 'underpaid', attempt)
  })

  it('T+: or so it seems: a delegate moves it between accounts of the recipient', async () => {
    const account = await auxiliary(thief, recipient.address, world.usdc)
    const destination = await world.tokenAccount(recipient.address, world.usdc)
    const tidy = moveBetween(world.usdc, destination, account.address, price, thief)
    await attackedShop.serves(await fixture.commit(attackedShop, thief, [...account.open, await usdc(price), tidy]))
  })

  it('T+: the recipient pays a supplier from the payment of another customer', async () => {
    const [other, supplier] = [await world.person(), await world.person()]
    const supply = await move(world, world.usdc, recipient, supplier.address, price)
    await attackedShop.serves(
      await fixture.commit(attackedShop, thief, [await usdc(price), await usdc(price, other), supply]),
    )
  })

  it('T11: by the permanent delegate of a mint', async () => {
    const mint = await createMint(world, thief, { extensions: [extensions.permanentDelegate(thief.address)] })
    const shop = await openFor(mint, 'permanent')
    const pay = await move(world, mint, thief, recipient.address, price)
    const { body } = await expectNothing(
      shop,
      'underpaid',
      await fixture.commit(shop, thief, [pay, await back(price, mint)]),
    )
    expect(body).toMatchObject({ received: '0' })
  })
})

/** A shop that takes this mint as its own token, with customers who have some. */
async function openFor(mint: Mint, scope: string, more: Partial<ProviderOptions> = {}): Promise<AttackedShop> {
  await mintTo(world, mint, thief, {
    [thief.address]: 10n ** 9n,
    [fixture.honest.address]: 10n ** 9n,
    [recipient.address]: 0n,
  })
  const mints = { NATIVE: { ...mint, allow: doubtfulTraits } }
  return fixture.open({ token: 'NATIVE', price: '0.01', mints, scope, ...more })
}

describe('mints that have rules of their own', () => {
  const made = async (scope: string, ...added: readonly Extension[]) => {
    const mint = await createMint(world, thief, { extensions: added })
    return { mint, shop: await openFor(mint, scope) }
  }

  it('T33: a fee on transfers counts against the payer', async () => {
    const { mint, shop } = await made('fee', extensions.transferFee(100, thief.address))
    const pay = async (units: bigint) => move(world, mint, thief, recipient.address, units)
    const short = await fixture.commit(shop, thief, [await pay(price)])
    const { body } = await shop.refuses('underpaid', short)
    expect(body).toMatchObject({ required: '0.01', received: '0.0099' })
    // Neither worthless tokens nor SOL that come along make up for it.
    const worthless = await createMint(world, thief)
    await mintTo(world, worthless, thief, { [thief.address]: price, [recipient.address]: 0n })
    const alms = [
      await move(world, worthless, thief, recipient.address, price),
      await world.transfer(thief, recipient.address, 'SOL', price),
    ]
    await shop.refuses('underpaid', await fixture.commit(shop, thief, [await pay(price), ...alms]))
    // The recipient’s own outlay for the transaction is in SOL, and makes up for nothing.
    await shop.refuses('underpaid', await fixture.commit(shop, thief, [await pay(price)], { feePayer: recipient }))
    await shop.serves(await fixture.commit(shop, thief, [await pay(10_102n)]))
  })

  it('T33: a transfer that names its fee', async () => {
    const { mint, shop } = await made('named-fee', extensions.transferFee(100, thief.address))
    const withFee = async (units: bigint, fee: bigint) => {
      const plain = await move(world, mint, thief, recipient.address, units)
      return { ...plain, data: Uint8Array.from([26, 1, ...u64(units), mint.decimals, ...u64(fee)]) }
    }
    const { body } = await shop.refuses('underpaid', await fixture.commit(shop, thief, [await withFee(price, 100n)]))
    expect(body).toMatchObject({ received: '0.0099' })
    await shop.serves(await fixture.commit(shop, thief, [await withFee(10_102n, 102n)]))
  })

  it('T34: a hook runs foreign code at every transfer, and only the received amount counts', async () => {
    const { mint, shop } = await made('hook', extensions.transferHook(scriptedProgram.address, thief.address))
    const pay = async (units: bigint) => {
      const plain = await move(world, mint, thief, recipient.address, units)
      return { ...plain, accounts: [...(plain.accounts ?? []), { address: scriptedProgram.address, role: 0 as const }] }
    }
    await shop.serves(await fixture.commit(shop, thief, [await pay(price)]))
    await shop.refuses('underpaid', await fixture.commit(shop, thief, [await pay(price - 1n)]))
  })

  it.each([
    ['T36: interest makes the amount that people read larger', () => extensions.interest(thief.address, 32_767)],
    ['T36: a multiplier makes the amount that people read larger', () => extensions.scaledAmount(thief.address, 1_000)],
  ])('%s, and only the raw one counts', async (name, extension) => {
    const { mint, shop } = await made(name.split(' ')[1] ?? '', extension())
    const pay = async (units: bigint) => [await move(world, mint, thief, recipient.address, units)]
    await expectNothing(shop, 'underpaid', await fixture.commit(shop, thief, await pay(price - 1n)))
    await shop.serves(await fixture.commit(shop, thief, await pay(price)))
  })

  it('T37: newly minted money has no payer', async () => {
    const mint = await createMint(world, thief)
    const shop = await openFor(mint, 'minted')
    const token = await world.tokenAccount(recipient.address, mint)
    const create = getMintToInstruction({ mint: address(mint.address), token, mintAuthority: thief, amount: price })
    await expectNothing(shop, 'no_transfer', await fixture.commit(shop, thief, [create]))
  })

  it('T+: newly minted money beside a transfer of one unit', async () => {
    const mint = await createMint(world, thief)
    const shop = await openFor(mint, 'minted-beside')
    const token = await world.tokenAccount(recipient.address, mint)
    const create = getMintToInstruction({ mint: address(mint.address), token, mintAuthority: thief, amount: price })
    const crumb = await move(world, mint, thief, recipient.address, 1n)
    await expectNothing(shop, 'underpaid', await fixture.commit(shop, thief, [create, crumb]))
  })
})
