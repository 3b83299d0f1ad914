/** Methods that no session asks about, and what they refuse. */
import {
  AddressLookupTableAccount,
  AddressLookupTableProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { build, client, frozen, memo, newWallet, pay } from './client.ts'

const sol = 1_000_000_000n
const processed = { commitment: 'processed' }

let localnet: Localnet
let rpc: ReturnType<typeof client>
beforeEach(async () => {
  localnet = await startLocalnet(frozen)
  rpc = client(localnet)
})
afterEach(() => localnet.close())

async function funded() {
  const wallet = await newWallet()
  await localnet.fund(wallet.address, { SOL: 10n * sol })
  return wallet
}

describe('limits', () => {
  it.each([
    ['getSignatureStatuses', [new Array(257).fill('1'.repeat(64))], 'Too many inputs provided; max 256'],
    ['getMultipleAccounts', [new Array(101).fill('1'.repeat(32))], 'Too many inputs provided; max 100'],
    ['getRecentPrioritizationFees', [new Array(65).fill('1'.repeat(32))], 'Too many inputs provided; max 64'],
    ['getBlocksWithLimit', [0, 500_001], 'Limit too large; max 500000'],
    ['getSlotLeaders', [0, 5_001], 'Invalid limit; max 5000'],
    [
      'getProgramAccounts',
      ['1'.repeat(32), { filters: new Array(5).fill({ dataSize: 1 }) }],
      'Too many filters provided; max 4',
    ],
  ])('of %s', async (method, params, message) => {
    expect((await rpc.ask(method, ...params)).error).toEqual({ code: -32602, message })
  })

  it('of a range of blocks', async () => {
    localnet.advanceSlots(600_000)
    expect((await rpc.ask('getBlocks', 0, { commitment: 'confirmed' })).error?.message).toBe(
      'Slot range too large; max 500000',
    )
    expect(await rpc.get<number[]>('getBlocks', 599_990, { commitment: 'confirmed' })).toHaveLength(11)
  })
})

describe('transactions that cannot be resolved', () => {
  async function tableOf(addresses: readonly PublicKey[]) {
    const payer = Keypair.generate()
    await localnet.fund(payer.publicKey.toBase58(), { SOL: 10n * sol })
    const send = async (
      instructions: TransactionInstruction[],
      tables: AddressLookupTableAccount[] = [],
      config = {},
    ) => {
      const message = new TransactionMessage({
        payerKey: payer.publicKey,
        recentBlockhash: await rpc.blockhash(),
        instructions,
      })
      const transaction = new VersionedTransaction(message.compileToV0Message(tables))
      transaction.sign([payer])
      return rpc.send(Buffer.from(transaction.serialize()).toString('base64'), config)
    }
    const [create, key] = AddressLookupTableProgram.createLookupTable({
      authority: payer.publicKey,
      payer: payer.publicKey,
      recentSlot: localnet.slot() - 1,
    })
    expect((await send([create])).error).toBeUndefined()
    const shared = { payer: payer.publicKey, authority: payer.publicKey, lookupTable: key }
    for (let start = 0; start < addresses.length; start += 20) {
      const extend = AddressLookupTableProgram.extendLookupTable({
        ...shared,
        addresses: addresses.slice(start, start + 20),
      })
      expect((await send([extend])).error).toBeUndefined()
    }
    const state = {
      deactivationSlot: 2n ** 64n - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
      addresses: [...addresses],
    }
    return { payer, key, send, table: new AddressLookupTableAccount({ key, state }) }
  }
  const pays = (payer: Keypair, to: PublicKey) =>
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports: Number(sol) })
  const keys = (count: number) => Array.from({ length: count }, () => Keypair.generate().publicKey)

  it('cannot use addresses of a table in the slot that added them', async () => {
    const [to] = keys(1) as [PublicKey]
    const { payer, send, table } = await tableOf([to])
    expect((await send([pays(payer, to)], [table])).error).toMatchObject({
      code: -32602,
      message: 'invalid transaction: Transaction address table lookup uses an invalid index',
    })
    localnet.advanceSlots(1)
    expect((await send([pays(payer, to)], [table])).error).toBeUndefined()
    expect(await rpc.balance(to.toBase58())).toBe(1e9)
  })

  it('know tables that are not there, not tables, or too short', async () => {
    const [to, elsewhere] = keys(2) as [PublicKey, PublicKey]
    const { payer, send, table } = await tableOf([to])
    localnet.advanceSlots(1)
    const at = (key: PublicKey, addresses = [to]) =>
      new AddressLookupTableAccount({ key, state: { ...table.state, addresses } })
    const outcome = async (used: AddressLookupTableAccount) => (await send([pays(payer, to)], [used])).error?.message
    expect(await outcome(at(elsewhere))).toMatch(/address table account that doesn't exist/)
    expect(await outcome(at(new PublicKey(localnet.mints.USDC?.address ?? '')))).toMatch(/invalid owner/)
    expect(await outcome(at(table.key, [elsewhere, to]))).toMatch(/invalid index/)
    const broken = localnet.getAccount(table.key.toBase58())
    if (broken) localnet.setAccount(table.key.toBase58(), { ...broken, data: broken.data.subarray(0, 60) })
    expect(await outcome(table)).toMatch(/invalid data/)
  })

  it('lose a table some time after it was deactivated', async () => {
    const [to] = keys(1) as [PublicKey]
    const { payer, send, table, key } = await tableOf([to])
    localnet.advanceSlots(1)
    const end = AddressLookupTableProgram.deactivateLookupTable({ lookupTable: key, authority: payer.publicKey })
    expect((await send([end])).error).toBeUndefined()
    localnet.advanceSlots(100)
    expect((await send([pays(payer, to)], [table])).error).toBeUndefined()
    localnet.advanceSlots(600)
    expect((await send([pays(payer, to)], [table])).error).toMatchObject({
      code: -32602,
      message: "invalid transaction: Transaction loads an address table account that doesn't exist",
    })
  })

  it('may not name an account twice, nor more than 64', async () => {
    const many = keys(70)
    const { payer, send, table } = await tableOf(many)
    localnet.advanceSlots(1)
    const [first] = many as [PublicKey]
    const twice = new AddressLookupTableAccount({
      key: table.key,
      state: { ...table.state, addresses: [payer.publicKey] },
    })
    localnet.setAccount(table.key.toBase58(), replaceFirst(localnet, table.key, payer.publicKey))
    const both = pays(payer, first)
    both.keys.push({ pubkey: payer.publicKey, isSigner: false, isWritable: false })
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: await rpc.blockhash(),
      instructions: [pays(payer, first)],
    })
    const compiled = message.compileToV0Message([table])
    expect(twice.key.equals(table.key)).toBe(true)
    const transaction = new VersionedTransaction(compiled)
    transaction.sign([payer])
    expect((await rpc.send(Buffer.from(transaction.serialize()).toString('base64'))).error).toMatchObject({
      code: -32602,
      message: 'invalid transaction: Account loaded twice',
    })
    const crowd = memoTo(many.slice(1, 64))
    expect((await send([crowd], [table])).error).toMatchObject({
      code: -32602,
      message: 'invalid transaction: Transaction locked too many accounts',
    })
    expect((await send([memoTo(many.slice(1, 63))], [table], { skipPreflight: true })).error).toBeUndefined()
  })

  function memoTo(accounts: readonly PublicKey[]): TransactionInstruction {
    const instruction = pays(Keypair.generate(), Keypair.generate().publicKey)
    instruction.keys = accounts.map((pubkey) => ({ pubkey, isSigner: false, isWritable: false }))
    instruction.programId = new PublicKey('Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo')
    instruction.data = Buffer.from('x')
    return instruction
  }

  function replaceFirst(chain: Localnet, key: PublicKey, address: PublicKey) {
    const account = chain.getAccount(key.toBase58())
    if (!account) throw new Error('no table')
    const data = account.data.slice()
    data.set(address.toBytes(), 56)
    return { ...account, data }
  }
})

