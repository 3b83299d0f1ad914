/** Accounts that change hands, close, or become another in the very transaction that pays. */
import { type Address, address, type Instruction, type KeyPairSigner } from '@solana/kit'
import { getCreateAccountInstruction } from '@solana-program/system'
import {
  AuthorityType,
  getCloseAccountInstruction,
  getInitializeAccount3Instruction,
  getSetAuthorityInstruction,
  getTransferInstruction,
} from '@solana-program/token'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
  price,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { succeed } from '../harness/message.ts'
import { auxiliary, createMint, move, moveBetween } from '../harness/mint.ts'

let fixture: AttackFixture
let world: LocalnetFixture
let attackedShop: AttackedShop
let payer: KeyPairSigner
let recipient: KeyPairSigner
let source: Address
let destination: Address

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  recipient = world.recipient
  attackedShop = await fixture.open()
  payer = await world.person()
  source = await world.tokenAccount(payer.address, world.usdc)
  destination = await world.tokenAccount(recipient.address, world.usdc)
})
afterAll(() => fixture.close())

const handOver = (account: Address, from: KeyPairSigner, to: KeyPairSigner): Instruction =>
  getSetAuthorityInstruction({
    owned: account,
    owner: from,
    authorityType: AuthorityType.AccountOwner,
    newAuthority: to.address,
  })

describe('the recipient’s account', () => {
  it('T8: is transferred to another owner right after the payment', async () => {
    const careless = await world.person()
    const shop = await fixture.open({ recipient: careless.address, scope: 'careless' })
    const account = await world.tokenAccount(careless.address, world.usdc)
    const plan = [moveBetween(world.usdc, source, account, price, payer), handOver(account, careless, payer)]
    await shop.refuses('wrong_recipient', await fixture.commit(shop, payer, plan))
  })

  it('T10: is paid, while another account of the recipient with as much in it goes to the payer', async () => {
    const account = await auxiliary(recipient, recipient.address, world.usdc)
    await world.localnet.fund(recipient.address, { USDC: price })
    const filling = moveBetween(world.usdc, destination, account.address, price, recipient)
    await succeed(world, [...account.open, filling], recipient)
    const plan = [
      moveBetween(world.usdc, source, destination, price, payer),
      handOver(account.address, recipient, payer),
    ]
    await expectNothing(attackedShop, 'underpaid', await fixture.commit(attackedShop, payer, plan))
  })

  it('T8: was lost, and comes back to it together with the payment', async () => {
    const lucky = await world.person()
    const shop = await fixture.open({ recipient: lucky.address, scope: 'lucky' })
    const account = await world.tokenAccount(lucky.address, world.usdc)
    await succeed(world, [handOver(account, lucky, payer)], lucky)
    const back = handOver(account, payer, lucky)
    // All that lies in it comes back too, but only what was sent counts as paid.
    const short = [back, moveBetween(world.usdc, source, account, price - 1n, payer)]
    await shop.refuses('underpaid', await fixture.commit(shop, payer, short))
    await succeed(world, [handOver(account, lucky, payer)], lucky)
    await shop.serves(await fixture.commit(shop, payer, [back, moveBetween(world.usdc, source, account, price, payer)]))
  })
})

describe('the account that pays', () => {
  it('T12: was the recipient’s a moment ago', async () => {
    const account = await auxiliary(recipient, recipient.address, world.usdc)
    await world.localnet.fund(recipient.address, { USDC: price })
    const filling = moveBetween(world.usdc, destination, account.address, price, recipient)
    await succeed(world, [...account.open, filling], recipient)
    const plan = [
      handOver(account.address, recipient, payer),
      moveBetween(world.usdc, account.address, destination, price, payer),
    ]
    await expectNothing(attackedShop, 'self_payment', await fixture.commit(attackedShop, payer, plan))
  })

  it('T+: held another token before, and was closed and opened anew on the way', async () => {
    const other = await createMint(world, payer)
    const account = await newSigner()
    const programAddress = address(splTokenProgram)
    const open = (mint: string) => [
      getCreateAccountInstruction({ payer, newAccount: account, lamports: 2_039_280n, space: 165, programAddress }),
      getInitializeAccount3Instruction({ account: account.address, mint: address(mint), owner: payer.address }),
    ]
    await succeed(world, open(other.address), payer)
    const plan = [
      getCloseAccountInstruction({ account: account.address, destination: payer.address, owner: payer }),
      ...open(world.usdc.address),
      moveBetween(world.usdc, source, account.address, price, payer),
      getTransferInstruction({ source: account.address, destination, authority: payer, amount: price }),
    ]
    await attackedShop.serves(await fixture.commit(attackedShop, payer, plan))
  })

  it('T+: is closed after it paid, and the rest of its money goes to the recipient as well', async () => {
    const account = await auxiliary(payer, payer.address, world.usdc)
    const plan = [
      ...account.open,
      moveBetween(world.usdc, source, account.address, price - 1n, payer),
      moveBetween(world.usdc, account.address, destination, price - 1n, payer),
      getCloseAccountInstruction({ account: account.address, destination: recipient.address, owner: payer }),
    ]
    await expectNothing(attackedShop, 'underpaid', await fixture.commit(attackedShop, payer, plan))
  })
})

describe('an order with more in it than is needed', () => {
  const padded = (order: Instruction): Instruction => ({
    ...order,
    data: Uint8Array.from([...(order.data ?? []), 1, 2, 3]),
  })

  it('T+: bytes behind a transfer of SOL', async () => {
    const shop = await fixture.open({ token: 'SOL', price: '0.001', scope: 'padded' })
    const transfer = await world.transfer(payer, recipient.address, 'SOL', 1_000_000n)
    await shop.serves(await fixture.commit(shop, payer, [padded(transfer)]))
  })

  it('T+: accounts behind those of a token transfer do not become payers', async () => {
    const bystander = await world.person()
    const transfer = await move(world, world.usdc, payer, recipient.address, price)
    const crowded = {
      ...transfer,
      accounts: [...(transfer.accounts ?? []), { address: bystander.address, role: 2 as const, signer: bystander }],
    }
    const attempt = await fixture.commit(attackedShop, payer, [crowded])
    await expectNothing(attackedShop, 'payer_mismatch', { ...attempt, payer: bystander })
    await attackedShop.serves(attempt)
  })
})
