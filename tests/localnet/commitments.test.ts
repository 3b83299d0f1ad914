import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { build, client, frozen, memo, newWallet, pay } from './client.ts'

const sol = 1_000_000_000n
const levels = ['processed', 'confirmed', 'finalized'] as const

let localnet: Localnet
let rpc: ReturnType<typeof client>
beforeEach(async () => {
  localnet = await startLocalnet(frozen)
  rpc = client(localnet)
})
afterEach(() => localnet.close())

async function funded() {
  const wallet = await newWallet()
  await localnet.fund(wallet.address, { SOL: 10n * sol, USDC: 5_000_000n })
  localnet.advanceSlots(40)
  return wallet
}

async function paid() {
  const [payer, payee] = [await funded(), await newWallet()]
  const built = await build(payer, [pay(payer, payee.address, sol), memo('for you')], await rpc.blockhash())
  await rpc.send(built.wire)
  return { ...built, payer, payee }
}

describe('commitments', () => {
  it('show money as it becomes more certain', async () => {
    const { payee } = await paid()
    const seen = async () => Promise.all(levels.map((level) => rpc.balance(payee.address, level)))
    expect(await seen()).toEqual([1e9, 0, 0])
    localnet.advanceSlots(1)
    expect(await seen()).toEqual([1e9, 1e9, 0])
    localnet.advanceSlots(30)
    expect(await seen()).toEqual([1e9, 1e9, 0])
    localnet.advanceSlots(1)
    expect(await seen()).toEqual([1e9, 1e9, 1e9])
  })

  it('show transactions, statuses, signatures and blocks the same way', async () => {
    const { signature, payee } = await paid()
    const slot = localnet.slot()
    const look = async () => {
      const [confirmed, finalized] = await Promise.all(
        ['confirmed', 'finalized'].map(async (commitment) => {
          const config = { commitment, maxSupportedTransactionVersion: 0 }
          const found = await rpc.get('getTransaction', signature, config)
          const listed = await rpc.get<unknown[]>('getSignaturesForAddress', payee.address, { commitment })
          const block = await rpc.ask('getBlock', slot, { ...config, transactionDetails: 'signatures' })
          return [
            found !== null,
            listed.length,
            block.error?.code ?? (block.result as { signatures: string[] }).signatures.length,
          ]
        }),
      )
      return [(await rpc.status(signature))?.confirmationStatus, confirmed, finalized]
    }
    expect(await look()).toEqual(['processed', [false, 0, -32004], [false, 0, -32004]])
    localnet.advanceSlots(1)
    expect(await look()).toEqual(['confirmed', [true, 1, 1], [false, 0, -32004]])
    localnet.advanceSlots(31)
    expect(await look()).toEqual(['finalized', [true, 1, 1], [true, 1, 1]])
  })

  it('hold for token accounts, program accounts and supply too', async () => {
    const owner = await funded()
    const other = await newWallet()
    await localnet.fund(other.address, { USDC: 1n })
    const mint = localnet.mints.USDC?.address
    const count = async (commitment: string) => {
      const owned = await rpc.value<unknown[]>(
        'getTokenAccountsByOwner',
        other.address,
        { mint },
        { encoding: 'base64', commitment },
      )
      const held = await rpc.get<unknown[]>('getProgramAccounts', localnet.mints.USDC?.tokenProgram, {
        encoding: 'base64',
        commitment,
        filters: [{ dataSize: 165 }],
      })
      const supply = await rpc.value<{ amount: string }>('getTokenSupply', mint, { commitment })
      return [owned.length, held.length, supply.amount]
    }
    expect(await count('confirmed')).toEqual([1, 2, '5000001'])
    expect(await count('finalized')).toEqual([0, 1, '5000000'])
    expect(owner.address).not.toBe(other.address)
  })

  it('count confirmations until there is nothing left to count', async () => {
    const { signature } = await paid()
    const confirmations = async () =>
      ((await rpc.status(signature)) as unknown as { confirmations: number | null }).confirmations
    expect(await confirmations()).toBe(0)
    localnet.advanceSlots(5)
    expect(await confirmations()).toBe(5)
    localnet.advanceSlots(27)
    expect(await confirmations()).toBeNull()
  })

  it('forget a status after 300 slots unless history is searched', async () => {
    const { signature } = await paid()
    localnet.advanceSlots(301)
    expect(await rpc.status(signature)).toBeNull()
    const [found] = await rpc.value<unknown[]>('getSignatureStatuses', [signature], { searchTransactionHistory: true })
    expect(found).toMatchObject({ confirmationStatus: 'finalized', err: null })
  })

  it('rule preflight: money that is only confirmed does not pay at finalized', async () => {
    const wallet = await newWallet()
    await localnet.fund(wallet.address, { SOL: sol })
    const { wire } = await build(
      wallet,
      [memo('x')],
      await rpc.value<{ blockhash: string }>('getLatestBlockhash').then((v) => v.blockhash),
    )
    expect((await rpc.send(wire, { preflightCommitment: 'finalized' })).error?.data?.['err']).toBe('AccountNotFound')
    expect((await rpc.send(wire, { preflightCommitment: 'confirmed' })).error).toBeUndefined()
  })

  it('rule simulation, down to the clock programs see', async () => {
    const payer = await funded()
    const { wire } = await build(payer, [pay(payer, (await newWallet()).address, sol)], await rpc.blockhash())
    const sent = await build(payer, [pay(payer, (await newWallet()).address, 5n * sol)], await rpc.blockhash())
    await rpc.send(sent.wire)
    const left = async (commitment: string) => {
      const { postBalances } = await rpc.value<{ postBalances: number[] }>('simulateTransaction', wire, {
        encoding: 'base64',
        commitment,
        replaceRecentBlockhash: true,
      })
      return postBalances[0]
    }
    expect(await left('finalized')).toBe(Number(9n * sol) - 5_000)
    expect(await left('processed')).toBe(Number(4n * sol) - 10_000)
    expect(await rpc.balance(payer.address)).toBe(Number(5n * sol) - 5_000)
  })

  it('refuse commitments below confirmed for history', async () => {
    const { signature, payer } = await paid()
    for (const [method, first] of [
      ['getTransaction', signature],
      ['getSignaturesForAddress', payer.address],
      ['getBlock', 1],
      ['getBlocks', 1],
    ] as const) {
      const { error } = await rpc.ask(method, first, { commitment: 'processed' })
      expect(error).toMatchObject({ code: -32602, message: 'Method does not support commitment below `confirmed`' })
    }
  })

  it('answer -32016 when a node is not there yet', async () => {
    const slot = localnet.slot()
    expect((await rpc.ask('getSlot', { commitment: 'processed', minContextSlot: slot })).result).toBe(slot)
    expect((await rpc.ask('getSlot', { commitment: 'confirmed', minContextSlot: slot })).error).toEqual({
      code: -32016,
      message: 'Minimum context slot has not been reached',
      data: { contextSlot: slot - 1 },
    })
  })
})

