import {
  type Address,
  getAddressDecoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
} from '@solana/kit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeTransaction, type Transaction, verifySignatures } from '../../src/chain/read/decode.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { size } from '../harness/length.ts'

type KitMessage = Parameters<ReturnType<typeof getCompiledTransactionMessageEncoder>['encode']>[0]

const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const toAddress = (bytes: Uint8Array): Address => getAddressDecoder().decode(bytes)

interface Draft {
  readonly version: 'legacy' | 0 | 1
  readonly signers: number
  readonly message: KitMessage
}

/** Sound messages of all three kinds, as the library compiles them. */
const drafts: fc.Arbitrary<Draft> = fc
  .record({
    version: fc.constantFrom('legacy' as const, 0 as const, 1 as const),
    keys: fc.uniqueArray(bytesOf(32), { minLength: 2, maxLength: 10, selector: (key) => key.join() }),
    lifetime: bytesOf(32),
    signers: fc.integer({ min: 1, max: 3 }),
    tables: fc.array(
      fc.record({
        table: bytesOf(32),
        writable: fc.array(fc.nat(255), { minLength: 1, maxLength: 3 }),
        readonly: fc.array(fc.nat(255), { maxLength: 3 }),
      }),
      { maxLength: 2 },
    ),
    instructions: fc.array(
      fc.record({
        program: fc.nat(),
        accounts: fc.array(fc.nat(), { maxLength: 6 }),
        data: fc.uint8Array({ maxLength: 200 }),
      }),
      { maxLength: 4 },
    ),
    config: fc.nat(15),
  })
  .map((parts) => {
    const { version } = parts
    const signers = Math.min(parts.signers, parts.keys.length - 1)
    const tables = version === 0 ? parts.tables : []
    const loaded = tables.reduce((sum, table) => sum + table.writable.length + table.readonly.length, 0)
    const total = parts.keys.length + loaded
    const instructions = parts.instructions.map(({ program, accounts, data }) => ({
      program: 1 + (program % (parts.keys.length - 1)),
      accounts: accounts.map((account) => account % total),
      data,
    }))
    const common = {
      header: { numSignerAccounts: signers, numReadonlySignerAccounts: signers - 1, numReadonlyNonSignerAccounts: 0 },
      staticAccounts: parts.keys.map(toAddress),
      lifetimeToken: encodeBase58(parts.lifetime),
    }
    const older = instructions.map(({ program, accounts, data }) => ({
      programAddressIndex: program,
      accountIndices: accounts,
      data,
    }))
    const message = (version === 1
      ? {
          ...common,
          version,
          configMask: configMask(parts.config),
          configValues: configValues(parts.config),
          numInstructions: instructions.length,
          numStaticAccounts: parts.keys.length,
          instructionHeaders: instructions.map(({ program, accounts, data }) => ({
            programAccountIndex: program,
            numInstructionAccounts: accounts.length,
            numInstructionDataBytes: data.length,
          })),
          instructionPayloads: instructions.map(({ accounts, data }) => ({
            instructionAccountIndices: accounts,
            instructionData: data,
          })),
        }
      : {
          ...common,
          version,
          instructions: older,
          ...(version === 0 && {
            addressTableLookups: tables.map(({ table, writable, readonly }) => ({
              lookupTableAddress: toAddress(table),
              writableIndexes: writable,
              readonlyIndexes: readonly,
            })),
          }),
        }) as unknown as KitMessage
    return { version, signers, message }
  })

function configMask(choice: number): number {
  return (choice & 1 ? 0b11 : 0) | ((choice >> 1) << 2)
}

function configValues(choice: number): readonly unknown[] {
  return [
    ...(choice & 1 ? [{ kind: 'u64', value: 2n ** 63n + 7n }] : []),
    ...[1, 2, 3].filter((bit) => choice & (1 << bit)).map((bit) => ({ kind: 'u32', value: 4_000_000_000 + bit })),
  ]
}

function encode({ message, signers }: Draft, fill: number): Uint8Array {
  const messageBytes = getCompiledTransactionMessageEncoder().encode(message)
  const signatures = Object.fromEntries(
    message.staticAccounts.slice(0, signers).map((key, index) => [key, new Uint8Array(64).fill(fill + index)]),
  )
  const transaction = { messageBytes, signatures } as unknown as Parameters<
    ReturnType<typeof getTransactionEncoder>['encode']
  >[0]
  return new Uint8Array(getTransactionEncoder().encode(transaction))
}

