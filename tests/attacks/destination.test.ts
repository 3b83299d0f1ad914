/** Where the money went: to somebody else, in something else, or to another account than the one that was named. */
import { address, type KeyPairSigner } from '@solana/kit'
import {
  AuthorityType,
  getApproveInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getSetAuthorityInstruction,
  getSyncNativeInstruction,
} from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeAddress, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { type Mint, splTokenProgram, token2022Program } from '../../src/core/money/tokens.ts'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
  price,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { instruction, succeed } from '../harness/message.ts'
import { auxiliary, createMint, mintTo, move, moveBetween } from '../harness/mint.ts'
import { deployScriptedProgram } from '../harness/scripted-program.ts'

let fixture: AttackFixture
let world: LocalnetFixture
let shop: AttackedShop
let thief: KeyPairSigner
let recipient: KeyPairSigner

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  recipient = world.recipient
  shop = await fixture.open()
  thief = await world.person()
})
afterAll(() => fixture.close())

it('sells to an honest customer, once', async () => {
  const transfer = await move(world, world.usdc, fixture.honest, recipient.address, price)
  const attempt = await fixture.commit(shop, fixture.honest, [transfer])
  await shop.serves(attempt)
  await shop.refuses('payment_replay', attempt)
})

describe('another wallet is paid', () => {
  it('T3: a wallet that is not the recipient', async () => {
    const other = await world.person()
    const attempt = await fixture.commit(shop, thief, [await move(world, world.usdc, thief, other.address, price)])
    await expectNothing(shop, 'wrong_recipient', attempt)
  })

  it('T7: an account of the recipient that is not its associated one', async () => {
    const account = await auxiliary(thief, recipient.address, world.usdc)
    const source = await world.tokenAccount(thief.address, world.usdc)
    const transfer = moveBetween(world.usdc, source, account.address, price, thief)
    await expectNothing(shop, 'wrong_destination', await fixture.commit(shop, thief, [...account.open, transfer]))
  })

  it('T8: the associated account after its owner was changed, which also alarms the operator', async () => {
    const victim = await world.person()
    const lost = await fixture.open({ recipient: victim.address, scope: 'lost' })
    const destination = await world.tokenAccount(victim.address, world.usdc)
    const setOwner = getSetAuthorityInstruction({
      owned: destination,
      owner: victim,
      authorityType: AuthorityType.AccountOwner,
      newAuthority: thief.address,
    })
    await succeed(world, [setOwner], victim)
    const source = await world.tokenAccount(fixture.honest.address, world.usdc)
    const transfer = moveBetween(world.usdc, source, destination, price, fixture.honest)
    fixture.alarms.length = 0
    await lost.refuses('wrong_recipient', await fixture.commit(lost, fixture.honest, [transfer]))
    expect(fixture.alarms).toEqual(['token_account.lost'])
  })

  it('T+: an account that the thief hands over to the recipient in the same transaction', async () => {
    const account = await auxiliary(thief, thief.address, world.usdc)
    const source = await world.tokenAccount(thief.address, world.usdc)
    const attempt = await fixture.commit(shop, thief, [
      ...account.open,
      moveBetween(world.usdc, source, account.address, price, thief),
      getSetAuthorityInstruction({
        owned: account.address,
        owner: thief,
        authorityType: AuthorityType.AccountOwner,
        newAuthority: recipient.address,
      }),
    ])
    await expectNothing(shop, 'wrong_destination', attempt)
  })

  it('T+: the recipient itself, which the proof names as the payer', async () => {
    const attempt = await fixture.commit(shop, thief, [await move(world, world.usdc, thief, recipient.address, price)])
    await expectNothing(shop, 'payer_mismatch', { ...attempt, payer: recipient })
    await shop.serves(attempt)
  })
})

