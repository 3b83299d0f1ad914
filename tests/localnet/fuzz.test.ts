/**
 * Hostile bytes. The VM ends its process on malformed input, so this file passes only if nothing malformed reaches it:
 * a panic would end the test runner's own process.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { buildTransaction } from '../../src/localnet/transaction/build.ts'
import { createKeypair, newSecret } from '../../src/localnet/transaction/signature.ts'
import { size } from '../harness/length.ts'
import { build, client, frozen, memo, newWallet, pay } from './client.ts'

const sol = 1_000_000_000n
const system = '11111111111111111111111111111111'

let localnet: Localnet
let rpc: ReturnType<typeof client>
beforeAll(async () => {
  localnet = await startLocalnet(frozen)
  rpc = client(localnet)
})
afterAll(() => localnet.close())

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const known = new Set([-32600, -32601, -32602, -32002, -32004, -32007, -32015, -32016])

/** Asks in batches, and expects an answer to each: never an internal error, never silence. */
async function askAll(calls: readonly { method: string; params: unknown }[]): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for (let start = 0; start < calls.length; ) {
    const batch: string[] = []
    let size = 0
    while (start < calls.length && size < 45_000 && batch.length < 100) {
      const text = JSON.stringify({ jsonrpc: '2.0', id: start, ...calls[start] })
      if (batch.length > 0 && size + text.length > 48_000) break
      batch.push(text)
      size += text.length
      start += 1
    }
    const response = await rpc.post(`[${batch.join(',')}]`)
    expect(response.status).toBe(200)
    answers.push(...((await response.json()) as Answer[]))
  }
  expect(answers).toHaveLength(calls.length)
  for (const { error } of answers) if (error && !known.has(error.code)) throw new Error(JSON.stringify(error))
  return answers
}

async function samples(): Promise<readonly Uint8Array[]> {
  const payer = await newWallet()
  await localnet.fund(payer.address, { SOL: 100n * sol, USDC: 100n })
  const payee = await newWallet()
  const made = []
  for (const version of ['legacy', 0, 1] as const) {
    const calls = [pay(payer, payee.address, sol), memo('hello'), token(payer.address)]
    made.push(await build(payer, calls, await rpc.blockhash(), version))
  }
  return made.map(({ wire }) => new Uint8Array(Buffer.from(wire, 'base64')))
}

const token = (address: string) => ({
  programAddress: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as never,
  accounts: [{ address: address as never, role: 1 }],
  data: Uint8Array.of(3, 1, 0, 0, 0, 0, 0, 0, 0),
})

