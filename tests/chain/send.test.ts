import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readFunds } from '../../src/chain/accounts/balances.ts'
import { findTokenAccount } from '../../src/chain/accounts/programs.ts'
import type { SignedPayment } from '../../src/chain/send/message.ts'
import { confirm, readFate, readLifetime, submit } from '../../src/chain/send/send.ts'
import { createNodesFixture, honest, lying, NodeError, type NodeScript, type NodesFixture } from './nodes-fixture.ts'
import { signerOf } from './sender.ts'

let world: NodesFixture

beforeAll(async () => {
  world = await createNodesFixture()
})
afterAll(() => world.close())

const dead: NodeScript = () => Promise.reject(new Error('no route'))
/** Twenty seconds in one: what waits for seconds is tested in milliseconds. */
const fastClock = { now: () => 0, monotonic: () => performance.now() * 20 }
const absent = lying('getSignatureStatuses', () => ({ context: { slot: 2_000_000 }, value: [null] }))
const stale: NodeScript = async ({ method }, forward) =>
  method === 'isBlockhashValid' ? { context: { slot: 1_000_000 }, value: false } : forward()
const expiredSays: NodeScript = (question, forward) => absent(question, () => stale(question, forward))

describe('submit', () => {
  it('sends, and sends again without harm', async () => {
    const payment = await world.sign()
    expect(await submit(world.rpc, payment)).toEqual({ kind: 'sent' })
    expect((await confirm(world, payment, 2_000)).kind).toBe('landed')
    expect(await submit(world.rpc, payment)).toEqual({ kind: 'sent' })
  })

  it('says why a node would not take it', async () => {
    const poor = await world.sign({ token: { asset: 'SOL', units: 10n ** 18n, decimals: 9 } })
    const submission = await submit(world.rpc, poor)
    expect(submission).toMatchObject({ kind: 'rejected' })
    expect(JSON.stringify(submission)).toContain('InstructionError')
  })

  it('is unknown if no node responds, or one responds with another signature', async () => {
    const payment = await world.sign()
    expect((await submit(world.rpcOf([dead]), payment)).kind).toBe('unknown')
    const confused = lying('sendTransaction', () => '1'.repeat(64))
    expect((await submit(world.rpcOf([confused]), payment)).kind).toBe('unknown')
  })

  it('goes to the next node when one is out of reach', async () => {
    expect(await submit(world.rpcOf([dead, honest]), await world.sign({ requestId: 'next' }))).toEqual({ kind: 'sent' })
  })
})

describe('confirm', () => {
  it('asks a near node often, and stops at its first confirmation', async () => {
    const payment = await world.sign({ requestId: 'soon' })
    await submit(world.rpc, payment)
    expect(await confirm(world, payment, 2_000)).toMatchObject({ kind: 'landed', finalized: false })
    let asked = 0
    const near: NodeScript = async (question, forward) => {
      if (question.method !== 'getSignatureStatuses') return forward()
      asked += 1
      return asked < 6 ? { value: [null] } : forward()
    }
    expect((await confirm({ ...world, rpc: world.rpcOf([near]) }, payment, 2_000)).kind).toBe('landed')
    expect(asked).toBe(6)
  })

  it('does not hammer a node that is far away', async () => {
    let asked = 0
    const far: NodeScript = async (question, forward) => {
      if (question.method !== 'getSignatureStatuses') return forward()
      asked += 1
      await new Promise((resolve) => setTimeout(resolve, 40))
      return { value: [null] }
    }
    const payment = await world.sign()
    expect((await confirm({ ...world, rpc: world.rpcOf([far]) }, payment, 600)).kind).toBe('unknown')
    expect(asked).toBeLessThanOrEqual(6)
  })

  it('tells a failure from a success', async () => {
    const payment = await world.sign({ token: { asset: 'SOL', units: 10n ** 18n, decimals: 9 } })
    await world.rpc.call('sendTransaction', [payment.wire, { encoding: 'base64', skipPreflight: true }])
    expect(await confirm(world, payment, 2_000)).toMatchObject({
      kind: 'failed',
      error: expect.stringMatching(/Custom/),
    })
  })

  it('T61: waits past processed', async () => {
    const early = lying('getSignatureStatuses', () => ({
      value: [{ slot: 1, confirmations: 0, err: null, confirmationStatus: 'processed' }],
    }))
    const rpc = world.rpcOf([early])
    expect((await confirm({ ...world, rpc }, await world.sign(), 60)).kind).toBe('unknown')
  })

  it('sends the same bytes again when they were lost', async () => {
    const payment = await world.sign({ requestId: 'lost' })
    let lost = 1
    const losing: NodeScript = async (question, forward) => {
      if (question.method !== 'sendTransaction' || lost === 0) return forward()
      lost -= 1
      expect(question.params[0]).toBe(payment.wire)
      return payment.signature
    }
    const rpc = world.rpcOf([losing])
    expect(await submit(rpc, payment)).toEqual({ kind: 'sent' })
    expect((await confirm({ ...world, rpc, clock: fastClock }, payment, 60_000)).kind).toBe('landed')
    expect(rpc.calls().get('sendTransaction')).toBe(2)
  })

  it('finds out that it expired', async () => {
    const payment = await world.sign({ requestId: 'expires' })
    const rpc = world.rpcOf([honest])
    world.localnet.advanceSlots(400)
    expect(await confirm({ ...world, rpc, clock: fastClock }, payment, 60_000)).toEqual({ kind: 'expired' })
  })

  it('T149: does not know after the time-out', async () => {
    expect((await confirm({ ...world, rpc: world.rpcOf([dead]) }, await world.sign(), 50)).kind).toBe('unknown')
  })
})