interface LooseMessage {
  readonly version: 'legacy' | 0 | 1
  readonly header: {
    readonly numSignerAccounts: number
    readonly numReadonlySignerAccounts: number
    readonly numReadonlyNonSignerAccounts: number
  }
  readonly staticAccounts: readonly string[]
  readonly lifetimeToken: string
  readonly instructions?: readonly {
    readonly programAddressIndex: number
    readonly accountIndices?: readonly number[]
    readonly data?: Uint8Array
  }[]
  readonly addressTableLookups?: readonly {
    readonly lookupTableAddress: string
    readonly writableIndexes: readonly number[]
    readonly readonlyIndexes: readonly number[]
  }[]
  readonly configMask?: number
  readonly configValues?: readonly { readonly value: number | bigint }[]
  readonly instructionHeaders?: readonly { readonly programAccountIndex: number }[]
  readonly instructionPayloads?: readonly {
    readonly instructionAccountIndices: readonly number[]
    readonly instructionData: Uint8Array
  }[]
}

interface KitView {
  readonly message: LooseMessage
  readonly signatures: readonly (Uint8Array | null)[]
  readonly again: Uint8Array
}

/** What the library makes of the bytes; undefined when it throws. */
function readByKit(bytes: Uint8Array): KitView | undefined {
  try {
    const transaction = getTransactionDecoder().decode(bytes)
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
    const messageBytes = getCompiledTransactionMessageEncoder().encode(message as KitMessage)
    const again = new Uint8Array(getTransactionEncoder().encode({ ...transaction, messageBytes } as never))
    return { message: message as unknown as LooseMessage, signatures: Object.values(transaction.signatures), again }
  } catch {
    return undefined
  }
}

/** Both readings in one shape, to be compared. */
function shapeOfKit({ message, signatures }: KitView) {
  return {
    version: message.version,
    header: Object.values(message.header),
    keys: message.staticAccounts,
    lifetime: message.lifetimeToken,
    signatures: signatures.map((signature) => [...(signature ?? new Uint8Array(64))]),
    instructions: instructionsOf(message),
    lookups: (message.addressTableLookups ?? []).map((lookup) => [
      lookup.lookupTableAddress,
      [...lookup.writableIndexes],
      [...lookup.readonlyIndexes],
    ]),
    config: (message.configValues ?? []).map(({ value }) => BigInt(value)),
  }
}

function instructionsOf(message: LooseMessage): readonly [number, number[], number[]][] {
  if (message.version !== 1) {
    return (message.instructions ?? []).map((one) => [
      one.programAddressIndex,
      [...(one.accountIndices ?? [])],
      [...(one.data ?? [])],
    ])
  }
  return (message.instructionPayloads ?? []).map((payload, index) => [
    message.instructionHeaders?.[index]?.programAccountIndex ?? -1,
    [...payload.instructionAccountIndices],
    [...payload.instructionData],
  ])
}

function shapeOfOurs(transaction: Transaction) {
  const { version, header, keys, lifetime, signatures, instructions, lookups, config } = transaction
  return {
    version,
    header: [header.requiredSignatures, header.readonlySigned, header.readonlyUnsigned],
    keys: keys.map(encodeBase58),
    lifetime: encodeBase58(lifetime),
    signatures: signatures.map((signature) => [...signature]),
    instructions: instructions.map((one) => [one.program, [...one.accounts], [...one.data]]),
    lookups: lookups.map((lookup) => [encodeBase58(lookup.table), [...lookup.writable], [...lookup.readonly]]),
    config: Object.values(config).map(BigInt),
  }
}

/** The rules that the library leaves to the validators, written down a second time. */
function breaksChainRules({ message, again }: KitView, bytes: Uint8Array): boolean {
  const signers = message.header.numSignerAccounts
  const keys = message.staticAccounts.length
  const tables = message.addressTableLookups ?? []
  const sizes = tables.map((table) => table.writableIndexes.length + table.readonlyIndexes.length)
  const total = keys + sizes.reduce((sum, size) => sum + size, 0)
  const instructions = instructionsOf(message)
  const mask = message.configMask ?? 0
  return (
    Buffer.compare(again, bytes) !== 0 ||
    bytes.length > (message.version === 1 ? 4096 : 1232) ||
    message.header.numReadonlySignerAccounts >= signers ||
    signers + message.header.numReadonlyNonSignerAccounts > keys ||
    sizes.includes(0) ||
    total > 256 ||
    mask > 31 ||
    instructions.some(
      ([program, accounts]) => program < 1 || program >= keys || accounts.some((one) => one >= total),
    ) ||
    (message.version === 1 && (signers > 12 || keys > 64 || instructions.length > 64))
  )
}