describe('dropped forks', () => {
  it('take back money and transactions that were confirmed', async () => {
    const { signature, payer, payee } = await paid()
    localnet.advanceSlots(5)
    expect((await rpc.status(signature))?.confirmationStatus).toBe('confirmed')
    const before = localnet.slot()
    expect(localnet.rollback(6)).toEqual([signature])
    expect(await rpc.status(signature)).toBeNull()
    expect(
      await rpc.get('getTransaction', signature, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 }),
    ).toBeNull()
    expect(await rpc.get('getSignaturesForAddress', payee.address, { commitment: 'confirmed' })).toEqual([])
    expect(await rpc.balance(payee.address)).toBe(0)
    expect(await rpc.balance(payer.address)).toBe(Number(10n * sol))
    expect(localnet.slot()).toBe(before + 1)
  })

  it('leave a gap in slots, not in heights', async () => {
    await funded()
    const slot = localnet.slot()
    const height = await rpc.get<number>('getBlockHeight', { commitment: 'processed' })
    localnet.rollback(3)
    expect(await rpc.get('getBlockHeight', { commitment: 'processed' })).toBe(height - 2)
    localnet.advanceSlots(1)
    expect((await rpc.ask('getBlock', slot, { commitment: 'confirmed' })).error?.code).toBe(-32007)
    expect((await rpc.ask('getBlockTime', slot)).error?.code).toBe(-32007)
    expect(await rpc.get('getBlocks', slot - 4, slot + 1, { commitment: 'confirmed' })).toEqual([
      slot - 4,
      slot - 3,
      slot + 1,
    ])
    const block = await rpc.get<{ parentSlot: number }>('getBlock', slot + 1, { commitment: 'confirmed' })
    expect(block.parentSlot).toBe(slot - 3)
  })

  it('let the same transaction land again while its blockhash lives, and kill blockhashes of their own', async () => {
    const payer = await funded()
    const payee = await newWallet()
    const old = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    localnet.advanceSlots(2)
    const young = await build(payer, [memo('x')], await rpc.blockhash())
    await rpc.send(old.wire)
    localnet.advanceSlots(1)
    localnet.rollback(3)
    expect((await rpc.send(young.wire)).error?.data?.['err']).toBe('BlockhashNotFound')
    expect((await rpc.send(old.wire)).result).toBe(old.signature)
    expect(await rpc.balance(payee.address)).toBe(Number(sol))
  })

  it('cannot drop final slots', async () => {
    await funded()
    expect(() => localnet.rollback(33)).toThrow(/final/)
    expect(() => localnet.rollback(0)).toThrow(RangeError)
    expect(() => localnet.rollback(1.5)).toThrow(RangeError)
    expect(localnet.rollback(32)).toEqual([])
    expect(localnet.rollback(1)).toEqual([])
    localnet.advanceSlots(100)
    expect(await rpc.get('getSlot')).toBe(localnet.slot() - 32)
  })
})