const fateBy = (scripts: readonly NodeScript[], payment: SignedPayment) =>
  readFate({ rpc: world.rpcOf(scripts), genesis: world.genesis }, payment)

describe('fateOf', () => {
  it('T148: is not expired before a finalized slot that is not earlier than the one of signing', async () => {
    const payment = await world.sign()
    const asked: unknown[] = []
    const noted: NodeScript = (question, forward) => {
      if (question.method === 'isBlockhashValid') asked.push(question.params[1])
      return absent(question, forward)
    }
    expect((await fateBy([noted], payment)).kind).toBe('unknown')
    expect(asked).toEqual([{ commitment: 'finalized', minContextSlot: payment.slot }])
    const tooEarly: NodeScript = (question, forward) =>
      question.method === 'isBlockhashValid'
        ? Promise.resolve({ context: { slot: payment.slot - 1 }, value: false })
        : absent(question, forward)
    expect((await fateBy([tooEarly], payment)).kind).toBe('unknown')
  })

  it('T148: needs two nodes to say that it is gone, where there are two', async () => {
    const payment = await world.sign()
    expect(await fateBy([expiredSays], payment)).toEqual({ kind: 'expired' })
    expect((await fateBy([expiredSays, expiredSays], payment)).kind).toBe('expired')
    expect((await fateBy([expiredSays, honest], payment)).kind).toBe('unknown')
    expect((await fateBy([expiredSays, dead], payment)).kind).toBe('unknown')
    expect((await fateBy([expiredSays, honest, expiredSays], payment)).kind).toBe('expired')
  })

  it('T148: needs two nodes to say that it failed, where there are two', async () => {
    const payment = await world.pay({ requestId: 'slandered' })
    const failedSays = lying('getSignatureStatuses', () => ({
      value: [{ slot: 1, confirmations: null, err: 'AccountNotFound', confirmationStatus: 'finalized' }],
    }))
    const failed = { kind: 'failed', error: 'AccountNotFound' }
    expect(await fateBy([failedSays], payment)).toMatchObject(failed)
    expect(await fateBy([failedSays, dead, failedSays], payment)).toMatchObject(failed)
    expect(await fateBy([failedSays, dead], payment)).toEqual({
      kind: 'unknown',
      why: 'only one node reports that it failed',
    })
    expect((await fateBy([failedSays, honest], payment)).kind).toBe('landed')
    const rpc = world.rpcOf([failedSays, honest])
    expect((await confirm({ ...world, rpc }, payment, 2_000)).kind).toBe('landed')
  })

  it('T196: is not failed before the block of the failure is final', async () => {
    const payment = await world.sign({ requestId: 'fails on a fork' })
    const failedSays = lying('getSignatureStatuses', () => ({
      value: [{ slot: 1, confirmations: 1, err: 'AccountNotFound', confirmationStatus: 'confirmed' }],
    }))
    const unknown = { kind: 'unknown', why: 'it failed in a block that is not final yet' }
    expect(await fateBy([failedSays], payment)).toEqual(unknown)
    expect(await fateBy([failedSays, failedSays], payment)).toEqual(unknown)
    const rpc = world.rpcOf([failedSays])
    expect((await confirm({ ...world, rpc, clock: fastClock }, payment, 60_000)).kind).toBe('unknown')
  })

  it('T73, T148: is not told by a node of another chain', async () => {
    const foreign = lying('getGenesisHash', () => 'elsewhere')
    const gone: NodeScript = (question, forward) => foreign(question, () => expiredSays(question, forward))
    expect(await fateBy([gone], await world.sign())).toMatchObject({ kind: 'unknown' })
  })

  it('T73, T148: is not told by a node that comes back from another chain in the middle of the look', async () => {
    const payment = await world.pay({ requestId: 'home again' })
    let left = 2
    const returning: NodeScript = (question, forward) => (left-- > 0 ? expiredSays(question, forward) : forward())
    expect((await fateBy([returning], payment)).kind).toBe('landed')
    const leaving = await world.sign()
    let asked = 0
    // Of the right chain before the second look, and no longer after it.
    const gone: NodeScript = (question, forward) => {
      if (question.method === 'getGenesisHash') asked += 1
      return asked > 1 && question.method === 'getGenesisHash'
        ? Promise.resolve('elsewhere')
        : expiredSays(question, forward)
    }
    expect(await fateBy([gone], leaving)).toMatchObject({ kind: 'unknown' })
  })

  it('T147: landed on any node is landed', async () => {
    const payment = await world.pay({ requestId: 'landed' })
    expect((await fateBy([expiredSays, honest], payment)).kind).toBe('landed')
  })

  it('is found in the history long after', async () => {
    const payment = await world.pay({ requestId: 'old' })
    world.localnet.advanceSlots(400)
    expect(await readFate(world, payment)).toMatchObject({ kind: 'landed', finalized: true })
  })

  it.each<[string, NodeScript]>([
    ['no answer', () => Promise.reject(new NodeError(-32603))],
    ['a status that is no list', lying('getSignatureStatuses', () => ({ value: null }))],
    ['two statuses', lying('getSignatureStatuses', () => ({ value: [null, null] }))],
    [
      'a status without err',
      lying('getSignatureStatuses', () => ({ value: [{ slot: 1, confirmationStatus: 'finalized' }] })),
    ],
    [
      'a status without slot',
      lying('getSignatureStatuses', () => ({ value: [{ err: null, confirmationStatus: 'finalized' }] })),
    ],
  ])('%s tells nothing', async (_name, script) => {
    expect((await fateBy([script], await world.sign())).kind).toBe('unknown')
  })
})

