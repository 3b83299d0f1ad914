/** Where people receive tokens, made by the real programs. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findTokenAccount, systemProgram } from '../../src/chain/accounts/programs.ts'
import { decodeAddress } from '../../src/core/encoding/base58.ts'
import { type Mint, token2022Program } from '../../src/core/money/tokens.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { instruction, succeed } from '../harness/message.ts'
import { createMint, type Extension, extensions, mintTo } from '../harness/mint.ts'
import { honest, lying, NodeError, type NodeScript } from './nodes-fixture.ts'
import { createOffice, type PayoutFixture, signedIn, transfer } from './payout-fixture.ts'

let fixture: PayoutFixture
let authority: KeyPairSigner

beforeAll(async () => {
  fixture = await createOffice()
  authority = await fixture.person()
})
afterAll(() => fixture.close())

const dead: NodeScript = () => Promise.reject(new Error('no route'))
const stateOf = async (owner: string, mint: Mint) => (await fixture.outgoingWallet.readAccounts([owner], mint))?.[0]
/** The account as it is, with some of its bytes changed. */
function bend(account: string, change: (data: Uint8Array) => Uint8Array, owner?: string) {
  const now = fixture.localnet.getAccount(account)
  if (!now) throw new Error('no account')
  fixture.localnet.setAccount(account, { ...now, data: change(Uint8Array.from(now.data)), owner: owner ?? now.owner })
  fixture.localnet.advance(0, 1)
}

