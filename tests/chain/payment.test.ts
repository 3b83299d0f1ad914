import { decompileTransactionMessage, getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findTokenAccount, memoProgram, systemProgram } from '../../src/chain/accounts/programs.ts'
import { createWallet, type Wallet } from '../../src/chain/keys/keypair.ts'
import { decodeTransaction, verifySignatures } from '../../src/chain/read/decode.ts'
import { type PaymentOrder, signPayment } from '../../src/chain/wallets/payment.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { splTokenProgram, token2022Program } from '../../src/core/money/tokens.ts'
import { judge } from '../../src/core/payment/verify.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createNodesFixture, type NodesFixture } from './nodes-fixture.ts'
import { instruction, send, signerOf } from './sender.ts'

let world: NodesFixture
let usdc: { readonly asset: string; readonly units: bigint; readonly decimals: number; readonly tokenProgram: string }
const computeBudget = 'ComputeBudget111111111111111111111111111111'
const associated = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
const u64 = (value: bigint) => [...new Uint8Array(new BigUint64Array([value]).buffer)]

beforeAll(async () => {
  world = await createNodesFixture()
  const mint = world.localnet.mints.USDC
  if (!mint) throw new Error('no USDC')
  usdc = { asset: mint.address, units: 10_000n, decimals: 6, tokenProgram: mint.tokenProgram }
})
afterAll(() => world.close())

/** As the library reads it. */
function decompile(wire: string) {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(wire, 'base64'))
  return decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(messageBytes) as never)
}
const programsOf = (wire: string) => decompile(wire).instructions.map((one) => one.programAddress as string)

async function judged(signature: string, token: PaymentOrder['token'], recipient: string, payer = world.payer.address) {
  const effect = await world.effectOf(signature)
  const destination =
    token.asset === 'SOL' ? recipient : await findTokenAccount(recipient, token.asset, token.tokenProgram ?? '')
  const option = { token: 'USDC' as const, ...token, destination }
  const verdict = judge(effect, { requestId: 'rid_1', recipient, options: [option] }, { address: payer })
  return verdict.kind === 'refused' ? verdict.code : verdict
}

describe('a payment', () => {
  it('in SOL: budget, memo, transfer; signed once, by the payer, version 0', async () => {
    const { wire, signature } = await world.sign()
    expect(programsOf(wire)).toEqual([computeBudget, computeBudget, memoProgram, systemProgram])
    const decoding = decodeTransaction(Buffer.from(wire, 'base64'))
    if (decoding.kind !== 'transaction') throw new Error(decoding.why)
    const { transaction } = decoding
    expect(transaction.version).toBe(0)
    expect(transaction.signatures.map(encodeBase58)).toEqual([signature])
    expect(transaction.keys.slice(0, 1).map(encodeBase58)).toEqual([world.payer.address])
    expect(verifySignatures(transaction, createVerifier())).toBe(true)
  })

  it('has the requestId and nothing else in its memo, and no account beside it', async () => {
    const { wire } = await world.sign({ requestId: 'rid-_09' })
    const memo = decompile(wire).instructions[2]
    expect(memo?.accounts ?? []).toEqual([])
    expect(Buffer.from(memo?.data ?? []).toString()).toBe('rid-_09')
  })

  it('lands in SOL and is judged as paid', async () => {
    const { signature } = await world.pay()
    const token = { asset: 'SOL', units: 1_000_000n, decimals: 9 }
    expect(await judged(signature, token, world.shop.address)).toMatchObject({ kind: 'paid', received: 1_000_000n })
  })

  it('lands in a token', async () => {
    const { signature, wire } = await world.pay({ token: usdc })
    expect(programsOf(wire).slice(2)).toEqual([memoProgram, splTokenProgram])
    expect(await judged(signature, usdc, world.shop.address)).toMatchObject({ kind: 'paid', received: 10_000n })
  })

  it('opens the account of a recipient that has none, when asked to', async () => {
    const recipient = (await signerOf(60)).address
    await expect(world.pay({ token: usdc, recipient })).rejects.toThrow('not sent')
    const { signature, wire } = await world.pay({ token: usdc, recipient, createAccount: true })
    expect(programsOf(wire).slice(2)).toEqual([associated, memoProgram, splTokenProgram])
    expect(await judged(signature, usdc, recipient)).toMatchObject({ kind: 'paid' })
    // Asked twice does no harm.
    await world.pay({ token: usdc, recipient, createAccount: true, requestId: 'rid_2' })
  })

  it('sets the compute limit and the price of a unit', async () => {
    const { wire } = await world.sign({ token: usdc, createAccount: true })
    const [limit, price] = decompile(wire).instructions
    expect([...(limit?.data ?? [])]).toEqual([2, ...u64(150_000n).slice(0, 4)])
    expect([...(price?.data ?? [])]).toEqual([3, ...u64(10_000n)])
  })

  it('fits into a packet with the longest requestId', async () => {
    const { wire } = await world.sign({ token: usdc, createAccount: true, requestId: 'r'.repeat(128) })
    expect(Buffer.from(wire, 'base64').length).toBeLessThan(1_232)
  })

  it('remembers until when it can land', async () => {
    const order = await world.order()
    expect((await signPayment(order, world.payer)).slot).toBe(order.slot)
  })

  it('is not made of a mint without its program, nor by a wallet that does not sign', async () => {
    const { tokenProgram: _, ...bare } = usdc
    await expect(world.sign({ token: bare })).rejects.toThrow(TypeError)
    const mute: Wallet = { ...world.payer, signTransaction: async () => new Uint8Array() }
    await expect(world.sign({}, mute)).rejects.toThrow('did not return a transaction')
    const idle: Wallet = { ...world.payer, signTransaction: async (transaction) => transaction }
    await expect(world.sign({}, idle)).rejects.toThrow('did not sign')
  })

  it('is not sent when the wallet changed how long it can land', async () => {
    const order = await world.order()
    const blockhash = encodeBase58(new Uint8Array(32).fill(7))
    const other = await signPayment({ ...order, blockhash }, world.payer)
    const fresh: Wallet = { ...world.payer, signTransaction: async () => Buffer.from(other.wire, 'base64') }
    await expect(signPayment(order, fresh)).rejects.toThrow('changed the blockhash')
  })

  it('is not sent when the wallet dropped the memo', async () => {
    const order = await world.order()
    const other = await signPayment({ ...order, requestId: 'another' }, world.payer)
    const careless: Wallet = { ...world.payer, signTransaction: async () => Buffer.from(other.wire, 'base64') }
    await expect(signPayment(order, careless)).rejects.toThrow('removed the memo')
  })
})

