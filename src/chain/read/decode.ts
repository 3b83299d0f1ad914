/**
 * Transactions as bytes: legacy, v0 (lookup tables) and v1 (SIMD-0385).
 *
 * Made by hand because every paid request passes through here and the library takes fifty times as long. What the chain
 * would not run is refused, so that nobody's odd spelling of a transaction is judged; `tests/chain/codec.test.ts`
 * holds it against the library's own codecs.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Verifier } from '../../core/runtime.ts'

export type Version = 'legacy' | 0 | 1

export interface Header {
  readonly requiredSignatures: number
  readonly readonlySigned: number
  readonly readonlyUnsigned: number
}

/** Numbers are positions in the transaction's accounts: its own keys, then what its lookups load. */
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

/** What a v1 message asks for in its header, where older ones use compute budget instructions. */
export interface MessageConfig {
  readonly priorityFeeLamports?: bigint
  readonly computeUnitLimit?: number
  readonly loadedAccountsDataSizeLimit?: number
  readonly heapSize?: number
}

export interface Transaction {
  readonly version: Version
  readonly signatures: readonly Uint8Array[]
  /** What was signed. */
  readonly message: Uint8Array
  readonly header: Header
  readonly keys: readonly Uint8Array[]
  /** A recent block's hash, or a durable nonce. */
  readonly lifetime: Uint8Array
  readonly instructions: readonly Instruction[]
  readonly lookups: readonly Lookup[]
  readonly config: MessageConfig
}

export type Decoding =
  | { readonly kind: 'transaction'; readonly transaction: Transaction }
  | { readonly kind: 'malformed'; readonly why: string }

/** The largest transactions that fit on the wire. */
export const longestBytes = 1232
const longestBytesV1 = 4096

const signatureLength = 64
const keyLength = 32
const versionFlag = 0x80
const versionOne = versionFlag | 1
const mostAccounts = 256

/** Reads bytes into a transaction. Never throws, and takes time in proportion to the bytes. */
export function decodeTransaction(bytes: Uint8Array): Decoding {
  const reader: Reader = { bytes, at: 0, why: undefined }
  const transaction = bytes[0] === versionOne ? readMessageFirst(reader) : readSignaturesFirst(reader)
  if (reader.why === undefined && reader.at !== bytes.length) fail(reader, 'bytes are left over at the end')
  const why = reader.why ?? findFault(transaction, bytes.length)
  return why === undefined ? { kind: 'transaction', transaction } : { kind: 'malformed', why }
}

/** The same for bytes that are known to be a transaction; throws a `TypeError` where they are not. */
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

/** Its name on the chain: the signature of who pays the fee. */
export function readSignature({ signatures }: Transaction): string {
  return encodeBase58(signatures[0] ?? new Uint8Array())
}

/** Where the signature of an address belongs; undefined for one that does not sign. */
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
  // A bit that is not known yet stands for bytes of unknown meaning: what follows could be read wrongly.
  if (mask > 0b11111 || fee === 0b01 || fee === 0b10) fail(reader, 'the config mask is not valid')
  return {
    ...(fee !== 0 && { priorityFeeLamports: readBigNumber(reader) }),
    ...((mask & 0b100) !== 0 && { computeUnitLimit: readNumber(reader, 4) }),
    ...((mask & 0b1000) !== 0 && { loadedAccountsDataSizeLimit: readNumber(reader, 4) }),
    ...((mask & 0b10000) !== 0 && { heapSize: readNumber(reader, 4) }),
  }
}

/** The rules every validator applies before it runs a transaction. */
function findFault(transaction: Transaction, size: number): string | undefined {
  const { version, signatures, header, keys, lookups, instructions } = transaction
  const { requiredSignatures, readonlySigned, readonlyUnsigned } = header
  if (size > (version === 1 ? longestBytesV1 : longestBytes)) return 'it is larger than a transaction can be'
  if (signatures.length !== requiredSignatures) return 'the signatures are not as many as the signers'
  if (readonlySigned >= requiredSignatures) return 'nobody can pay the fee'
  if (requiredSignatures + readonlyUnsigned > keys.length) return 'the header counts accounts that are not there'
  if (version === 1 && (requiredSignatures > 12 || keys.length > 64 || instructions.length > 64)) {
    return 'it has more parts than version 1 allows'
  }
  let total = keys.length
  for (const { writable, readonly } of lookups) {
    if (writable.length + readonly.length === 0) return 'a lookup loads nothing'
    total += writable.length + readonly.length
  }
  if (total > mostAccounts) return 'it names more accounts than can be counted'
  for (const { program, accounts } of instructions) {
    // The fee payer is no program, and a program is never loaded through a table.
    if (program === 0 || program >= keys.length) return 'a program is not among its keys'
    for (const account of accounts) if (account >= total) return 'an instruction names an account that is not there'
  }
  return undefined
}

/** After the first failure nothing more is read: every read then gives nothing, and lists end. */
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

/** A length in one to three bytes of seven bits each. The chain refuses all but the shortest spelling; so do we. */
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
