/** Our own client pays in tokens of Token-2022. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readFunds } from '../../src/chain/accounts/balances.ts'
import { createWallet, type Wallet } from '../../src/chain/keys/keypair.ts'
import { createRpc } from '../../src/chain/rpc/rpc.ts'
import { confirm, readLifetime, submit } from '../../src/chain/send/send.ts'
import { signPayment } from '../../src/chain/wallets/payment.ts'
import { readLimits } from '../../src/cli/payment-options.ts'
import { type Mint, splTokenProgram, token2022Program } from '../../src/core/money/tokens.ts'
import { computeGross } from '../../src/core/money/transfer-fee.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { buy, type ClientFixture, createClientFixture, expectError } from '../client/client-fixture.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { instruction, succeed } from '../harness/message.ts'
import { createMint, extensions, mintTo } from '../harness/mint.ts'

let fixture: ClientFixture
let issuer: KeyPairSigner
let payer: Wallet

beforeAll(async () => {
  fixture = await createClientFixture()
  issuer = await fixture.world.person()
  payer = await createWallet(new Uint8Array(32).fill(9))
  await fixture.world.localnet.fund(payer.address, { SOL: 1_000_000_000n })
})
afterAll(() => fixture.close())

it('a token of Token-2022 that it was told of', async () => {
  const mint = await createMint(fixture.world, issuer, { tokenProgram: token2022Program, decimals: 4 })
  await mintTo(fixture.world, mint, issuer, { [payer.address]: 1_000_000n })
  const shop = await fixture.open({ token: 'NATIVE', price: '0.5', mints: { NATIVE: mint }, waitSeconds: 5 })
  const options = { wallet: payer, tokens: ['NATIVE'] as const }
  const told = (text: string) => fixture.options({ ...options, ...readLimits({ ...noLimits, mint: [text] }) })
  const { text } = await buy(`${shop.url}/data`, told(`NATIVE=${mint.address}:4:token-2022`))
  expect(text).toBe('the secret')
  await expectError(buy(`${shop.url}/data`, told(`NATIVE=${mint.address}:4`)), 'mint_not_allowed')
})

const noLimits = { header: [], token: [], rpc: [], mint: [], protocol: [] }

it('--mint says which program it is', () => {
  const { address } = fixture.world.recipient
  const mintOf = (text: string) => readLimits({ ...noLimits, mint: [text] }).mints
  const native = { address, decimals: 9 }
  expect(mintOf(`NATIVE=${address}:9`)).toEqual({ NATIVE: { ...native, tokenProgram: splTokenProgram } })
  expect(mintOf(`native=${address}:9:token-2022`)).toEqual({ NATIVE: { ...native, tokenProgram: token2022Program } })
  for (const text of [
    `NATIVE=${address}:9:token`,
    `NATIVE=${address}:9:token-2022x`,
    `NATIVE=${address}`,
    'NATIVE=x:9',
  ]) {
    expect(() => mintOf(text)).toThrow('NATIVE=<address>:<decimals>, with :token-2022')
  }
})

it('T33: a price with a transfer fee on it, to an account that demands memos', async () => {
  const { world } = fixture
  const fee = { basisPoints: 125, maximum: 1_000_000n }
  const mint = await createMint(world, issuer, {
    extensions: [extensions.transferFee(fee.basisPoints, issuer.address, fee.maximum)],
  })
  const shop = await newSigner()
  await world.localnet.fund(shop.address, { SOL: 1_000_000_000n })
  await mintTo(world, mint, issuer, { [payer.address]: 1_000_000n, [shop.address]: 0n })
  const account = await world.tokenAccount(shop.address, mint)
  const system = '11111111111111111111111111111111'
  const grow = instruction(
    token2022Program,
    [
      ['w', account],
      ['w', shop],
      ['r', system],
      ['r', shop],
    ],
    29,
    8,
    0,
  )
  await succeed(
    world,
    [
      grow,
      instruction(
        token2022Program,
        [
          ['w', account],
          ['r', shop],
        ],
        30,
        0,
      ),
    ],
    shop,
  )
  const gross = computeGross(10_000n, [fee]) ?? 0n
  await pay(mint, shop.address, gross)
  const rpc = createRpc({ urls: [world.localnet.rpcUrl], transport: http.transport })
  const question = { wallet: shop.address, recipient: payer.address, mints: [mint] }
  expect(await readFunds(rpc, question)).toMatchObject({
    tokens: [{ account, units: 10_000n, frozen: false, recipientReady: true }],
  })
})

const http = createHttpTransport()
afterAll(() => http.close())

async function pay(mint: Mint, recipient: string, units: bigint): Promise<void> {
  const { localnet } = fixture.world
  const rpc = createRpc({ urls: [localnet.rpcUrl], transport: http.transport })
  const lifetime = await readLifetime(rpc)
  if (!lifetime) throw new Error('no blockhash')
  const token = { asset: mint.address, units, decimals: mint.decimals, tokenProgram: mint.tokenProgram }
  const signed = await signPayment({ ...lifetime, token, recipient, requestId: 'rid_1' }, payer)
  expect(await submit(rpc, signed)).toEqual({ kind: 'sent' })
  const parts = { rpc, clock: createWallClock(), genesis: localnet.genesisHash }
  expect(await confirm(parts, signed, 5_000)).toMatchObject({ kind: 'landed' })
}