describe('fee payers', () => {
  it('leaves no trace of a transaction with an invalid fee payer, for any other error', async () => {
    const [payer, nowhere] = [await newWallet(), await newWallet()]
    const account = {
      lamports: 10n ** 9n,
      data: new Uint8Array(),
      owner: '1'.repeat(32),
      executable: false,
      rentEpoch: 0n,
    }
    for (const wrong of [
      undefined,
      { ...account, owner: localnet.faucetAddress },
      { ...account, data: new Uint8Array(5) },
      { ...account, lamports: 4_999n },
      { ...account, lamports: 890_880n + 4_999n },
    ]) {
      localnet.setAccount(payer.address, wrong)
      for (const program of [nowhere.address, 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr']) {
        const { wire, signature } = await build(payer, [memo('x', program)], await rpc.blockhash())
        await rpc.send(wire, { skipPreflight: true, maxRetries: 0 })
        expect(await rpc.status(signature)).toBeNull()
      }
      expect(localnet.getAccount(payer.address)?.lamports).toBe(wrong?.lamports)
    }
  })

  it('no account of another program, and none with data', async () => {
    const payer = await newWallet()
    const account = {
      lamports: 10n ** 9n,
      data: new Uint8Array(),
      owner: localnet.faucetAddress,
      executable: false,
      rentEpoch: 0n,
    }
    const outcome = async () => {
      const { wire } = await build(payer, [memo('x')], await rpc.blockhash())
      return (await rpc.send(wire)).error?.data?.['err']
    }
    localnet.setAccount(payer.address, account)
    expect(await outcome()).toBe('InvalidAccountForFee')
    localnet.setAccount(payer.address, { ...account, owner: '1'.repeat(32), data: new Uint8Array(5) })
    expect(await outcome()).toBe('InvalidAccountForFee')
    localnet.setAccount(payer.address, { ...account, owner: '1'.repeat(32), lamports: 4_999n })
    expect(await outcome()).toBe('InsufficientFundsForFee')
    localnet.setAccount(payer.address, { ...account, owner: '1'.repeat(32) })
    expect(await outcome()).toBeUndefined()
  })

  it('a nonce account only with its excess lamports', async () => {
    const payer = await newWallet()
    const data = new Uint8Array(80)
    data[0] = 1
    data[4] = 1
    const nonce = { data, owner: '1'.repeat(32), executable: false, rentEpoch: 0n }
    const outcome = async () => {
      const { wire } = await build(payer, [memo('x')], await rpc.blockhash())
      return (await rpc.send(wire)).error?.data?.['err']
    }
    localnet.setAccount(payer.address, { ...nonce, lamports: 1_447_680n + 4_999n })
    expect(await outcome()).toBe('InsufficientFundsForFee')
    localnet.setAccount(payer.address, { ...nonce, lamports: 1_447_680n + 5_000n })
    expect(await outcome()).toBeUndefined()
  })
})

describe('simulation', () => {
  it('checks signatures or replaces the blockhash, not both', async () => {
    const payer = await funded()
    const { wire } = await build(payer, [memo('x')], await rpc.blockhash())
    const config = { encoding: 'base64', sigVerify: true, replaceRecentBlockhash: true }
    expect((await rpc.ask('simulateTransaction', wire, config)).error?.message).toBe(
      'sigVerify may not be used with replaceRecentBlockhash',
    )
  })

  it('shows accounts as they would be, and no more than there are', async () => {
    const [payer, payee] = [await funded(), await newWallet()]
    const { wire } = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    const ask = (accounts: unknown) =>
      rpc.ask('simulateTransaction', wire, { encoding: 'base64', ...processed, accounts })
    const { result } = await ask({ addresses: [payee.address], encoding: 'base64' })
    expect(result).toMatchObject({ value: { accounts: [{ lamports: 1e9 }] } })
    expect((await ask({ addresses: [payee.address], encoding: 'base58' })).error?.message).toBe(
      'base58 encoding not supported',
    )
    expect((await ask({ addresses: new Array(4).fill(payee.address) })).error?.message).toMatch(
      /Too many accounts provided/,
    )
    expect(await rpc.balance(payee.address)).toBe(0)
  })
})

describe('answers that follow the chain', () => {
  it('prices: the lowest included one, excluding those that write to an account', async () => {
    const [payer, payee] = [await funded(), await newWallet()]
    const priced = (price: number) => ({
      programAddress: 'ComputeBudget111111111111111111111111111111' as never,
      data: Uint8Array.of(3, price & 255, price >> 8, 0, 0, 0, 0, 0, 0),
    })
    const send = async (price: number, to: string) => {
      const { wire } = await build(payer, [priced(price), pay(payer, to, sol)], await rpc.blockhash())
      expect((await rpc.send(wire)).error).toBeUndefined()
    }
    await send(700, payee.address)
    await send(300, localnet.faucetAddress)
    const slot = localnet.slot()
    localnet.advanceSlots(1)
    const at = async (...addresses: string[]) =>
      (await rpc.get<{ slot: number; prioritizationFee: number }[]>('getRecentPrioritizationFees', addresses)).find(
        (one) => one.slot === slot,
      )
    expect((await at())?.prioritizationFee).toBe(300)
    expect((await at(payee.address))?.prioritizationFee).toBe(700)
    expect((await at(localnet.faucetAddress))?.prioritizationFee).toBe(300)
    expect((await rpc.get<unknown[]>('getRecentPrioritizationFees')).length).toBe(slot + 1)
  })

  it('the price of a message, while its blockhash lives', async () => {
    const payer = await funded()
    const { wire } = await build(payer, [memo('x')], await rpc.blockhash())
    const message = Buffer.from(wire, 'base64').subarray(65).toString('base64')
    expect(await rpc.value('getFeeForMessage', message, processed)).toBe(5_000)
    localnet.advanceSlots(200)
    expect(await rpc.value('getFeeForMessage', message, processed)).toBeNull()
  })

  it('largest accounts, supply and production', async () => {
    const rich = await newWallet()
    await localnet.fund(rich.address, { SOL: 1_000_000n * sol })
    const largest = await rpc.value<{ address: string }[]>('getLargestAccounts', {
      ...processed,
      filter: 'circulating',
    })
    expect(largest[0]?.address).toBe(rich.address)
    const kept = await rpc.value<{ address: string }[]>('getLargestAccounts', {
      ...processed,
      filter: 'nonCirculating',
    })
    expect(kept.map(({ address }) => address)).toEqual([localnet.faucetAddress])
    const supply = await rpc.value<{ circulating: number; nonCirculatingAccounts: string[] }>('getSupply', processed)
    expect(supply.circulating).toBeGreaterThan(1e15)
    expect(supply.nonCirculatingAccounts).toEqual([localnet.faucetAddress])
    localnet.advanceSlots(10)
    localnet.rollback(3)
    const { identity } = await rpc.get<{ identity: string }>('getIdentity')
    const { byIdentity, range } = await rpc.value<{
      byIdentity: Record<string, number[]>
      range: { lastSlot: number }
    }>('getBlockProduction', processed)
    expect(byIdentity[identity]).toEqual([range.lastSlot + 1, range.lastSlot + 1 - 3])
    expect(await rpc.get('getSlotLeaders', 5, 2)).toEqual([identity, identity])
    expect(await rpc.get('getSlotLeader')).toBe(identity)
  })

  it('transactions counted at each commitment', async () => {
    const payer = await funded()
    const { wire } = await build(payer, [memo('x')], await rpc.blockhash())
    await rpc.send(wire)
    const counts = async () =>
      Promise.all(
        ['processed', 'confirmed', 'finalized'].map((commitment) => rpc.get('getTransactionCount', { commitment })),
      )
    expect(await counts()).toEqual([2, 1, 0])
    localnet.advanceSlots(40)
    expect(await counts()).toEqual([2, 2, 2])
  })

  it('program accounts by filter, in the order of their addresses', async () => {
    const owners = await Promise.all(Array.from({ length: 12 }, () => newWallet()))
    for (const { address } of owners) await localnet.fund(address, { USDC: 0n })
    const program = localnet.mints.USDC?.tokenProgram
    const all = await rpc.get<{ pubkey: string }[]>('getProgramAccounts', program, {
      ...processed,
      encoding: 'base64',
      filters: [{ dataSize: 165 }],
    })
    const bytes = all.map(({ pubkey }) => new PublicKey(pubkey).toBuffer())
    expect(bytes).toEqual([...bytes].sort(Buffer.compare))
    expect(all).toHaveLength(12)
    const one = { address: String(owners[0]?.address) }
    const memcmp = { offset: 32, bytes: one.address }
    const found = await rpc.value<{ account: { data: [string, string]; space: number } }[]>(
      'getProgramAccounts',
      program,
      {
        ...processed,
        withContext: true,
        encoding: 'base64',
        dataSlice: { offset: 32, length: 32 },
        filters: [{ memcmp }, 'tokenAccountState'],
      },
    )
    expect(
      found.map(({ account }) => [new PublicKey(Buffer.from(account.data[0], 'base64')).toBase58(), account.space]),
    ).toEqual([[one.address, 165]])
    const raw = {
      offset: 32,
      bytes: Buffer.from(new PublicKey(one.address).toBytes()).toString('base64'),
      encoding: 'base64',
    }
    expect(
      await rpc.get<unknown[]>('getProgramAccounts', program, {
        ...processed,
        encoding: 'base64',
        filters: [{ memcmp: raw }],
      }),
    ).toHaveLength(1)
  })

  it('zstd frames with the data inside', async () => {
    for (const size of [0, 1, 300, 131_072, 300_000]) {
      const { address } = await newWallet()
      const data = Uint8Array.from({ length: size }, (_, index) => index % 251)
      localnet.setAccount(address, {
        lamports: 10n ** 10n,
        data,
        owner: localnet.faucetAddress,
        executable: false,
        rentEpoch: 0n,
      })
      const { data: shown } = await rpc.value<{ data: [string, string] }>('getAccountInfo', address, {
        ...processed,
        encoding: 'base64+zstd',
      })
      expect(shown[1]).toBe('base64+zstd')
      expect(Buffer.compare(readFrame(Buffer.from(shown[0], 'base64')), data)).toBe(0)
    }
  })

  /** A reader of frames that hold stored blocks, after RFC 8878. */
  function readFrame(frame: Buffer): Buffer {
    expect(frame.readUInt32LE(0)).toBe(0xfd2fb528)
    expect(frame[4]).toBe(0b10100000)
    const size = frame.readUInt32LE(5)
    const parts: Buffer[] = []
    for (let at = 9, last = false; !last; ) {
      const head = frame.readUIntLE(at, 3)
      last = (head & 1) === 1
      expect((head >> 1) & 3).toBe(0)
      const length = head >> 3
      expect(length).toBeLessThanOrEqual(131_072)
      parts.push(frame.subarray(at + 3, at + 3 + length))
      at += 3 + length
      if (last) expect(at).toBe(frame.length)
    }
    const whole = Buffer.concat(parts)
    expect(whole).toHaveLength(size)
    return whole
  }
})

describe('history', () => {
  it('holds back versions a client cannot read', async () => {
    const payer = await funded()
    const slot = localnet.slot()
    const v0 = await build(payer, [memo('0')], await rpc.blockhash())
    const v1 = await build(payer, [memo('1')], await rpc.blockhash(), 1)
    await rpc.send(v0.wire)
    await rpc.send(v1.wire)
    localnet.advanceSlots(1)
    const confirmed = { commitment: 'confirmed' }
    const code = async (method: string, first: unknown, config: object) =>
      (await rpc.ask(method, first, { ...confirmed, ...config })).error?.code
    expect(await code('getTransaction', v0.signature, {})).toBe(-32015)
    expect(await code('getTransaction', v0.signature, { maxSupportedTransactionVersion: 0 })).toBeUndefined()
    expect(await code('getTransaction', v1.signature, { maxSupportedTransactionVersion: 0 })).toBe(-32015)
    expect(await code('getTransaction', v1.signature, { maxSupportedTransactionVersion: 1 })).toBeUndefined()
    for (const transactionDetails of ['full', 'accounts']) {
      expect(await code('getBlock', slot, { transactionDetails, maxSupportedTransactionVersion: 0 })).toBe(-32015)
      expect(await code('getBlock', slot, { transactionDetails, maxSupportedTransactionVersion: 1 })).toBeUndefined()
    }
    expect(await code('getBlock', slot, { transactionDetails: 'signatures' })).toBeUndefined()
  })

  it('does not start a page at an unconfirmed transaction', async () => {
    const payer = await funded()
    const sent = []
    for (const text of ['a', 'b', 'c']) {
      const built = await build(payer, [memo(text)], await rpc.blockhash())
      await rpc.send(built.wire)
      sent.push(built.signature)
      if (text === 'a') localnet.advanceSlots(1)
    }
    const listed = await rpc.get<{ signature: string }[]>('getSignaturesForAddress', payer.address, {
      commitment: 'confirmed',
      before: sent[2],
    })
    expect(listed.map(({ signature }) => signature)[0]).toBe(sent[0])
  })
})

describe('a program without its code', () => {
  it('stays where it is and cannot run', async () => {
    const [payer, program] = [await funded(), await newWallet()]
    const data = new Uint8Array(36)
    data[0] = 2
    data.fill(9, 4)
    const account = { lamports: 1_141_440n, data, executable: true, rentEpoch: 0n }
    for (const owner of [
      'BPFLoaderUpgradeab1e11111111111111111111111',
      'BPFLoader2111111111111111111111111111111111',
      payer.address,
    ]) {
      localnet.setAccount(program.address, { ...account, owner })
      const { wire, signature } = await build(payer, [memo(owner, program.address)], await rpc.blockhash())
      await rpc.send(wire, { skipPreflight: true })
      expect((await rpc.status(signature))?.err).toEqual(expect.anything())
      expect(localnet.getAccount(program.address)?.executable).toBe(true)
    }
  })
})