const mutations = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('set' as const), at: fc.nat(), byte: fc.nat(255) }),
    fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), byte: fc.nat(255) }),
    fc.record({ kind: fc.constant('add' as const), at: fc.nat(), byte: fc.nat(255) }),
  ),
  { minLength: 1, maxLength: 4 },
)

/** Most damage is done to the parts that steer the reading, so most of it goes there: counts, header, indices. */
function mutate(bytes: Uint8Array, changes: readonly { kind: 'set' | 'cut' | 'add'; at: number; byte: number }[]) {
  const result = [...bytes]
  for (const { kind, at, byte } of changes) {
    const steering = at % 3 === 0 ? [0, 1, 65, 66, 67, 68, 69, 70, 4, 5, 6, 40, 41][at % 13] : undefined
    const place = Math.min(steering ?? at % result.length, result.length - 1)
    if (kind === 'set') result[place] = steering === undefined ? byte : byte % 8
    else if (kind === 'cut') result.splice(place, 1 + (byte % 2))
    else result.splice(place, 0, byte)
  }
  return Uint8Array.from(result)
}

describe('decodeTransaction', () => {
  it('reads the output of the library exactly as the library does', () => {
    fc.assert(
      fc.property(drafts, fc.integer({ min: 1, max: 200 }), (draft, fill) => {
        const bytes = encode(draft, fill)
        const ours = decodeTransaction(bytes)
        const theirs = readByKit(bytes)
        if (ours.kind !== 'transaction' || !theirs) throw new Error(`not read: ${JSON.stringify(ours)}`)
        expect(shapeOfOurs(ours.transaction)).toEqual(shapeOfKit(theirs))
        expect([...ours.transaction.message]).toEqual([...getTransactionDecoder().decode(bytes).messageBytes])
      }),
      { numRuns: size(100, 300) },
    )
  })

  it('never accepts mutated bytes that the library reads otherwise, and refuses only with a reason', () => {
    let accepted = 0
    let refusedAlone = 0
    fc.assert(
      fc.property(drafts, mutations, (draft, changes) => {
        const bytes = mutate(encode(draft, 7), changes)
        const ours = decodeTransaction(bytes)
        const theirs = readByKit(bytes)
        if (ours.kind === 'transaction') {
          accepted += 1
          if (!theirs) throw new Error('the library refuses these bytes')
          // A key listed twice loses one of its signatures in the library's map; we refuse it later, by its text.
          if (new Set(theirs.message.staticAccounts).size < theirs.message.staticAccounts.length) return
          expect(shapeOfOurs(ours.transaction)).toEqual(shapeOfKit(theirs))
        } else if (theirs) {
          refusedAlone += 1
          expect(breaksChainRules(theirs, bytes), ours.why).toBe(true)
        }
      }),
      { numRuns: size(800, 2_500) },
    )
    // Both ways must have been walked for this to mean anything.
    expect(accepted).toBeGreaterThan(100)
    expect(refusedAlone).toBeGreaterThan(25)
  })

  it('never throws on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(['transaction', 'malformed']).toContain(decodeTransaction(bytes).kind)
      }),
      { numRuns: size(150, 3_000) },
    )
  })

  it('T132: takes linear time on hostile counts', () => {
    for (const fill of [0x00, 0x01, 0x7f, 0x80, 0x81, 0xff]) {
      const bytes = new Uint8Array(1_000_000).fill(fill)
      const start = performance.now()
      expect(decodeTransaction(bytes).kind).toBe('malformed')
      expect(performance.now() - start).toBeLessThan(100)
    }
  })
})

describe('verifySignatures', () => {
  const decode = (bytes: Uint8Array): Transaction => {
    const decoding = decodeTransaction(bytes)
    if (decoding.kind !== 'transaction') throw new Error(decoding.why)
    return decoding.transaction
  }

  it('asks about every signer, with its own key and signature and the whole message', () => {
    const draft = fc.sample(
      drafts.filter((one) => one.signers === 3),
      { numRuns: 1, seed: 4 },
    )[0]
    if (!draft) throw new Error('no draft')
    const transaction = decode(encode(draft, 1))
    const asked: [string, number][] = []
    const good = verifySignatures(transaction, (key, message, signature) => {
      expect(message).toBe(transaction.message)
      asked.push([encodeBase58(key), signature[0] ?? 0])
      return true
    })
    expect(good).toBe(true)
    expect(asked).toEqual(transaction.keys.slice(0, 3).map((key, index) => [encodeBase58(key), index + 1]))
    // The last signer counts as much as the first.
    expect(verifySignatures(transaction, (_key, _message, signature) => signature[0] !== 3)).toBe(false)
    // Nobody's signature is not everybody's.
    expect(verifySignatures({ ...transaction, signatures: [] }, () => true)).toBe(false)
  })
})
