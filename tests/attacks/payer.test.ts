/** Who paid: whoever ordered the transfer, and nobody who merely stood near it. */
import { address, createNoopSigner, type KeyPairSigner } from '@solana/kit'
import { getCreateAccountInstruction } from '@solana-program/system'
import {
  getApproveInstruction,
  getCloseAccountInstruction,
  getInitializeMultisig2Instruction,
  getTransferCheckedInstruction,
  getTransferInstruction,
} from '@solana-program/token'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import {
  type AttackedShop,
  type AttackFixture,
  type Attempt,
  createAttackFixture,
  expectNothing,
  price,
  signedBy,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo, newSigner } from '../harness/localnet-fixture.ts'
import { succeed } from '../harness/message.ts'
import { auxiliary, move, moveBetween } from '../harness/mint.ts'
import { deployScriptedProgram } from '../harness/scripted-program.ts'

let fixture: AttackFixture
let world: LocalnetFixture
let shop: AttackedShop
let payer: KeyPairSigner
let thief: KeyPairSigner
let destination: string
/** While it is set, the resource fails. */
let broken = false

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  shop = await fixture.open({}, () => (broken ? { status: 500, body: 'broken' } : { body: 'the secret' }))
  ;[payer, thief] = [await world.person(), await world.person()]
  destination = await world.tokenAccount(world.recipient.address, world.usdc)
})
afterAll(() => fixture.close())

const usdc = (units = price, from = payer) => move(world, world.usdc, from, world.recipient.address, units)
const as = async (attempt: Attempt, signer: KeyPairSigner, asSigner = false): Promise<Attempt> => ({
  ...attempt,
  more: await signedBy(fixture, shop, attempt, signer, { asSigner }),
})

describe('the payer named in the proof', () => {
  it('T39: is a wallet that had no part in it', async () => {
    const attempt = await fixture.commit(shop, payer, [await usdc()])
    await expectNothing(shop, 'payer_mismatch', { ...attempt, payer: thief })
    await shop.serves(attempt)
  })

  it('T39: is the sponsor that only paid the fee', async () => {
    const attempt = await fixture.commit(shop, payer, [await usdc()], { feePayer: thief })
    await expectNothing(shop, 'payer_mismatch', { ...attempt, payer: thief })
    await shop.serves(attempt)
  })

  it('T39: signed the transaction, and paid another wallet in it', async () => {
    const other = await move(world, world.usdc, thief, payer.address, price)
    const attempt = await fixture.commit(shop, payer, [await usdc(), other])
    await expectNothing(shop, 'payer_mismatch', { ...attempt, payer: thief })
    await shop.serves(attempt)
  })

  it('T+: is the token account from which it came, instead of the wallet', async () => {
    const attempt = await fixture.commit(shop, payer, [await usdc()])
    const account = await world.tokenAccount(payer.address, world.usdc)
    await expectNothing(shop, 'payer_mismatch', { ...attempt, payer: { address: account } })
  })

  it('T+: is the owner of money that a delegate spent', async () => {
    const source = await world.tokenAccount(payer.address, world.usdc)
    const approve = getApproveInstruction({ source, delegate: thief.address, owner: payer, amount: price })
    await succeed(world, [approve], payer)
    const attempt = await fixture.commit(shop, thief, [moveBetween(world.usdc, source, destination, price, thief)])
    await expectNothing(shop, 'payer_mismatch', { ...attempt, payer })
    await shop.serves(attempt)
  })

  it('T+: paid from an account that was opened and closed in the same transaction', async () => {
    const account = await auxiliary(payer, payer.address, world.usdc)
    const source = await world.tokenAccount(payer.address, world.usdc)
    const plan = [
      ...account.open,
      moveBetween(world.usdc, source, account.address, price, payer),
      getTransferInstruction({
        source: account.address,
        destination: address(destination),
        authority: payer,
        amount: price,
      }),
      getCloseAccountInstruction({ account: account.address, destination: payer.address, owner: payer }),
    ]
    await shop.serves(await fixture.commit(shop, payer, plan))
  })
})

