/**
 * Decodes transactions: legacy, v0 (lookup tables) and v1 (SIMD-0385).
 *
 * The decoder is hand-written, because every paid request runs it and the library takes fifty times as long. It rejects
 * all bytes that the chain would not run, so that no unusual encoding is ever evaluated. `tests/chain/codec.test.ts`
 * compares it with the library's codecs.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Verifier } from '../../core/runtime.ts'

export type Version = 'legacy' | 0 | 1

export interface Header {
  readonly requiredSignatures: number
  readonly readonlySigned: number
  readonly readonlyUnsigned: number
}

/** Numbers are indexes into the transaction's accounts: its own keys, then the accounts that its lookups load. */
export interface Instruction {
  readonly program: number
  readonly accounts: Uint8Array
  readonly data: Uint8Array
}

export interface Lookup {
  readonly table: Uint8Array
  readonly writable: Uint8Array
  readonly readonly: Uint8Array
}

/** The settings in the header of a v1 message. Older versions use compute budget instructions. */
export interface MessageConfig {
  readonly priorityFeeLamports?: bigint
  readonly computeUnitLimit?: number
  readonly loadedAccountsDataSizeLimit?: number
  readonly heapSize?: number
}

export interface Transaction {
  readonly version: Version
  readonly signatures: readonly Uint8Array[]
  /** The signed bytes. */
  readonly message: Uint8Array
  readonly header: Header
  readonly keys: readonly Uint8Array[]
  /** A recent blockhash, or a durable nonce. */
  readonly lifetime: Uint8Array
  readonly instructions: readonly Instruction[]
  readonly lookups: readonly Lookup[]
  readonly config: MessageConfig
}

export type Decoding =
  | { readonly kind: 'transaction'; readonly transaction: Transaction }
  | { readonly kind: 'malformed'; readonly why: string }

/** The maximum size of a transaction. */
export const longestBytes = 1232
const longestBytesV1 = 4096

const signatureLength = 64
const keyLength = 32
const versionFlag = 0x80
const versionOne = versionFlag | 1
const mostAccounts = 256

/** Decodes a transaction. It never throws and takes linear time. */
export function decodeTransaction(bytes: Uint8Array): Decoding {
  const reader: Reader = { bytes, at: 0, why: undefined }
  const transaction = bytes[0] === versionOne ? readMessageFirst(reader) : readSignaturesFirst(reader)
  if (reader.why === undefined && reader.at !== bytes.length) fail(reader, 'bytes are left over at the end')
  const why = reader.why ?? findFault(transaction, bytes.length)
  return why === undefined ? { kind: 'transaction', transaction } : { kind: 'malformed', why }
}

/** Like `decodeTransaction`, for bytes that are known to be a transaction. Throws a `TypeError` otherwise. */
export function openTransaction(bytes: Uint8Array): Transaction {
  const decoding = decodeTransaction(bytes)
  if (decoding.kind === 'malformed') throw new TypeError(`not a transaction: ${decoding.why}`)
  return decoding.transaction
}

/** Whether every required signer signed exactly these message bytes. */
export function verifySignatures(transaction: Transaction, verify: Verifier): boolean {
  const { signatures, keys, message, header } = transaction
  if (signatures.length !== header.requiredSignatures) return false
  return signatures.every((signature, index) => {
    const key = keys[index]
    return key !== undefined && verify(key, message, signature)
  })
}

/** The transaction's id: the signature of the fee payer. */
export function readSignature({ signatures }: Transaction): string {
  return encodeBase58(signatures[0] ?? new Uint8Array())
}

/** The index of an address's signature. Undefined if the address is not a signer. */
export function readAccountIndex({ keys, header }: Transaction, signer: string): number | undefined {
  const place = keys.slice(0, header.requiredSignatures).findIndex((key) => encodeBase58(key) === signer)
  return place < 0 ? undefined : place
}

function readSignaturesFirst(reader: Reader): Transaction {
  const signatures = readMany(reader, readLength(reader), (from) => take(from, signatureLength))
  const start = reader.at
  const first = reader.bytes[start] ?? 0
  if (first >= versionFlag && first !== versionFlag) fail(reader, 'this version does not come after its signatures')
  const version = first === versionFlag ? 0 : 'legacy'
  if (version === 0) reader.at += 1
  const header = readHeader(reader)
  const keys = readMany(reader, readLength(reader), (from) => take(from, keyLength))
  const lifetime = take(reader, keyLength)
  const instructions = readMany(reader, readLength(reader), readInstruction)
  const lookups = version === 0 ? readMany(reader, readLength(reader), readLookup) : []
  const message = reader.bytes.subarray(start, reader.at)
  return { version, signatures, message, header, keys, lifetime, instructions, lookups, config: {} }
}

function readInstruction(reader: Reader): Instruction {
  const program = readByte(reader)
  const accounts = take(reader, readLength(reader))
  const data = take(reader, readLength(reader))
  return { program, accounts, data }
}

function readLookup(reader: Reader): Lookup {
  const table = take(reader, keyLength)
  const writable = take(reader, readLength(reader))
  const readonly = take(reader, readLength(reader))
  return { table, writable, readonly }
}