/** The sample with some bytes changed, cut, doubled or grown. */
function mutants(sample: Uint8Array, count: number, seed: number): readonly Uint8Array[] {
  const change = fc.oneof(
    fc.record({ kind: fc.constant('set'), at: fc.nat(sample.length - 1), value: fc.nat(255) }),
    // The header and the lengths are where it hurts.
    fc.record({ kind: fc.constant('set'), at: fc.nat(130), value: fc.constantFrom(0, 1, 2, 127, 128, 129, 255) }),
    fc.record({ kind: fc.constant('cut'), at: fc.nat(sample.length), value: fc.nat(40) }),
    fc.record({ kind: fc.constant('grow'), at: fc.nat(sample.length), value: fc.nat(40) }),
  )
  return fc.sample(fc.array(change, { minLength: 1, maxLength: 3 }), { numRuns: count, seed }).map((changes) => {
    let bytes = [...sample]
    for (const { kind, at, value } of changes) {
      if (kind === 'set') bytes[at] = value
      else if (kind === 'cut') bytes = [...bytes.slice(0, at), ...bytes.slice(at + value)]
      else bytes = [...bytes.slice(0, at), ...new Array(value).fill(at % 256), ...bytes.slice(at)]
    }
    return Uint8Array.from(bytes)
  })
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

describe('mutated transactions', () => {
  it('return errors, or run as the changed transaction', async () => {
    const calls: { method: string; params: unknown }[] = []
    for (const [index, sample] of (await samples()).entries()) {
      for (const mutant of mutants(sample, size(350, 700), 1_000 + index)) {
        const wire = base64(mutant)
        // Unsigned simulation lets changed messages through to the VM.
        const loose = {
          encoding: 'base64',
          replaceRecentBlockhash: true,
          innerInstructions: true,
          commitment: 'processed',
        }
        calls.push({ method: 'simulateTransaction', params: [wire, loose] })
        calls.push({ method: 'sendTransaction', params: [wire, { encoding: 'base64', skipPreflight: true }] })
      }
    }
    const answers = await askAll(calls)
    const ran = answers.filter(({ result }) => typeof result === 'object')
    const refused = answers.filter(({ error }) => error !== undefined)
    expect(ran.length).toBeGreaterThan(200)
    expect(refused.length).toBeGreaterThan(500)
  })

  it('in preflight, with checked signatures, and as messages', async () => {
    const calls: { method: string; params: unknown }[] = []
    for (const [index, sample] of (await samples()).entries()) {
      for (const mutant of mutants(sample, 150, 2_000 + index)) {
        const wire = base64(mutant)
        calls.push({
          method: 'sendTransaction',
          params: [wire, { encoding: 'base64', preflightCommitment: 'processed' }],
        })
        calls.push({ method: 'simulateTransaction', params: [wire, { encoding: 'base64', sigVerify: true }] })
        calls.push({
          method: 'getFeeForMessage',
          params: [base64(mutant.subarray(mutant[0] === 0x81 ? 0 : 65)), { commitment: 'processed' }],
        })
      }
    }
    await askAll(calls)
  })

  it('as base58, or as no encoding at all', async () => {
    const odd = [
      '',
      '0',
      'l',
      '=',
      '====',
      'A===',
      '\u0000',
      'é',
      '1'.repeat(1_000),
      '1'.repeat(20_000),
      'z'.repeat(6_000),
    ]
    const calls = odd.flatMap((text) =>
      ['base58', 'base64', 'hex'].map((encoding) => ({ method: 'sendTransaction', params: [text, { encoding }] })),
    )
    const answers = await askAll(calls)
    expect(answers.every(({ error }) => error?.code === -32602)).toBe(true)
    // Decoding base58 takes the square of its length: what is too long is not decoded at all.
    const [long] = await askAll([{ method: 'sendTransaction', params: ['z'.repeat(45_000), { encoding: 'base58' }] }])
    expect(long?.error?.message).toMatch(/^base58 encoded .* too large: 45000 bytes/)
  })
})

describe('odd parameters', () => {
  const methods = [
    'getAccountInfo',
    'getBalance',
    'getMultipleAccounts',
    'getProgramAccounts',
    'getTokenAccountsByOwner',
    'getTokenAccountsByDelegate',
    'getTokenAccountBalance',
    'getTokenSupply',
    'getTokenLargestAccounts',
    'getTransaction',
    'getSignatureStatuses',
    'getSignaturesForAddress',
    'getBlock',
    'getBlocks',
    'getBlocksWithLimit',
    'getBlockTime',
    'getLatestBlockhash',
    'isBlockhashValid',
    'getFeeForMessage',
    'getMinimumBalanceForRentExemption',
    'getSlot',
    'getBlockHeight',
    'getEpochInfo',
    'getSlotLeaders',
    'getBlockProduction',
    'getRecentPrioritizationFees',
    'getSupply',
    'getLargestAccounts',
    'getTransactionCount',
    'simulateTransaction',
    'sendTransaction',
    'getVersion',
    'getHealth',
  ]
  const address = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'

  const odd: fc.Arbitrary<unknown> = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      -1,
      0.5,
      1e308,
      2 ** 53,
      '',
      'x',
      address,
      `1${address}`,
      address.slice(1),
      system,
      [],
      {},
      [[]],
    ),
    fc.constantFrom<unknown>(
      [address],
      [address, 'x'],
      { mint: address },
      { mint: 5 },
      { programId: system },
      { programId: 'x' },
    ),
    fc.constantFrom<unknown>(5, 1_000_000, '1'.repeat(64), '1'.repeat(88), 'jsonParsed', ['1'.repeat(64)]),
    fc.record(
      {
        commitment: fc.constantFrom<unknown>('processed', 'confirmed', 'finalized', 'x', 5, null),
        encoding: fc.constantFrom<unknown>('base58', 'base64', 'base64+zstd', 'jsonParsed', 'json', 'binary', 'x', 7),
        dataSlice: fc.constantFrom<unknown>(
          { offset: 0, length: 5 },
          { offset: -1, length: 1 },
          { offset: 1e15, length: 1e15 },
          3,
        ),
        filters: fc.constantFrom<unknown>(
          [],
          [{ dataSize: 165 }],
          [{ memcmp: { offset: 0, bytes: 'x0' } }],
          [{}],
          [1],
          'x',
          [{ memcmp: { offset: 1e15, bytes: [1, 2, 300] } }],
        ),
        minContextSlot: fc.constantFrom<unknown>(0, 1e15, -1, 'x'),
        limit: fc.constantFrom<unknown>(1, 0, 5_000, 'x'),
        before: fc.constantFrom<unknown>('1'.repeat(64), 'x', 5),
        transactionDetails: fc.constantFrom<unknown>('none', 'full', 'x'),
        maxSupportedTransactionVersion: fc.constantFrom<unknown>(0, 1, -1, 'x'),
        accounts: fc.constantFrom<unknown>(
          { addresses: [address] },
          { addresses: 'x' },
          { addresses: [5], encoding: 'base58' },
          [],
        ),
        range: fc.constantFrom<unknown>({ firstSlot: 0 }, { firstSlot: 1e9 }, 'x'),
      },
      { requiredKeys: [] },
    ),
    fc.jsonValue({ maxDepth: 2 }),
  )

  it('get an answer or an error of a validator', async () => {
    const call = fc.record({ method: fc.constantFrom(...methods), params: fc.array(odd, { maxLength: 4 }) })
    const calls = fc
      .sample(call, { numRuns: 4_000, seed: 7 })
      .filter(({ params }) => JSON.stringify(params).length < 20_000)
    const answers = await askAll(calls)
    expect(answers.filter(({ error }) => error === undefined).length).toBeGreaterThan(300)
    expect(answers.filter(({ error }) => error?.code === -32602).length).toBeGreaterThan(1_000)
    for (const method of methods) expect(calls.some((one) => one.method === method)).toBe(true)
  })
})