describe('readLifetime', () => {
  it('is the chain own, or nothing', async () => {
    expect(await readLifetime(world.rpc)).toMatchObject({ blockhash: expect.any(String) })
    expect(await readLifetime(world.rpcOf([dead]))).toBeUndefined()
    expect(await readLifetime(world.rpcOf([lying('getLatestBlockhash', () => ({ value: {} }))]))).toBeUndefined()
  })
})

describe('readFunds', () => {
  const mints = () => Object.values(world.localnet.mints)

  it('reads in one call the usable balances, and whether the recipient is ready', async () => {
    const [wallet, stranger] = [(await signerOf(80)).address, (await signerOf(81)).address]
    await world.localnet.fund(wallet, { SOL: 3_000_000_000n, USDC: 42n })
    const [native, usdc] = [world.localnet.mints.NATIVE, world.localnet.mints.USDC]
    if (!native || !usdc) throw new Error('no mints')
    const rpc = world.rpcOf([honest])
    const funds = await readFunds(rpc, { wallet, recipient: world.shop.address, mints: [native, usdc] })
    expect(funds).toMatchObject({
      kind: 'funds',
      lamports: 3_000_000_000n,
      tokens: [
        { mint: native.address, units: 0n, recipientReady: false },
        { mint: usdc.address, units: 42n, frozen: false, recipientReady: true },
      ],
    })
    expect(Object.fromEntries(rpc.calls())).toEqual({ getMultipleAccounts: 1 })
    expect(await readFunds(rpc, { wallet: stranger, recipient: stranger, mints: [usdc] })).toMatchObject({
      lamports: 0n,
      recipientLamports: 0n,
      tokens: [{ units: 0n, recipientReady: false }],
    })
  })

  it('does not count frozen accounts, or accounts of another kind', async () => {
    const usdc = world.localnet.mints.USDC
    if (!usdc) throw new Error('no USDC')
    const question = { wallet: world.payer.address, recipient: world.shop.address, mints: [usdc] }
    const account = await findTokenAccount(question.wallet, usdc.address, usdc.tokenProgram)
    const bent = (change: (data: Buffer) => void, owner = usdc.tokenProgram) =>
      lying('getMultipleAccounts', (result) => {
        const { value } = result as { readonly value: { data: [string, string]; owner: string }[] }
        const entry = value[2]
        if (!entry) throw new Error('no account')
        const data = Buffer.from(entry.data[0], 'base64')
        change(data)
        value[2] = { ...entry, owner, data: [data.toString('base64'), 'base64'] }
        return { value }
      })
    const unitsOf = async (script: NodeScript) => {
      const funds = await readFunds(world.rpcOf([script]), question)
      return funds.kind === 'funds' ? funds.tokens[0] : funds
    }
    expect(await unitsOf(bent(() => {}))).toMatchObject({ account, units: expect.any(BigInt), frozen: false })
    expect(await unitsOf(bent((data) => data.writeUInt8(2, 108)))).toMatchObject({ units: 0n, frozen: true })
    expect(await unitsOf(bent((data) => data.writeUInt8(0, 108)))).toMatchObject({ units: 0n, frozen: false })
    expect(await unitsOf(bent((data) => data.fill(1, 0, 32)))).toMatchObject({ units: 0n })
    expect(await unitsOf(bent(() => {}, world.shop.address))).toMatchObject({ units: 0n })
  })

  it.each<[string, NodeScript]>([
    ['out of reach', dead],
    ['refusing', () => Promise.reject(new NodeError(-32602))],
    ['telling too few accounts', lying('getMultipleAccounts', () => ({ value: [null] }))],
    ['telling no list', lying('getMultipleAccounts', () => ({ value: null }))],
    ['telling accounts without data', lying('getMultipleAccounts', () => ({ value: Array(6).fill({ lamports: 1 }) }))],
  ])('is unavailable with a node that is %s', async (_name, script) => {
    const question = { wallet: world.payer.address, recipient: world.shop.address, mints: mints() }
    expect((await readFunds(world.rpcOf([script]), question)).kind).toBe('unavailable')
  })
})
