import { createAddressWithSeed, type KeyPairSigner } from '@solana/kit'
import { getTransferSolInstruction, getTransferSolWithSeedInstruction } from '@solana-program/system'
import {
  getApproveInstruction,
  getCloseAccountInstruction,
  getInitializeMultisig2Instruction,
  getTransferCheckedInstruction,
  getTransferInstruction,
} from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findTokenAccount, memoProgram, systemProgram } from '../../src/chain/accounts/programs.ts'
import { decodeAddress } from '../../src/core/encoding/base58.ts'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import { type Effect, judge, type Quote } from '../../src/core/payment/verify.ts'
import { createNodesFixture, type NodesFixture } from './nodes-fixture.ts'
import { instruction, type SendOptions, send, signerOf } from './sender.ts'

let world: NodesFixture
let payer: KeyPairSigner
let shop: KeyPairSigner
let sponsor: KeyPairSigner
let usdc: string
let source: string
let destination: string

type Address = KeyPairSigner['address']
const as = (text: string) => text as Address
const u64 = (value: bigint) => [...new Uint8Array(new BigUint64Array([value]).buffer)]
const memo = (text = 'rid', program = memoProgram) => instruction(program, '', new TextEncoder().encode(text))
const sol = (from: KeyPairSigner, to: string, amount: bigint) =>
  getTransferSolInstruction({ source: from, destination: as(to), amount })
const checked = (amount: bigint, authority = payer, from = source, to = destination) =>
  getTransferCheckedInstruction({
    source: as(from),
    mint: as(usdc),
    destination: as(to),
    authority,
    amount,
    decimals: 6,
  })

beforeAll(async () => {
  world = await createNodesFixture()
  ;[payer, shop, sponsor] = await Promise.all([signerOf(5), signerOf(6), signerOf(7)])
  usdc = world.localnet.mints.USDC?.address ?? ''
  source = await findTokenAccount(payer.address, usdc, splTokenProgram)
  destination = await findTokenAccount(shop.address, usdc, splTokenProgram)
  await world.localnet.fund(sponsor.address, { SOL: 1_000_000_000n })
})
afterAll(() => world.close())

async function land(instructions: Parameters<typeof send>[1], options: Partial<SendOptions> = {}): Promise<Effect> {
  const { signature, fate } = await send(world, instructions, { signers: [payer], ...options })
  if (fate.kind !== 'landed') throw new Error(JSON.stringify(fate))
  return world.effectOf(signature)
}

function judged(effect: Effect, asset: 'SOL' | 'USDC', units: bigint, by = payer.address as string, signer?: string) {
  const option =
    asset === 'SOL'
      ? { token: asset, asset, decimals: 9, units, destination: shop.address }
      : { token: asset, asset: usdc, decimals: 6, units, destination }
  const quote: Quote = { requestId: 'rid', recipient: shop.address, options: [option] }
  const verdict = judge(effect, quote, { address: by, ...(signer !== undefined && { signer }) })
  return verdict.kind === 'refused' ? verdict.code : verdict.kind
}