describe('the accounts of people', () => {
  it('are told in questions of a hundred, in their order, and SOL needs none', async () => {
    const ready = await fixture.people(3)
    const missing = await Promise.all(Array.from({ length: 247 }, async () => (await newSigner()).address))
    const owners = [...missing.slice(0, 120), ...ready, ...missing.slice(120)]
    const rpc = fixture.rpcOf([honest])
    const outgoingWallet = fixture.courierOf([honest], { rpc })
    const states = await outgoingWallet.readAccounts(owners, fixture.native)
    expect(states).toEqual(owners.map((owner) => (ready.includes(owner) ? 'ready' : 'missing')))
    // The mint is asked for, too.
    expect(rpc.calls().get('getMultipleAccounts')).toBe(3)
    expect(await outgoingWallet.readAccounts(owners.slice(0, 3), undefined)).toEqual(['ready', 'ready', 'ready'])
    expect(await outgoingWallet.readAccounts([], fixture.native)).toEqual([])
  })

  it('T155: are missing when they were closed, and ready when they are opened again', async () => {
    const person = await fixture.person()
    expect(await stateOf(person.address, fixture.native)).toBe('ready')
    const account = await fixture.tokenAccount(person.address, fixture.native)
    const all = await fixture.held(person.address, fixture.native)
    const burn = instruction(
      fixture.native.tokenProgram,
      [
        ['w', account],
        ['w', fixture.native.address],
        ['r', person],
      ],
      8,
      new Uint8Array(new BigUint64Array([all]).buffer),
    )
    const close = instruction(
      fixture.native.tokenProgram,
      [
        ['w', account],
        ['w', person.address],
        ['r', person],
      ],
      9,
    )
    await succeed(fixture, [burn, close], person)
    expect(await stateOf(person.address, fixture.native)).toBe('missing')
    const order = { mint: fixture.native, transfers: [transfer(person.address, 5n, true)], memo: 'again' }
    await fixture.land(signedIn(await fixture.outgoingWallet.sign(order)))
    expect(await stateOf(person.address, fixture.native)).toBe('ready')
  })

  it('T155: can be frozen', async () => {
    const mint = await createMint(fixture, authority)
    const person = await newSigner()
    await mintTo(fixture, mint, authority, { [person.address]: 0n })
    expect(await stateOf(person.address, mint)).toBe('ready')
    await fixture.freeze(person.address, mint, authority)
    expect(await stateOf(person.address, mint)).toBe('frozen')
  })

  it('T155: count as frozen where the mint opens them frozen', async () => {
    const mint = await createMint(fixture, authority, { extensions: [extensions.accountState(2)] })
    expect(await stateOf((await newSigner()).address, mint)).toBe('frozen')
    const usual = await createMint(fixture, authority, { extensions: [extensions.accountState(1)] })
    expect(await stateOf((await newSigner()).address, usual)).toBe('missing')
  })

  it('T155: are useless with another owner', async () => {
    const [person, thief] = [await fixture.person(), await newSigner()]
    const account = await fixture.tokenAccount(person.address, fixture.native)
    // Set authority, kind 2: the owner.
    const give = instruction(
      fixture.native.tokenProgram,
      [
        ['w', account],
        ['r', person],
      ],
      6,
      2,
      1,
      decodeAddress(thief.address) ?? [],
    )
    await succeed(fixture, [give], person)
    expect(await stateOf(person.address, fixture.native)).toBe('unusable')
    expect(await stateOf('not an address', fixture.native)).toBe('unusable')
  })

  it('are of no use when they are of another mint, another program, or no account at all', async () => {
    for (const change of [
      (account: string) => bend(account, (data) => data.fill(9, 0, 32)),
      (account: string) => bend(account, (data) => data, token2022Program),
      (account: string) => bend(account, (data) => data.slice(0, 100)),
    ]) {
      const [owner = ''] = await fixture.people(1)
      change(await findTokenAccount(owner, fixture.native.address, fixture.native.tokenProgram))
      expect(await stateOf(owner, fixture.native)).toBe('unusable')
    }
  })

  it('that demand a memo of their own are of no use in a batch', async () => {
    const mint = await createMint(fixture, authority, { tokenProgram: token2022Program })
    const person = await fixture.person()
    await mintTo(fixture, mint, authority, { [person.address]: 0n, [fixture.sender.address]: 50n })
    const account = await fixture.tokenAccount(person.address, mint)
    const other = await newSigner()
    await mintTo(fixture, mint, authority, { [other.address]: 0n })
    const demand = (wanted: 0 | 1) =>
      instruction(
        token2022Program,
        [
          ['w', account],
          ['r', person],
        ],
        30,
        wanted,
      )
    // Room for the demand, then the demand itself; 1 takes it back.
    const grow = instruction(
      token2022Program,
      [
        ['w', account],
        ['w', person],
        ['r', systemProgram],
        ['r', person],
      ],
      29,
      8,
      0,
    )
    await succeed(fixture, [grow, demand(0)], person)
    expect(await stateOf(person.address, mint)).toBe('unusable')
    const transfers = [transfer(other.address, 1n), transfer(person.address, 1n)]
    expect(await fixture.outgoingWallet.sign({ mint, transfers, memo: 'm' })).toMatchObject({
      kind: 'impossible',
      transfer: 1,
    })
    // The first transfer stands right behind the memo.
    expect((await fixture.outgoingWallet.sign({ mint, transfers: transfers.toReversed(), memo: 'm' })).kind).toBe(
      'signed',
    )
    await succeed(fixture, [demand(1)], person)
    expect(await stateOf(person.address, mint)).toBe('ready')
  })

  it('that take confidential transfers only are of no use', async () => {
    const mint = await createMint(fixture, authority, { tokenProgram: token2022Program })
    const states = []
    for (const allowed of [0, 1]) {
      const person = await newSigner()
      await mintTo(fixture, mint, authority, { [person.address]: 0n })
      bend(await fixture.tokenAccount(person.address, mint), (data) => {
        const longer = new Uint8Array(data.length + 4 + 295)
        longer.set(data)
        new DataView(longer.buffer).setUint16(data.length, 5, true)
        new DataView(longer.buffer).setUint16(data.length + 2, 295, true)
        longer[data.length + 4 + 262] = allowed
        return longer
      })
      states.push(await stateOf(person.address, mint))
    }
    expect(states).toEqual(['unusable', 'ready'])
  })

  it.each<[string, NodeScript]>([
    ['is dead', dead],
    ['refuses', () => Promise.reject(new NodeError(-32602))],
    ['tells too few', lying('getMultipleAccounts', () => ({ value: [null] }))],
    ['tells what is no account', lying('getMultipleAccounts', () => ({ value: [{}, {}] }))],
  ])('are not told by a node that %s', async (_name, script) => {
    const owners = await fixture.people(1)
    expect(await fixture.courierOf([script]).readAccounts(owners, fixture.native)).toBeUndefined()
    expect(await fixture.courierOf([script]).holdings([fixture.native])).toBeUndefined()
  })
})