function readMessageFirst(reader: Reader): Transaction {
  reader.at += 1
  const header = readHeader(reader)
  const mask = readNumber(reader, 4)
  const lifetime = take(reader, keyLength)
  const instructionCount = readByte(reader)
  const keys = readMany(reader, readByte(reader), (from) => take(from, keyLength))
  const config = readConfig(reader, mask)
  const heads = readMany(reader, instructionCount, (from) => ({
    program: readByte(from),
    accounts: readByte(from),
    data: readNumber(from, 2),
  }))
  const instructions = heads.map((head) => {
    const accounts = take(reader, head.accounts)
    return { program: head.program, accounts, data: take(reader, head.data) }
  })
  const message = reader.bytes.subarray(0, reader.at)
  const signatures = readMany(reader, header.requiredSignatures, (from) => take(from, signatureLength))
  return { version: 1, signatures, message, header, keys, lifetime, instructions, lookups: [], config }
}

function readConfig(reader: Reader, mask: number): MessageConfig {
  const fee = mask & 0b11
  // An unknown bit stands for bytes of unknown meaning, so all following bytes could be misread.
  if (mask > 0b11111 || fee === 0b01 || fee === 0b10) fail(reader, 'the config mask is not valid')
  return {
    ...(fee !== 0 && { priorityFeeLamports: readBigNumber(reader) }),
    ...((mask & 0b100) !== 0 && { computeUnitLimit: readNumber(reader, 4) }),
    ...((mask & 0b1000) !== 0 && { loadedAccountsDataSizeLimit: readNumber(reader, 4) }),
    ...((mask & 0b10000) !== 0 && { heapSize: readNumber(reader, 4) }),
  }
}

/** The rules that every validator applies before it runs a transaction. */
function findFault(transaction: Transaction, size: number): string | undefined {
  const { version, signatures, header, keys, lookups, instructions } = transaction
  const { requiredSignatures, readonlySigned, readonlyUnsigned } = header
  if (size > (version === 1 ? longestBytesV1 : longestBytes)) return 'it is larger than a transaction can be'
  if (signatures.length !== requiredSignatures) return 'the signatures are not as many as the signers'
  if (readonlySigned >= requiredSignatures) return 'the fee payer is missing'
  if (requiredSignatures + readonlyUnsigned > keys.length) return 'the header counts missing accounts'
  if (version === 1 && (requiredSignatures > 12 || keys.length > 64 || instructions.length > 64))
    return 'it has more parts than version 1 allows'
  let total = keys.length
  for (const { writable, readonly } of lookups) {
    if (writable.length + readonly.length === 0) return 'a lookup loads nothing'
    total += writable.length + readonly.length
  }
  if (total > mostAccounts) return 'it names more accounts than can be counted'
  for (const { program, accounts } of instructions) {
    // The fee payer cannot be a program, and a program is never loaded through a table.
    if (program === 0 || program >= keys.length) return 'a program is not among its keys'
    for (const account of accounts) if (account >= total) return 'an instruction refers to a missing account'
  }
  return undefined
}

/** After the first failure, every read returns an empty value, and lists end. */
interface Reader {
  readonly bytes: Uint8Array
  at: number
  why: string | undefined
}

const nothing = new Uint8Array()

function fail(reader: Reader, why: string): void {
  reader.why ??= why
  reader.at = reader.bytes.length
}

function take(reader: Reader, length: number): Uint8Array {
  const end = reader.at + length
  if (end > reader.bytes.length) {
    fail(reader, 'the bytes end too early')
    return nothing
  }
  const part = reader.bytes.subarray(reader.at, end)
  reader.at = end
  return part
}

function readMany<T>(reader: Reader, count: number, read: (reader: Reader) => T): T[] {
  const items: T[] = []
  for (let index = 0; index < count && reader.why === undefined; index += 1) items.push(read(reader))
  return items
}

function readHeader(reader: Reader): Header {
  const requiredSignatures = readByte(reader)
  const readonlySigned = readByte(reader)
  return { requiredSignatures, readonlySigned, readonlyUnsigned: readByte(reader) }
}

function readByte(reader: Reader): number {
  const byte = reader.bytes[reader.at]
  if (byte === undefined) {
    fail(reader, 'the bytes end too early')
    return 0
  }
  reader.at += 1
  return byte
}

function readNumber(reader: Reader, bytes: 2 | 4): number {
  let value = 0
  for (let index = 0, unit = 1; index < bytes; index += 1, unit *= 256) value += readByte(reader) * unit
  return value
}

function readBigNumber(reader: Reader): bigint {
  const low = readNumber(reader, 4)
  return (BigInt(readNumber(reader, 4)) << 32n) | BigInt(low)
}

/** A length in one to three bytes of seven bits each. Like the chain, it accepts only the shortest encoding. */
function readLength(reader: Reader): number {
  let value = 0
  for (let position = 0; position < 3; position += 1) {
    const byte = readByte(reader)
    if (byte === 0 && position > 0) break
    if (position === 2 && byte > 3) break
    value |= (byte & 0x7f) << (7 * position)
    if (byte < 0x80) return value
  }
  fail(reader, 'a length is not in its shortest form')
  return 0
}
