import { generateKeyPairSigner } from '@solana/kit'
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '@solana-program/compute-budget'
import {
  getAdvanceNonceAccountInstruction,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { build, client, frozen, memo, newWallet, pay } from './client.ts'

const sol = 1_000_000_000n

interface Units {
  readonly err: unknown
  readonly unitsConsumed?: number
  readonly computeUnitsConsumed?: number
}

let localnet: Localnet
beforeEach(async () => {
  localnet = await startLocalnet(frozen)
})
afterEach(() => localnet.close())

async function funded() {
  const wallet = await newWallet()
  await localnet.fund(wallet.address, { SOL: 10n * sol })
  return wallet
}

describe('fees', () => {
  it('takes 5000 lamports for each signature, and gives half of it to the leader of the slot', async () => {
    const rpc = client(localnet)
    const [payer, payee] = [await funded(), await newWallet()]
    const { identity } = await rpc.get<{ identity: string }>('getIdentity')
    const before = await rpc.balance(identity)
    const { wire, signature } = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    expect((await rpc.send(wire)).result).toBe(signature)
    expect(await rpc.balance(payer.address)).toBe(Number(9n * sol - 5_000n))
    expect(await rpc.balance(payee.address)).toBe(Number(sol))
    const slot = localnet.slot()
    localnet.advanceSlots(1)
    expect((await rpc.balance(identity)) - before).toBe(2_500)
    const block = await rpc.get<{ rewards: unknown }>('getBlock', slot, {
      commitment: 'confirmed',
      transactionDetails: 'none',
    })
    expect(block.rewards).toEqual([
      { commission: null, lamports: 2_500, postBalance: before + 2_500, pubkey: identity, rewardType: 'Fee' },
    ])
  })

  it('takes the fee, and only the fee, when the transaction fails', async () => {
    const rpc = client(localnet)
    const [payer, payee] = [await funded(), await newWallet()]
    const calls = [pay(payer, payee.address, sol), pay(payer, payee.address, 100n * sol)]
    const { wire, signature } = await build(payer, calls, await rpc.blockhash())
    await rpc.send(wire, { skipPreflight: true })
    expect((await rpc.status(signature))?.err).toEqual({ InstructionError: [1, { Custom: 1 }] })
    expect(await rpc.balance(payer.address)).toBe(Number(10n * sol - 5_000n))
    expect(await rpc.balance(payee.address)).toBe(0)
  })

  it('charges the price of compute units times their limit, on failure too', async () => {
    const rpc = client(localnet)
    const [payer, payee] = [await funded(), await newWallet()]
    const price = (amount: bigint) => {
      const data = new Uint8Array(9)
      data[0] = 3
      new DataView(data.buffer).setBigUint64(1, amount, true)
      return { programAddress: 'ComputeBudget111111111111111111111111111111' as never, data }
    }
    const limit = {
      programAddress: 'ComputeBudget111111111111111111111111111111' as never,
      data: Uint8Array.of(2, 0x10, 0x27, 0, 0),
    }
    const { wire } = await build(
      payer,
      [limit, price(1_000_001n), pay(payer, payee.address, 100n * sol)],
      await rpc.blockhash(),
    )
    await rpc.send(wire, { skipPreflight: true })
    // 10,000 units at 1.000001 lamports, rounded up.
    expect(await rpc.balance(payer.address)).toBe(Number(10n * sol - 5_000n - 10_001n))
  })

  it('keeps the sum of all lamports, except for burnt ones', async () => {
    const rpc = client(localnet)
    const [payer, payee] = [await funded(), await newWallet()]
    const total = async () =>
      BigInt((await rpc.value<{ total: number }>('getSupply', { commitment: 'processed' })).total)
    const before = await total()
    const { wire } = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    await rpc.send(wire)
    localnet.advanceSlots(1)
    // JSON numbers of this size lose their last digits; the difference is what counts.
    expect(Math.abs(Number(before - (await total())) - 2_500)).toBeLessThan(256)
  })

  it('does not let in a payer without money, or one left with less than rent', async () => {
    const rpc = client(localnet)
    const [payer, poor] = [await funded(), await newWallet()]
    const nothing = await build(poor, [memo('x')], await rpc.blockhash())
    expect((await rpc.send(nothing.wire)).error?.data?.['err']).toBe('AccountNotFound')
    await localnet.fund(poor.address, { SOL: 890_880n + 4_000n })
    const little = await build(poor, [memo('y')], await rpc.blockhash())
    expect((await rpc.send(little.wire)).error?.data?.['err']).toEqual(rentOf(0))
    const dust = await build(
      payer,
      [pay(payer, (await generateKeyPairSigner()).address, 890_879n)],
      await rpc.blockhash(),
    )
    expect((await rpc.send(dust.wire)).error?.data?.['err']).toEqual(rentOf(1))
    const enough = await build(
      payer,
      [pay(payer, (await generateKeyPairSigner()).address, 890_880n)],
      await rpc.blockhash(),
    )
    expect((await rpc.send(enough.wire)).error).toBeUndefined()
  })

  const rentOf = (index: number) => ({ InsufficientFundsForRent: { account_index: index } })
})

describe('blockhashes and replays', () => {
  it('refuses a transaction that has landed, and one with an expired blockhash', async () => {
    const rpc = client(localnet)
    const [payer, payee] = [await funded(), await newWallet()]
    const sent = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    const late = await build(payer, [pay(payer, payee.address, 2n * sol)], await rpc.blockhash())
    await rpc.send(sent.wire)
    expect((await rpc.send(sent.wire)).error).toMatchObject({ code: -32002, data: { err: 'AlreadyProcessed' } })
    expect((await rpc.send(sent.wire, { skipPreflight: true })).result).toBe(sent.signature)
    expect(await rpc.balance(payee.address)).toBe(Number(sol))
    localnet.advanceSlots(151)
    expect((await rpc.send(late.wire)).error).toMatchObject({ code: -32002, data: { err: 'BlockhashNotFound' } })
    expect((await rpc.send(late.wire, { skipPreflight: true })).result).toBe(late.signature)
    expect(await rpc.status(late.signature)).toBeNull()
    expect(await rpc.balance(payee.address)).toBe(Number(sol))
  })

  it('lets a transaction in up to its last valid block height, not after', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    const { blockhash, lastValidBlockHeight } = await rpc.value<{ blockhash: string; lastValidBlockHeight: number }>(
      'getLatestBlockhash',
      { commitment: 'processed' },
    )
    const [first, second] = [await build(payer, [memo('1')], blockhash), await build(payer, [memo('2')], blockhash)]
    const height = async () => rpc.get<number>('getBlockHeight', { commitment: 'processed' })
    localnet.advanceSlots(lastValidBlockHeight - (await height()))
    expect(await height()).toBe(lastValidBlockHeight)
    expect(await rpc.value('isBlockhashValid', blockhash, { commitment: 'processed' })).toBe(true)
    await rpc.send(first.wire, { skipPreflight: true })
    expect(await rpc.status(first.signature)).not.toBeNull()
    localnet.advanceSlots(1)
    expect(await rpc.value('isBlockhashValid', blockhash, { commitment: 'processed' })).toBe(false)
    await rpc.send(second.wire, { skipPreflight: true })
    expect(await rpc.status(second.signature)).toBeNull()
  })

  it('wants a blockhash in preflight that lives six blocks longer', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    const { wire } = await build(payer, [memo('soon')], await rpc.blockhash())
    localnet.advanceSlots(145)
    expect((await rpc.send(wire)).error?.data?.['err']).toBe('BlockhashNotFound')
    expect((await rpc.send(wire, { skipPreflight: true })).error).toBeUndefined()
    expect(await rpc.get('getTransactionCount', { commitment: 'processed' })).toBe(2)
  })

  it('refuses the genesis hash and made-up hashes', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    for (const hash of [localnet.genesisHash, payer.address]) {
      const { wire } = await build(payer, [memo('x')], hash)
      expect((await rpc.send(wire)).error?.data?.['err']).toBe('BlockhashNotFound')
    }
  })
})