describe('well-formed and hostile', () => {
  it('survives every program with random accounts and data', async () => {
    // Our own builder: kit would not write to a program, and many other things one can do.
    const key = createKeypair(newSecret())
    await localnet.fund(key.address, { SOL: 1_000n * sol, USDC: 5n })
    const programs = [
      system,
      'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
      'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
      'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
      'ComputeBudget111111111111111111111111111111',
      'AddressLookupTab1e1111111111111111111111111',
      'Stake11111111111111111111111111111111111111',
      'Vote111111111111111111111111111111111111111',
      'BPFLoader1111111111111111111111111111111111',
      'BPFLoader2111111111111111111111111111111111',
      'BPFLoaderUpgradeab1e11111111111111111111111',
      'Ed25519SigVerify111111111111111111111111111',
      'KeccakSecp256k11111111111111111111111111111',
      'Secp256r1SigVerify1111111111111111111111111',
      'ZkE1Gama1Proof11111111111111111111111111111',
      'NativeLoader1111111111111111111111111111111',
      'SysvarC1ock11111111111111111111111111111111',
    ]
    const others = [
      ...programs,
      key.address,
      localnet.faucetAddress,
      localnet.mints.USDC?.address ?? '',
      'Sysvar1nstructions1111111111111111111111111',
      'SysvarRent111111111111111111111111111111111',
      '3gvYRKWyXRR9xKWe1ZjPhLY5ZJRN7KDB4rFZFGoJfFk2',
    ]
    const call = fc.record({
      program: fc.constantFrom(...programs),
      accounts: fc.array(
        fc.record({ address: fc.constantFrom(...others), signer: fc.constant(false), writable: fc.boolean() }),
        { maxLength: 6 },
      ),
      data: fc
        .tuple(fc.nat(45), fc.array(fc.oneof(fc.constant(0), fc.nat(255)), { maxLength: 60 }))
        .map(([first, rest]) => Uint8Array.of(first, ...rest)),
    })
    const blockhash = await rpc.blockhash()
    const count = size(500, 1_500)
    const calls = fc.sample(fc.array(call, { minLength: 1, maxLength: 3 }), { numRuns: count, seed: 3 }).map((made) => {
      const wire = base64(buildTransaction(key, made, blockhash))
      return { method: 'sendTransaction', params: [wire, { encoding: 'base64', skipPreflight: true }] }
    })
    const answers = await askAll(calls)
    expect(answers.filter(({ result }) => result !== undefined).length).toBeGreaterThan(count / 5)
    expect((await rpc.ask('getHealth')).result).toBe('ok')
  })
})