describe('under Token-2022', () => {
  const mintSize = 278
  const accountSize = 170
  let feeMint: string
  let token: typeof usdc

  const plant = (address: string, size: number) =>
    world.localnet.setAccount(address, {
      lamports: 10_000_000n,
      data: new Uint8Array(size),
      owner: token2022Program,
      executable: false,
      rentEpoch: 0n,
    })

  beforeAll(async () => {
    const [payer, mint] = await Promise.all([signerOf(5), signerOf(70)])
    feeMint = mint.address
    token = { asset: feeMint, units: 1_000_000n, decimals: 6, tokenProgram: token2022Program }
    plant(feeMint, mintSize)
    const source = await findTokenAccount(payer.address, feeMint, token2022Program)
    const open = (owner: string, account: string) =>
      instruction(
        associated,
        `ws:${payer.address} w:${account} r:${owner} r:${feeMint} r:${systemProgram} r:${token2022Program}`,
        Uint8Array.of(1),
      )
    const setUp = [
      // A fee of one per cent, with nobody to change it.
      instruction(token2022Program, `w:${feeMint}`, Uint8Array.from([26, 0, 0, 0, 100, 0, ...u64(10n ** 15n)])),
      instruction(token2022Program, `w:${feeMint}`, Uint8Array.from([20, 6, ...(await bytesOf(payer.address)), 0])),
      open(payer.address, source),
      open(world.shop.address, await findTokenAccount(world.shop.address, feeMint, token2022Program)),
      instruction(
        token2022Program,
        `w:${feeMint} w:${source} s:${payer.address}`,
        Uint8Array.from([7, ...u64(10n ** 9n)]),
      ),
    ]
    const { fate } = await send(world, setUp, { signers: [payer] })
    if (fate.kind !== 'landed') throw new Error(JSON.stringify(fate))
  })

  async function bytesOf(address: string): Promise<Uint8Array> {
    const { decodeAddress } = await import('../../src/core/encoding/base58.ts')
    return decodeAddress(address) ?? new Uint8Array()
  }

  it('T33: is credited with the amount after the fee', async () => {
    const { signature } = await world.pay({ token })
    expect(await judged(signature, token, world.shop.address)).toBe('underpaid')
    const net = { ...token, units: 990_000n }
    expect(await judged(signature, net, world.shop.address)).toMatchObject({ kind: 'paid', received: 990_000n })
  })

  it('T33: also when the transfer tells its fee', async () => {
    const payer = await signerOf(5)
    const [from, to] = await Promise.all([
      findTokenAccount(payer.address, feeMint, token2022Program),
      findTokenAccount(world.shop.address, feeMint, token2022Program),
    ])
    const { signature } = await send(
      world,
      [
        instruction(memoProgram, '', new TextEncoder().encode('rid_1')),
        instruction(
          token2022Program,
          `w:${from} r:${feeMint} w:${to} s:${payer.address}`,
          Uint8Array.from([26, 1, ...u64(1_000_000n), 6, ...u64(10_000n)]),
        ),
      ],
      { signers: [payer] },
    )
    const net = { ...token, units: 990_000n }
    expect(await judged(signature, net, world.shop.address)).toMatchObject({ kind: 'paid', received: 990_000n })
  })

  it('reaches an account that demands a memo right before each transfer', async () => {
    const shop = await signerOf(6)
    const account = await findTokenAccount(shop.address, feeMint, token2022Program)
    // Room for the demand, then the demand itself.
    const grow = instruction(
      token2022Program,
      `w:${account} ws:${shop.address} r:${systemProgram} s:${shop.address}`,
      Uint8Array.of(29, 8, 0),
    )
    const demand = instruction(token2022Program, `w:${account} s:${shop.address}`, Uint8Array.of(30, 0))
    const { fate } = await send(world, [grow, demand], { signers: [shop] })
    expect(fate.kind).toBe('landed')
    expect(world.localnet.getAccount(account)?.data.length).toBeGreaterThan(accountSize)
    const { signature } = await world.pay({ token })
    expect(await judged(signature, { ...token, units: 990_000n }, world.shop.address)).toMatchObject({ kind: 'paid' })
  })

  it('knows the accounts of both programs apart', async () => {
    const wallet = await createWallet(new Uint8Array(32).fill(5))
    expect(await findTokenAccount(wallet.address, feeMint, token2022Program)).not.toBe(
      await findTokenAccount(wallet.address, feeMint, splTokenProgram),
    )
  })
})