describe('durable nonces', () => {
  async function withNonce() {
    const rpc = client(localnet)
    const [payer, nonce] = [await funded(), await newWallet()]
    const create = getCreateAccountInstruction({
      payer,
      newAccount: nonce,
      lamports: 1_447_680n as never,
      space: 80n,
      programAddress: SYSTEM_PROGRAM_ADDRESS,
    })
    const initialize = getInitializeNonceAccountInstruction({
      nonceAccount: nonce.address,
      nonceAuthority: payer.address,
    })
    const { wire, signature } = await build(payer, [create, initialize], await rpc.blockhash())
    await rpc.send(wire)
    expect((await rpc.status(signature))?.err).toBeNull()
    const stored = async () => {
      const { data } = await rpc.value<{ data: { parsed: { info: { blockhash: string } } } }>(
        'getAccountInfo',
        nonce.address,
        {
          encoding: 'jsonParsed',
          commitment: 'processed',
        },
      )
      return data.parsed.info.blockhash
    }
    const advance = getAdvanceNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: payer })
    return { rpc, payer, nonce, stored, advance }
  }

  it('stand in for a blockhash, however old, and are used up', async () => {
    const { rpc, payer, stored, advance } = await withNonce()
    const before = await stored()
    const { wire, signature } = await build(payer, [advance, memo('later')], before)
    localnet.advanceSlots(1_000)
    await rpc.send(wire)
    expect((await rpc.status(signature))?.err).toBeNull()
    expect(await stored()).not.toBe(before)
    expect((await rpc.send(wire)).error?.data?.['err']).toBe('BlockhashNotFound')
  })

  it('are used up by a transaction that fails, together with its fee', async () => {
    const { rpc, payer, nonce, stored, advance } = await withNonce()
    localnet.advanceSlots(200)
    const before = await stored()
    const rich = await rpc.balance(payer.address)
    const { wire, signature } = await build(payer, [advance, pay(payer, nonce.address, 100n * sol)], before)
    await rpc.send(wire, { skipPreflight: true })
    expect((await rpc.status(signature))?.err).toEqual({ InstructionError: [1, { Custom: 1 }] })
    expect(await stored()).not.toBe(before)
    expect(await rpc.balance(payer.address)).toBe(rich - 5_000)
    await rpc.send(wire, { skipPreflight: true })
    expect(await rpc.balance(payer.address)).toBe(rich - 5_000)
  })

  it('advance once in a slot only', async () => {
    const { rpc, payer, stored, advance } = await withNonce()
    localnet.advanceSlots(1)
    const first = await build(payer, [advance, memo('a')], await stored())
    await rpc.send(first.wire)
    const second = await build(payer, [advance, memo('b')], await stored())
    expect((await rpc.send(second.wire)).error?.data?.['err']).toBe('BlockhashNotFound')
    localnet.advanceSlots(1)
    expect((await rpc.send(second.wire)).error).toBeUndefined()
  })

  it('obey their authority alone', async () => {
    const { rpc, nonce, stored } = await withNonce()
    const thief = await funded()
    localnet.advanceSlots(1)
    const advance = getAdvanceNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: thief })
    const { wire } = await build(thief, [advance], await stored())
    expect((await rpc.send(wire)).error?.data?.['err']).toBe('BlockhashNotFound')
  })
})