describe('the clock', () => {
  it('moves block times and slots together', async () => {
    const { signature } = await paid()
    const before = localnet.now()
    const slot = localnet.slot()
    localnet.advance(3_600, 10)
    expect(localnet.now() - before).toBeGreaterThanOrEqual(3_600_000)
    expect(localnet.slot()).toBe(slot + 10)
    const { blockTime } = await rpc.get<{ blockTime: number }>('getTransaction', signature, {
      commitment: 'confirmed',
      maxSupportedTransactionVersion: 0,
    })
    expect(Math.abs(blockTime - before / 1000)).toBeLessThan(3)
    localnet.advanceSlots(1)
    const later = await rpc.get<number>('getBlockTime', slot + 10)
    expect(later - blockTime).toBeGreaterThanOrEqual(3_599)
  })

  it('is the one programs see', async () => {
    localnet.advance(86_400)
    const { data } = await rpc.value<{ data: { parsed: { info: { unixTimestamp: number; slot: number } } } }>(
      'getAccountInfo',
      'SysvarC1ock11111111111111111111111111111111',
      { encoding: 'jsonParsed', commitment: 'processed' },
    )
    expect(Math.abs(data.parsed.info.unixTimestamp - localnet.now() / 1000)).toBeLessThan(3)
    expect(data.parsed.info.slot).toBe(localnet.slot())
  })

  it('passes as many slots as fit into the time, on a chain that runs', async () => {
    const running = await startLocalnet({ startTime: 1_600_000_000_000 })
    const slot = running.slot()
    running.advance(60)
    expect(running.slot() - slot).toBeGreaterThanOrEqual(150)
    expect(running.slot() - slot).toBeLessThan(300)
    expect(Math.abs(running.now() - 1_600_000_060_000)).toBeLessThan(60_000)
    await running.close()
  })

  it('never goes back, and never stands still for part of a slot', () => {
    expect(() => localnet.advance(-1)).toThrow(RangeError)
    expect(() => localnet.advance(1, 0)).toThrow(RangeError)
    expect(() => localnet.advance(Number.NaN)).toThrow(RangeError)
    expect(() => localnet.advanceSlots(0.5)).toThrow(RangeError)
  })
})

describe('history', () => {
  it('pages backwards through signatures, with memos, without a gap or a double', async () => {
    const payer = await funded()
    const sent: string[] = []
    for (let count = 0; count < 25; count++) {
      const { wire, signature } = await build(payer, [memo(`number ${count}`)], await rpc.blockhash())
      await rpc.send(wire)
      sent.push(signature)
      if (count % 4 === 0) localnet.advanceSlots(1)
    }
    localnet.advanceSlots(1)
    const found: string[] = []
    let before: string | undefined
    for (;;) {
      const page = await rpc.get<{ signature: string; memo: string | null }[]>(
        'getSignaturesForAddress',
        payer.address,
        {
          commitment: 'confirmed',
          limit: 4,
          before,
          until: sent[2],
        },
      )
      if (page.length === 0) break
      found.push(...page.map(({ signature }) => signature))
      before = found.at(-1)
    }
    expect(found).toEqual(sent.slice(3).reverse())
    const [newest] = await rpc.get<{ memo: string }[]>('getSignaturesForAddress', payer.address, {
      commitment: 'confirmed',
      limit: 1,
    })
    expect(newest?.memo).toBe('[9] number 24')
  })

  it('refuses limits that no node offers', async () => {
    const { address } = await newWallet()
    for (const limit of [0, 1001]) {
      expect((await rpc.ask('getSignaturesForAddress', address, { limit })).error?.message).toBe(
        'Invalid limit; max 1000',
      )
    }
  })
})