describe('the cost of opening an account', () => {
  it.each<[string, readonly (() => Extension)[]]>([
    ['nothing', []],
    ['a transfer fee', [() => extensions.transferFee(100, authority.address)]],
    ['no transfers', [() => extensions.nonTransferable()]],
    ['a hook', [() => extensions.transferHook(systemProgram, authority.address)]],
    ['a pause', [() => extensions.pausable(authority.address)]],
    [
      'things that accounts do not care for',
      [() => extensions.permanentDelegate(authority.address), () => extensions.interest(authority.address, 5)],
    ],
    [
      'much of it',
      [
        () => extensions.transferFee(1, authority.address),
        () => extensions.transferHook(systemProgram, authority.address),
        () => extensions.pausable(authority.address),
        () => extensions.closeAuthority(authority.address),
      ],
    ],
  ])('equals the charge of the chain, for a mint with %s', async (_name, list) => {
    const mint = await createMint(fixture, authority, {
      tokenProgram: token2022Program,
      extensions: list.map((one) => one()),
    })
    const person = await newSigner()
    const cost = await fixture.outgoingWallet.openingCost(mint)
    const open = instruction(
      'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
      [
        ['w', authority],
        ['w', await fixture.tokenAccount(person.address, mint)],
        ['r', person.address],
        ['r', mint.address],
        ['r', systemProgram],
        ['r', token2022Program],
      ],
      1,
    )
    await succeed(fixture, [open], authority)
    expect(fixture.localnet.getAccount(await fixture.tokenAccount(person.address, mint))?.lamports).toBe(cost)
  })

  it('is that of 165 bytes under SPL Token, which is asked for without looking at the mint', async () => {
    const rpc = fixture.rpcOf([honest])
    expect(await fixture.courierOf([honest], { rpc }).openingCost(fixture.native)).toBe(2_039_280n)
    expect(Object.fromEntries(rpc.calls())).toEqual({ getMinimumBalanceForRentExemption: 1 })
  })

  it('is unknown for a mint with an unknown extension, for other accounts, and without a node', async () => {
    const mint = await createMint(fixture, authority, { extensions: [extensions.pausable(authority.address)] })
    bend(mint.address, (data) => {
      data[166] = 99
      return data
    })
    expect(await fixture.outgoingWallet.openingCost(mint)).toBeUndefined()
    const other = { ...fixture.native, tokenProgram: token2022Program }
    expect(await fixture.outgoingWallet.openingCost(other)).toBeUndefined()
    const nowhere = { ...mint, address: (await newSigner()).address }
    expect(await fixture.outgoingWallet.openingCost(nowhere)).toBeUndefined()
    expect(await fixture.courierOf([dead]).openingCost(fixture.native)).toBeUndefined()
  })
})

describe('holdings', () => {
  it('are usable ones, in the requested order', async () => {
    const { outgoingWallet, native, usdc, sender } = fixture
    const holdings = await outgoingWallet.holdings([usdc, native])
    expect(holdings).toEqual({
      lamports: await fixture.held(sender.address),
      units: [await fixture.held(sender.address, usdc), await fixture.held(sender.address, native)],
    })
    const mint = await createMint(fixture, authority)
    expect((await outgoingWallet.holdings([mint]))?.units).toEqual([0n])
    await mintTo(fixture, mint, authority, { [sender.address]: 77n })
    expect((await outgoingWallet.holdings([mint]))?.units).toEqual([77n])
    await fixture.freeze(sender.address, mint, authority)
    expect((await outgoingWallet.holdings([mint]))?.units).toEqual([0n])
  })
})
