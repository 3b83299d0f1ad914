import {
  AccountRole,
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getAddressDecoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Instruction,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { decodeMessage, decodeTransaction, type Message } from './wire.ts'

const toAddress = (bytes: Uint8Array) => getAddressDecoder().decode(bytes)
const anAddress = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toAddress)
const blockhash = toAddress(new Uint8Array(32).fill(7)) as string as Blockhash

const anInstruction = (accounts: readonly Address[]): fc.Arbitrary<Instruction> =>
  fc.record({
    programAddress: fc.constantFrom(...accounts.slice(0, 3)),
    accounts: fc.array(
      fc.record({
        address: fc.constantFrom(...accounts.slice(3)),
        role: fc.constantFrom(
          AccountRole.READONLY,
          AccountRole.WRITABLE,
          AccountRole.READONLY_SIGNER,
          AccountRole.WRITABLE_SIGNER,
        ),
      }),
      { maxLength: 6 },
    ),
    data: fc.uint8Array({ maxLength: 40 }),
  })

const someAccounts = fc.uniqueArray(anAddress, { minLength: 9, maxLength: 12 })

const aTransaction: fc.Arbitrary<{ version: 'legacy' | 0 | 1; bytes: Uint8Array }> = someAccounts
  .chain((accounts) =>
    fc.record({
      accounts: fc.constant(accounts),
      version: fc.constantFrom<'legacy' | 0 | 1>('legacy', 0, 1),
      instructions: fc.array(anInstruction(accounts.slice(1)), { minLength: 1, maxLength: 4 }),
      looked: fc.boolean(),
      config: fc.record(
        {
          computeUnitLimit: fc.nat(1_400_000),
          heapSize: fc.constantFrom(32_768, 65_536),
          loadedAccountsDataSizeLimit: fc.nat(2 ** 31 - 1),
          priorityFeeLamports: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        },
        { requiredKeys: [] },
      ),
    }),
  )
  .map(({ accounts, version, instructions, looked, config }) => {
    const [payer, ...rest] = accounts as [Address, ...Address[]]
    const base = (of: 'legacy' | 0 | 1) =>
      pipe(
        createTransactionMessage({ version: of }),
        (message) => setTransactionMessageFeePayer(payer, message),
        (message) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 1n }, message),
        (message) => appendTransactionMessageInstructions(instructions, message),
      )
    const compile = (): unknown => {
      if (version === 1) return setTransactionMessageConfig(config, base(1) as never)
      if (version === 'legacy' || !looked) return base(version)
      return compressTransactionMessageUsingAddressLookupTables(base(0) as never, { [payer]: rest.slice(4) } as never)
    }
    return { version, bytes: Uint8Array.from(getTransactionEncoder().encode(compileTransaction(compile() as never))) }
  })

/** Our reading in kit's words. */
function asKit(message: Message): Record<string, unknown> {
  const common = {
    header: {
      numReadonlyNonSignerAccounts: message.readonlyOthers,
      numReadonlySignerAccounts: message.readonlySigners,
      numSignerAccounts: message.signers,
    },
    lifetimeToken: message.blockhash,
    staticAccounts: message.keys,
    version: message.version,
  }
  return {
    ...common,
    instructions: message.instructions.map(({ program, accounts, data }) => [program, accounts, [...data]]),
  }
}

interface KitMessage {
  readonly header: unknown
  readonly lifetimeToken: string
  readonly staticAccounts: readonly string[]
  readonly version: unknown
  readonly instructions?: readonly { programAddressIndex: number; accountIndices?: number[]; data?: Uint8Array }[]
  readonly instructionHeaders?: readonly { programAccountIndex: number }[]
  readonly instructionPayloads?: readonly { instructionAccountIndices: number[]; instructionData: Uint8Array }[]
  readonly addressTableLookups?: readonly {
    lookupTableAddress: string
    writableIndexes: number[]
    readonlyIndexes: number[]
  }[]
  readonly configValues?: readonly { value: number | bigint }[]
}