/** Two of these three have to sign. */
async function createMultisig(members: readonly KeyPairSigner[]) {
  const multisig = await newSigner()
  const opening = {
    payer,
    newAccount: multisig,
    lamports: 4_000_000n,
    space: 355,
    programAddress: address(splTokenProgram),
  }
  const signers = members.map((member) => member.address)
  await succeed(
    world,
    [
      getCreateAccountInstruction(opening),
      getInitializeMultisig2Instruction({ multisig: multisig.address, m: 2, signers }),
    ],
    payer,
  )
  await world.localnet.fund(multisig.address, { USDC: 10n * price })
  return multisig.address
}

describe('a payer that cannot sign', () => {
  it('T+: a multisig pays, and only members that signed may claim it', async () => {
    const members = [await newSigner(), await newSigner(), await newSigner()] as const
    const multisig = await createMultisig(members)
    const transfer = getTransferCheckedInstruction({
      source: await world.tokenAccount(multisig, world.usdc),
      mint: address(world.usdc.address),
      destination: address(destination),
      authority: multisig,
      amount: price,
      decimals: 6,
      multiSigners: [members[0], members[2]],
    })
    const attempt = {
      ...(await fixture.commit(shop, payer, [transfer], { accept: 'sig' })),
      payer: { address: multisig },
    }
    await shop.refuses('signature_required', attempt)
    await shop.refuses('payer_mismatch', await as(attempt, members[1], true))
    await shop.refuses('payer_mismatch', await as(attempt, payer, true))
    await shop.refuses('signature_invalid', await as(attempt, members[2]))
    await shop.serves(await as(attempt, members[2], true))
  })

  it('T+: a smart wallet pays, and only a signer of its own instruction may speak for it', async () => {
    const scriptedProgram = await deployScriptedProgram(world)
    const owner = await newSigner()
    await world.localnet.fund(scriptedProgram.vault.address, { USDC: 10n * price })
    const paying = await move(
      world,
      world.usdc,
      scriptedProgram.vault.address,
      world.recipient.address,
      price,
      scriptedProgram.vault as never,
    )
    const committed = await fixture.commit(
      shop,
      payer,
      ({ requestId }) => [scriptedProgram.act([memo(requestId), paying], [owner])],
      { accept: 'sig', bare: true },
    )
    const attempt = { ...committed, payer: scriptedProgram.vault }
    await shop.refuses('payer_mismatch', await as(attempt, payer, true))
    await shop.serves(await as(attempt, owner, true))
  })
})

describe('a stranger that signs for a payer', () => {
  it('T+: that can sign for itself, and did, though both accounts were passed to the same instruction', async () => {
    const scriptedProgram = await deployScriptedProgram(world)
    const relayed = scriptedProgram.act([await usdc()], [thief])
    const attempt = await fixture.commit(shop, payer, [relayed], { accept: 'sig', feePayer: thief })
    await shop.refuses('payer_mismatch', await as(attempt, thief, true))
    await shop.serves(await as(attempt, payer))
  })

  it('T+: after the ledger has come to know the payment', async () => {
    const attempt = await fixture.commit(shop, payer, [await usdc()], { accept: 'sig' })
    broken = true
    const first = await shop.present(await as(attempt, payer))
    broken = false
    if (first.status !== 500) throw new Error('the resource did not fail')
    await shop.refuses('payer_mismatch', await as(attempt, thief, true))
    await shop.refuses('signature_invalid', await as(attempt, thief))
    await shop.serves(await as(attempt, payer))
  })

  it('T+: which the multisig behind a known payment may do, by a member', async () => {
    const members = [await newSigner(), await newSigner(), await newSigner()] as const
    const multisig = await createMultisig(members)
    const source = await world.tokenAccount(multisig, world.usdc)
    const transfer = getTransferCheckedInstruction({
      source,
      mint: address(world.usdc.address),
      destination: address(destination),
      authority: multisig,
      amount: price,
      decimals: 6,
      multiSigners: [members[0], members[1]],
    })
    const attempt = {
      ...(await fixture.commit(shop, payer, [transfer], { accept: 'sig' })),
      payer: createNoopSigner(multisig),
    }
    broken = true
    await shop.present(await as(attempt, members[0], true))
    broken = false
    await shop.refuses('payer_mismatch', await as(attempt, members[2], true))
    await shop.serves(await as(attempt, members[1], true))
  })
})