describe('SOL that really moved', () => {
  it('T23: by System Transfer, with either memo program', async () => {
    for (const program of [memoProgram, 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo']) {
      const effect = await land([memo('rid', program), sol(payer, shop.address, 1_000n)])
      expect(judged(effect, 'SOL', 1_000n)).toBe('paid')
      expect(judged(effect, 'SOL', 1_001n)).toBe('underpaid')
      expect(judged(effect, 'SOL', 1_000n, sponsor.address)).toBe('payer_mismatch')
    }
  })

  it.each(['legacy', 0, 1] as const)('T32: in a transaction of version %s', async (version) => {
    const effect = await land([memo(), sol(payer, shop.address, 1_000n)], { version })
    expect(judged(effect, 'SOL', 1_000n)).toBe('paid')
  })

  it('T19: by TransferWithSeed', async () => {
    const derived = await createAddressWithSeed({
      baseAddress: payer.address,
      seed: 'till',
      programAddress: as(systemProgram),
    })
    await land([sol(payer, derived, 5_000_000n)])
    const effect = await land([
      memo(),
      getTransferSolWithSeedInstruction({
        source: derived,
        baseAccount: payer,
        destination: shop.address,
        amount: 2_000_000n,
        fromSeed: 'till',
        fromOwner: as(systemProgram),
      }),
    ])
    expect(judged(effect, 'SOL', 2_000_000n)).toBe('paid')
  })

  it('T21: when the recipient pays the fee', async () => {
    const effect = await land([memo(), sol(payer, shop.address, 1_000n)], { signers: [shop, payer] })
    expect(effect.feePayer).toBe(shop.address)
    expect(judged(effect, 'SOL', 1_000n)).toBe('paid')
  })

  it('T39: and not by the sponsor of the fee', async () => {
    const effect = await land([memo(), sol(payer, shop.address, 1_000n)], { signers: [sponsor, payer] })
    expect(judged(effect, 'SOL', 1_000n, sponsor.address)).toBe('payer_mismatch')
    expect(judged(effect, 'SOL', 1_000n)).toBe('paid')
  })

  it('T12: from the recipient to itself', async () => {
    const effect = await land([memo(), sol(shop, shop.address, 1_000n)], { signers: [shop] })
    expect(judged(effect, 'SOL', 1_000n, shop.address)).toBe('self_payment')
  })

  it('T1: or did not, because a later instruction failed', async () => {
    const { signature, fate } = await send(
      world,
      [memo(), sol(payer, shop.address, 1_000n), sol(payer, shop.address, 10n ** 18n)],
      { signers: [payer] },
    )
    expect(fate.kind).toBe('failed')
    const effect = await world.effectOf(signature)
    expect(effect).toMatchObject({ failed: true, memos: [], transfers: [] })
    expect(judged(effect, 'SOL', 1_000n)).toBe('tx_failed')
  })

  it('from a wallet with more lamports than a number can hold', async () => {
    const rich = await signerOf(9)
    const before = 9_007_199_254_740_993n + 10_000_000n
    const owner = systemProgram
    world.localnet.setAccount(rich.address, {
      lamports: before,
      data: new Uint8Array(),
      owner,
      executable: false,
      rentEpoch: 0n,
    })
    const effect = await land([memo(), sol(rich, shop.address, 1_000n)], { signers: [rich] })
    expect(effect.holdings[0]).toMatchObject({ account: rich.address, before, after: before - 1_000n - effect.fee })
    expect(judged(effect, 'SOL', 1_000n, rich.address)).toBe('paid')
  })
})

describe('tokens that really moved', () => {
  it('by TransferChecked', async () => {
    const effect = await land([memo(), checked(10_000n)])
    expect(judged(effect, 'USDC', 10_000n)).toBe('paid')
    expect(judged(effect, 'USDC', 10_001n)).toBe('underpaid')
  })

  it('T30: by Transfer, which does not name the mint', async () => {
    const effect = await land([
      memo(),
      getTransferInstruction({ source: as(source), destination: as(destination), authority: payer, amount: 10_000n }),
    ])
    expect(judged(effect, 'USDC', 10_000n)).toBe('paid')
  })

  it('T15: in two halves', async () => {
    expect(judged(await land([memo(), checked(4_000n), checked(6_000n)]), 'USDC', 10_000n)).toBe('paid')
  })

  it('by a Batch, of which no inner instruction tells', async () => {
    const accounts = [`w:${source}`, `w:${destination}`, `s:${payer.address}`].join(' ')
    const checkedAccounts = [`w:${source}`, `r:${usdc}`, `w:${destination}`, `s:${payer.address}`].join(' ')
    const data = Uint8Array.from([255, 3, 9, 3, ...u64(4_000n), 4, 10, 12, ...u64(6_000n), 6])
    const effect = await land([memo(), instruction(splTokenProgram, `${accounts} ${checkedAccounts}`, data)])
    expect(effect.transfers.map(({ units, asset }) => [units, asset])).toEqual([
      [4_000n, usdc],
      [6_000n, usdc],
    ])
    expect(judged(effect, 'USDC', 10_000n)).toBe('paid')
  })

  it('T31: to accounts that only a lookup table names', async () => {
    const table = (await signerOf(30)).address
    const entries = [destination, usdc, shop.address]
    const meta = new Uint8Array(56)
    meta[0] = 1
    meta.fill(0xff, 4, 12)
    world.localnet.setAccount(table, {
      lamports: 10_000_000n,
      data: Uint8Array.from([...meta, ...entries.flatMap((entry) => [...(decodeAddress(entry) ?? [])])]),
      owner: 'AddressLookupTab1e1111111111111111111111111',
      executable: false,
      rentEpoch: 0n,
    })
    const effect = await land([memo(), checked(10_000n), sol(payer, shop.address, 500n)], {
      tables: { [table]: entries },
    })
    expect(judged(effect, 'USDC', 10_000n)).toBe('paid')
    expect(judged(effect, 'SOL', 500n)).toBe('paid')
  })

  it('T10: and back again, by a delegate, in the same transaction', async () => {
    await land(
      [
        getApproveInstruction({
          source: as(destination),
          delegate: sponsor.address,
          owner: shop,
          amount: 10_000n,
        }),
      ],
      { signers: [shop] },
    )
    const effect = await land([memo(), checked(10_000n), checked(10_000n, sponsor, destination, source)], {
      signers: [payer, sponsor],
    })
    expect(judged(effect, 'USDC', 10_000n)).toBe('underpaid')
  })

  it('by an SPL multisig: its members are the signers', async () => {
    const [multisig, members] = [await signerOf(40), await Promise.all([41, 42, 43].map(signerOf))]
    const [first, second, third] = members as [KeyPairSigner, KeyPairSigner, KeyPairSigner]
    world.localnet.setAccount(multisig.address, {
      lamports: 10_000_000n,
      data: new Uint8Array(355),
      owner: splTokenProgram,
      executable: false,
      rentEpoch: 0n,
    })
    await land([
      getInitializeMultisig2Instruction({
        multisig: multisig.address,
        m: 2,
        signers: members.map((one) => one.address),
      }),
    ])
    await world.localnet.fund(multisig.address, { USDC: 50_000n })
    const from = await findTokenAccount(multisig.address, usdc, splTokenProgram)
    const transfer = getTransferCheckedInstruction({
      source: as(from),
      mint: as(usdc),
      destination: as(destination),
      authority: multisig.address,
      amount: 10_000n,
      decimals: 6,
      multiSigners: [first, third],
    })
    const effect = await land([memo(), transfer], { signers: [payer, first, third] })
    expect(effect.transfers).toMatchObject([{ authority: multisig.address, signers: [first.address, third.address] }])
    expect(judged(effect, 'USDC', 10_000n, multisig.address, third.address)).toBe('paid')
    expect(judged(effect, 'USDC', 10_000n, multisig.address, second.address)).toBe('payer_mismatch')
    expect(judged(effect, 'USDC', 10_000n, multisig.address, payer.address)).toBe('payer_mismatch')
  })

  it('T27: by a call from another program, under the top-level instruction that led to it', async () => {
    // The associated token program recovers what lies in a token account that belongs to a token account.
    const nested = await findTokenAccount(source, usdc, splTokenProgram)
    await world.localnet.fund(source, { USDC: 7_000n })
    const accounts = `w:${nested} r:${usdc} w:${source} w:${source} r:${usdc} ws:${payer.address} r:${splTokenProgram}`
    const recover = instruction('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL', accounts, Uint8Array.of(2))
    const effect = await land([memo(), recover])
    expect(effect.transfers).toEqual([
      {
        asset: usdc,
        destination: source,
        destinationOwner: payer.address,
        sourceOwner: source,
        authority: source,
        units: 7_000n,
        signers: [payer.address],
        memos: [],
      },
    ])
  })

  it('T37: without a payer, when they are minted', async () => {
    const [signature = ''] = await world.localnet.fund(shop.address, { USDC: 10_000n })
    expect((await world.effectOf(signature)).transfers).toEqual([])
  })

  it('T17: or lamports, when an account is closed', async () => {
    const owner = await signerOf(50)
    await world.localnet.fund(owner.address, { SOL: 10_000_000n, USDC: 0n })
    const account = await findTokenAccount(owner.address, usdc, splTokenProgram)
    const close = getCloseAccountInstruction({ account: as(account), destination: shop.address, owner })
    const effect = await land([memo(), close], { signers: [owner] })
    expect(judged(effect, 'SOL', 1_000n, owner.address)).toBe('no_transfer')
  })
})