describe('transactions that never land, and those that land and fail', () => {
  it('charges for a program that is not there', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    const { wire, signature } = await build(payer, [memo('x', (await newWallet()).address)], await rpc.blockhash())
    await rpc.send(wire, { skipPreflight: true })
    expect((await rpc.status(signature))?.err).toBe('ProgramAccountNotFound')
    expect(await rpc.balance(payer.address)).toBe(Number(10n * sol - 5_000n))
  })

  it('charges for an account that is no program', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    const { wire, signature } = await build(payer, [memo('x', localnet.faucetAddress)], await rpc.blockhash())
    await rpc.send(wire, { skipPreflight: true })
    expect((await rpc.status(signature))?.err).toBe('InvalidProgramForExecution')
  })

  it('does not let version 1 run without a budget', async () => {
    const rpc = client(localnet)
    const [payer, payee] = [await funded(), await newWallet()]
    const sent = async (config: Parameters<typeof build>[4]) => {
      const { wire, signature } = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash(), 1, config)
      await rpc.send(wire, { skipPreflight: true })
      return (await rpc.status(signature))?.err
    }
    expect(await sent({ computeUnitLimit: 1_000 })).toBe('MaxLoadedAccountsDataSizeExceeded')
    expect(await sent({ loadedAccountsDataSizeLimit: 100_000 })).toEqual({
      InstructionError: [0, 'ComputationalBudgetExceeded'],
    })
    expect(await sent({ computeUnitLimit: 1_000, loadedAccountsDataSizeLimit: 100_000 })).toBeNull()
  })

  it('counts the code of a program among the data it loads', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    const sync = { programAddress: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as never, data: Uint8Array.of(17) }
    const sent = async (loadedAccountsDataSizeLimit: number) => {
      const config = { computeUnitLimit: 10_000, loadedAccountsDataSizeLimit }
      const { wire, signature } = await build(payer, [sync], await rpc.blockhash(), 1, config)
      await rpc.send(wire, { skipPreflight: true })
      return (await rpc.status(signature))?.err
    }
    expect(await sent(50_000)).toBe('MaxLoadedAccountsDataSizeExceeded')
    expect(await sent(150_000)).toEqual({ InstructionError: [0, 'NotEnoughAccountKeys'] })
  })

  it('charges a memo by its length, in simulations and on chain', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    const limit = { programAddress: COMPUTE_BUDGET_PROGRAM_ADDRESS, data: Uint8Array.of(2, 0x20, 0x4e, 0, 0) }
    const outcomes = async (length: number) => {
      const { wire, signature } = await build(payer, [limit, memo('x'.repeat(length))], await rpc.blockhash())
      const simulation = await rpc.value<Units>('simulateTransaction', wire, {
        encoding: 'base64',
        commitment: 'processed',
      })
      await rpc.send(wire, { skipPreflight: true })
      localnet.advanceSlots(1)
      const landed = await rpc.get<{ meta: Units }>('getTransaction', signature, {
        commitment: 'confirmed',
        maxSupportedTransactionVersion: 0,
      })
      return [
        [simulation.err, simulation.unitsConsumed],
        [landed.meta.err, landed.meta.computeUnitsConsumed],
      ]
    }
    expect(await outcomes(32)).toEqual(Array(2).fill([null, 12_925]))
    const tooMuch = { InstructionError: [1, 'ProgramFailedToComplete'] }
    expect(await outcomes(64)).toEqual(Array(2).fill([tooMuch, 20_000]))
  })

  it('holds packets to 1232 bytes, and to 4096 in version 1', async () => {
    const rpc = client(localnet)
    const payer = await funded()
    const blockhash = await rpc.blockhash()
    const long = await build(payer, [memo('x'.repeat(1_100))], blockhash)
    expect((await rpc.send(long.wire)).error?.code).toBe(-32602)
    // Memo v3 would exceed the compute limit.
    const memoV4 = 'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH'
    const longV1 = await build(payer, [memo('x'.repeat(3_700), memoV4)], blockhash, 1)
    expect((await rpc.send(longV1.wire)).error).toBeUndefined()
    const tooLong = await build(payer, [memo('x'.repeat(4_000), memoV4)], blockhash, 1)
    expect((await rpc.send(tooLong.wire)).error?.code).toBe(-32602)
  })
})