describe('something else is paid', () => {
  const pays = async (mint: Mint, authority: KeyPairSigner) => {
    await mintTo(world, mint, authority, { [thief.address]: 10n * price, [recipient.address]: 0n })
    return fixture.commit(shop, thief, [await move(world, mint, thief, recipient.address, price)])
  }

  it('T4: another mint', async () => {
    await expectNothing(shop, 'wrong_mint', await pays(await createMint(world, thief), thief))
  })

  it('T+: a mint of the other token program, in the account that this program derives for the recipient', async () => {
    const twin = await createMint(world, thief, { tokenProgram: token2022Program })
    await expectNothing(shop, 'wrong_mint', await pays(twin, thief))
  })

  it('T5: a mint with an address that begins and ends like the real one', async () => {
    const bytes = (decodeAddress(world.usdc.address) as Uint8Array).slice()
    bytes[16] = (bytes[16] as number) ^ 1
    const twin = { ...world.usdc, address: encodeBase58(bytes) }
    expect(twin.address.slice(0, 12)).toBe(world.usdc.address.slice(0, 12))
    const model = await createMint(world, thief)
    world.localnet.setAccount(twin.address, world.localnet.getAccount(model.address))
    await expectNothing(shop, 'wrong_mint', await pays(twin, thief))
  })

  it('T5: a mint that calls itself USDC', async () => {
    // The metadata lies in the mint itself: symbol and name as the real one, and the same decimals.
    const text = (value: string) => [value.length, 0, 0, 0, ...new TextEncoder().encode(value)]
    const mint = await newSigner()
    const key = decodeAddress(mint.address) as Uint8Array
    const pointer = { bytes: 64, data: [39, 0, decodeAddress(thief.address) as Uint8Array, key] }
    const named = await createMint(world, thief, { extensions: [pointer], signer: mint })
    const initialize = Uint8Array.from([210, 225, 30, 162, 88, 184, 77, 141])
    await succeed(
      world,
      [
        instruction(
          token2022Program,
          [
            ['w', mint.address],
            ['r', thief.address],
            ['r', mint.address],
            ['r', thief],
          ],
          initialize,
          text('USD Coin'),
          text('USDC'),
          text('https://usdc.example'),
        ),
      ],
      thief,
    )
    await expectNothing(shop, 'wrong_mint', await pays(named, thief))
  })

  it('T6: nothing, by a program of the thief that takes the bytes of a transfer and does nothing', async () => {
    const scriptedProgram = await deployScriptedProgram(world)
    const real = await move(world, world.usdc, thief, recipient.address, price)
    await expectNothing(
      shop,
      'no_transfer',
      await fixture.commit(shop, thief, [{ ...real, programAddress: scriptedProgram.address }]),
    )
  })

  it('T20: wrapped SOL where SOL is asked for', async () => {
    const solTill = await fixture.open({ token: 'SOL', price: '0.001', scope: 'sol' })
    const wrapped = {
      address: 'So11111111111111111111111111111111111111112',
      decimals: 9,
      tokenProgram: splTokenProgram,
    }
    const accounts = await Promise.all(
      [thief, recipient].map(({ address: owner }) => world.tokenAccount(owner, wrapped)),
    )
    const [source, destination] = accounts as [(typeof accounts)[0], (typeof accounts)[0]]
    const opening = [thief, recipient].map((owner, index) =>
      getCreateAssociatedTokenIdempotentInstruction({
        payer: thief,
        ata: accounts[index] as (typeof accounts)[0],
        owner: owner.address,
        mint: address(wrapped.address),
      }),
    )
    const wrap = [
      await world.transfer(thief, source as string, 'SOL', 50_000_000n),
      getSyncNativeInstruction({ account: source }),
    ]
    await succeed(world, [...opening, ...wrap], thief)
    const attempt = await fixture.commit(solTill, thief, [moveBetween(wrapped, source, destination, 1_000_000n, thief)])
    await expectNothing(solTill, 'wrong_mint', attempt)
  })
})

describe('no balance grows', () => {
  it.each([
    ['T12: the recipient pays itself, from its account into the same account', 'same'],
    ['T12: the recipient pays itself, from another account of its own', 'other'],
    ['T12: a delegate of the recipient pays it with its own money', 'delegate'],
  ])('%s', async (_name, way) => {
    await world.localnet.fund(recipient.address, { USDC: price })
    const destination = await world.tokenAccount(recipient.address, world.usdc)
    const second = await auxiliary(recipient, recipient.address, world.usdc)
    await succeed(
      world,
      [
        ...second.open,
        moveBetween(world.usdc, destination, second.address, price, recipient),
        getApproveInstruction({ source: second.address, delegate: thief.address, owner: recipient, amount: price }),
      ],
      recipient,
    )
    await world.localnet.fund(recipient.address, { USDC: price })
    const authority = way === 'delegate' ? thief : recipient
    const source = way === 'same' ? destination : second.address
    const transfer = moveBetween(world.usdc, source, destination, price, authority)
    await expectNothing(shop, 'self_payment', await fixture.commit(shop, authority, [transfer]))
  })

  it('T12: the recipient collects from a customer that made it a delegate, and claims to be the payer', async () => {
    const source = await world.tokenAccount(thief.address, world.usdc)
    const destination = await world.tokenAccount(recipient.address, world.usdc)
    const approve = getApproveInstruction({ source, delegate: recipient.address, owner: thief, amount: price })
    await succeed(world, [approve], thief)
    const collect = moveBetween(world.usdc, source, destination, price, recipient)
    await expectNothing(shop, 'self_payment', await fixture.commit(shop, recipient, [collect]))
  })

  it('T12: the recipient sends SOL to itself', async () => {
    const solTill = await fixture.open({ token: 'SOL', price: '0.001', scope: 'sol-self' })
    const transfer = await world.transfer(recipient, recipient.address, 'SOL', 1_000_000n)
    await expectNothing(solTill, 'self_payment', await fixture.commit(solTill, recipient, [transfer]))
  })

  it('T14: a transfer of nothing, which the chain allows', async () => {
    const attempt = await fixture.commit(shop, thief, [await move(world, world.usdc, thief, recipient.address, 0n)])
    const { body } = await expectNothing(shop, 'underpaid', attempt)
    expect(body).toMatchObject({ required: '0.01', received: '0' })
  })
})