function fromKit(bytes: Uint8Array): { message: KitMessage; plain: Record<string, unknown> } {
  const message = getCompiledTransactionMessageDecoder().decode(bytes) as unknown as KitMessage
  const { header, lifetimeToken, staticAccounts, version } = message
  const instructions =
    message.instructions?.map(({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) => [
      programAddressIndex,
      accountIndices,
      [...data],
    ]) ??
    message.instructionPayloads?.map(({ instructionAccountIndices, instructionData }, index) => [
      message.instructionHeaders?.[index]?.programAccountIndex,
      instructionAccountIndices,
      [...instructionData],
    ])
  return { message, plain: { header, lifetimeToken, staticAccounts, version, instructions } }
}

describe('the wire decoder beside kit', () => {
  it('reads the output of kit, field by field', () => {
    const seen = new Set<unknown>()
    fc.assert(
      fc.property(aTransaction, ({ version, bytes }) => {
        const decoded = decodeTransaction(bytes)
        if (decoded.kind !== 'ok') throw new Error(`${decoded.kind}: ${decoded.reason}`)
        const { message, signatures } = decoded.value
        const theirs = getTransactionDecoder().decode(bytes)
        expect([...message.bytes]).toEqual([...theirs.messageBytes])
        expect(signatures).toHaveLength(Object.keys(theirs.signatures).length)
        const { message: kit, plain } = fromKit(message.bytes)
        expect(asKit(message)).toEqual(plain)
        expect(message.lookups.map(({ table, writable, readonly }) => [table, writable, readonly])).toEqual(
          (kit.addressTableLookups ?? []).map((one) => [
            one.lookupTableAddress,
            one.writableIndexes,
            one.readonlyIndexes,
          ]),
        )
        const { priorityFeeLamports, computeUnitLimit, loadedAccountsDataSizeLimit, heapSize } = message.config ?? {}
        expect(
          [priorityFeeLamports, computeUnitLimit, loadedAccountsDataSizeLimit, heapSize].filter(
            (one) => one !== undefined,
          ),
        ).toEqual((kit.configValues ?? []).map(({ value }) => value))
        expect([...message.bytes.subarray(message.blockhashOffset, message.blockhashOffset + 32)]).toEqual(
          new Array(32).fill(7),
        )
        seen.add(`${version} ${message.lookups.length > 0}`)
      }),
      { numRuns: size(60, 300) },
    )
    expect([...seen].sort()).toEqual(['0 false', '0 true', '1 false', 'legacy false'])
  })

  it('never throws on changed bytes, and agrees with kit on every message it accepts', () => {
    let accepted = 0
    fc.assert(
      fc.property(
        aTransaction,
        fc.array(fc.tuple(fc.nat(5_000), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: -3, max: 3 }),
        ({ bytes }, changes, grow) => {
          const changed = new Uint8Array(Math.max(0, bytes.length + grow))
          changed.set(bytes.subarray(0, changed.length))
          for (const [at, value] of changes)
            if (at < changed.length || at % 3 === 0) changed[at % (changed.length || 1)] = value
          const decoded = decodeTransaction(changed)
          if (decoded.kind !== 'ok') return
          accepted += 1
          expect(asKit(decoded.value.message)).toEqual(fromKit(decoded.value.message.bytes).plain)
        },
      ),
      { numRuns: size(150, 1_500) },
    )
    expect(accepted).toBeGreaterThan(size(10, 100))
  })
})

/** A transfer of nothing, by hand: one signature of zeros, a payer, a program. */
function legacy(
  overrides: Partial<Record<'signatures' | 'header' | 'keys' | 'instruction' | 'tail', number[]>> = {},
): Uint8Array {
  return Uint8Array.from([
    ...(overrides.signatures ?? [1, ...new Array(64).fill(0)]),
    ...(overrides.header ?? [1, 0, 1]),
    ...(overrides.keys ?? [2, ...new Array(32).fill(1), ...new Array(32).fill(2)]),
    ...new Array(32).fill(7),
    ...(overrides.instruction ?? [1, 1, 1, 0, 0]),
    ...(overrides.tail ?? []),
  ])
}

function v1(
  overrides: Partial<Record<'header' | 'mask' | 'counts' | 'keys' | 'config' | 'instruction' | 'tail', number[]>> = {},
) {
  return Uint8Array.from([
    0x81,
    ...(overrides.header ?? [1, 0, 1]),
    ...(overrides.mask ?? [0, 0, 0, 0]),
    ...new Array(32).fill(7),
    ...(overrides.counts ?? [1, 2]),
    ...(overrides.keys ?? [...new Array(32).fill(1), ...new Array(32).fill(2)]),
    ...(overrides.config ?? []),
    ...(overrides.instruction ?? [1, 1, 0, 0, 0]),
    ...new Array(64).fill(0),
    ...(overrides.tail ?? []),
  ])
}

describe('refused transactions', () => {
  it('takes the two plain examples', () => {
    expect(decodeTransaction(legacy()).kind).toBe('ok')
    expect(decodeTransaction(v1()).kind).toBe('ok')
  })

  it.each([
    ['no bytes', new Uint8Array()],
    [
      'a message in two spellings of its length',
      legacy({ keys: [0x82, 0, ...new Array(32).fill(1), ...new Array(32).fill(2)] }),
    ],
    ['a length beyond 16 bits', legacy({ keys: [0xff, 0xff, 4] })],
    ['a length of four bytes', legacy({ keys: [0x82, 0x80, 0x80, 1] })],
    ['bytes after the message', legacy({ tail: [0] })],
    ['bytes after the signatures of v1', v1({ tail: [0] })],
    ['version 2', legacy({ header: [0x82, 1, 0, 1] })],
    ['version 1 with signatures first', Uint8Array.from([1, ...new Array(64).fill(0), ...v1().subarray(0, -64)])],
    ['more accounts than bytes', legacy({ keys: [50, ...new Array(64).fill(1)] })],
    ['a config bit nobody knows', v1({ mask: [0b100000, 0, 0, 0], config: [0, 0, 0, 0] })],
    ['half of a priority fee', v1({ mask: [0b01, 0, 0, 0], config: [0, 0, 0, 0] })],
  ])('%s is malformed', (_name, bytes) => {
    expect(decodeTransaction(bytes).kind).toBe('malformed')
  })

  it.each([
    ['a signature too many', legacy({ signatures: [2, ...new Array(128).fill(0)] })],
    ['no signatures', legacy({ signatures: [0], header: [0, 0, 1] })],
    ['a payer that is only read', legacy({ header: [1, 1, 1] })],
    ['more read-only accounts than accounts', legacy({ header: [1, 0, 2] })],
    ['a program that is not there', legacy({ instruction: [1, 2, 1, 0, 0] })],
    ['the payer as program', legacy({ instruction: [1, 0, 1, 0, 0] })],
    ['an account that is not there', legacy({ instruction: [1, 1, 1, 2, 0] })],
    ['v1 with an account twice', v1({ keys: [...new Array(64).fill(1)] })],
    ['v1 with a heap of odd size', v1({ mask: [0b10000, 0, 0, 0], config: [1, 128, 0, 0] })],
    ['v1 with a heap too large', v1({ mask: [0b10000, 0, 0, 0], config: [0, 0, 8, 0] })],
    ['v1 with 65 instructions', v1({ counts: [65, 2], instruction: new Array(65).fill([1, 0, 0, 0]).flat() })],
    [
      'v1 with 65 accounts',
      v1({ counts: [1, 65], keys: Array.from({ length: 65 }, (_, index) => new Array(32).fill(index)).flat() }),
    ],
  ])('%s is unsanitary', (_name, bytes) => {
    expect(decodeTransaction(bytes).kind).toBe('unsanitary')
  })

  it('v1 with 13 signatures is unsanitary', () => {
    const keys = Array.from({ length: 14 }, (_, index) => new Array(32).fill(index)).flat()
    const bytes = v1({ header: [13, 0, 0], counts: [1, 14], keys, instruction: [13, 0, 0, 0] })
    expect(decodeTransaction(Uint8Array.from([...bytes, ...new Array(12 * 64).fill(0)])).kind).toBe('unsanitary')
  })

  it('a lookup that loads nothing, or more than 256 accounts, is unsanitary', () => {
    const v0 = (lookups: number[]) =>
      Uint8Array.from([
        1,
        ...new Array(64).fill(0),
        0x80,
        ...[1, 0, 1, 2, ...new Array(32).fill(1), ...new Array(32).fill(2), ...new Array(32).fill(7)],
        ...[1, 1, 1, 0, 0],
        ...lookups,
      ])
    const table = new Array(32).fill(9)
    expect(decodeTransaction(v0([1, ...table, 1, 0, 0])).kind).toBe('ok')
    expect(decodeTransaction(v0([1, ...table, 0, 0])).kind).toBe('unsanitary')
    expect(decodeTransaction(v0([1, ...table, 0xff, 1, ...new Array(255).fill(0), 0])).kind).toBe('unsanitary')
  })

  it('a message alone must be all there is', () => {
    const message = legacy().subarray(65)
    expect(decodeMessage(message).kind).toBe('ok')
    expect(decodeMessage(Uint8Array.from([...message, 0])).kind).toBe('malformed')
  })
})
