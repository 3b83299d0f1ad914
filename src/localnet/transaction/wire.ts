/**
 * Decodes transactions: legacy, v0 (lookup tables) and v1 (SIMD-0385).
 *
 * The VM ends the whole process on malformed bytes, so all bytes are checked here first. The decoder follows the
 * format's specification and does not share code with the reader of payments, because a shared reader would only
 * confirm its own mistakes.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'

export const packetBytes = 1232
export const packetBytesV1 = 4096

export type Version = 'legacy' | 0 | 1

export interface Instruction {
  readonly program: number
  readonly accounts: readonly number[]
  readonly data: Uint8Array
}

export interface Lookup {
  readonly table: string
  readonly writable: readonly number[]
  readonly readonly: readonly number[]
}

/** The resource request in the header of a v1 message. A missing field requests the minimum, not a default. */
export interface ResourceConfig {
  readonly mask: number
  readonly priorityFeeLamports?: bigint
  readonly computeUnitLimit?: number
  readonly loadedAccountsDataSizeLimit?: number
  readonly heapSize?: number
}

export interface Message {
  readonly version: Version
  readonly bytes: Uint8Array
  readonly signers: number
  readonly readonlySigners: number
  readonly readonlyOthers: number
  readonly keys: readonly string[]
  readonly blockhash: string
  /** The offset of the blockhash in `bytes`. A simulation can replace it. */
  readonly blockhashOffset: number
  readonly instructions: readonly Instruction[]
  readonly lookups: readonly Lookup[]
  readonly config?: ResourceConfig
}

export interface Transaction {
  readonly bytes: Uint8Array
  readonly signatures: readonly Uint8Array[]
  readonly message: Message
}

export type Decoded<T> =
  | { readonly kind: 'ok'; readonly value: T }
  /** The bytes are not a transaction. */
  | { readonly kind: 'malformed'; readonly reason: string }
  /** The bytes are a transaction, but its parts contradict each other. */
  | { readonly kind: 'unsanitary'; readonly reason: string }

interface Reader {
  readonly bytes: Uint8Array
  at: number
}

class Malformed extends PaystileError {
  constructor(reason: string) {
    super('malformed', reason)
  }
}
class Unsanitary extends PaystileError {
  constructor(reason: string) {
    super('unsanitary', reason)
  }
}

export function decodeTransaction(bytes: Uint8Array): Decoded<Transaction> {
  return guarded(() => (bytes[0] === 0x81 ? readMessageFirst(bytes) : readSignaturesFirst(bytes)))
}

export function decodeMessage(bytes: Uint8Array): Decoded<Message> {
  return guarded(() => {
    const reader = { bytes, at: 0 }
    const message = readMessage(reader)
    if (reader.at !== bytes.length) throw new Malformed('bytes remain after the message')
    return message
  })
}

function guarded<T>(read: () => T): Decoded<T> {
  try {
    return { kind: 'ok', value: read() }
  } catch (error) {
    if (error instanceof Malformed) return { kind: 'malformed', reason: error.message }
    if (error instanceof Unsanitary) return { kind: 'unsanitary', reason: error.message }
    throw error
  }
}

function readSignaturesFirst(bytes: Uint8Array): Transaction {
  const reader = { bytes, at: 0 }
  const count = readLength(reader)
  const signatures = readMany(count, () => readBytes(reader, 64))
  const message = readMessage(reader)
  if (message.version === 1) throw new Malformed('a version 1 message comes before its signatures')
  if (reader.at !== bytes.length) throw new Malformed('bytes remain after the message')
  if (count !== message.signers) throw new Unsanitary('the number of signatures is not that of the signers')
  return { bytes, signatures, message }
}

function readMessageFirst(bytes: Uint8Array): Transaction {
  const reader = { bytes, at: 0 }
  const message = readMessage(reader)
  const signatures = readMany(message.signers, () => readBytes(reader, 64))
  if (reader.at !== bytes.length) throw new Malformed('bytes remain after the signatures')
  return { bytes, signatures, message }
}

function readMessage(reader: Reader): Message {
  const start = reader.at
  const first = reader.bytes[start]
  if (first === undefined) throw new Malformed('the message is empty')
  const message = first === 0x81 ? readV1(reader) : readLegacyOrV0(reader, first)
  const whole = { ...message, bytes: reader.bytes.subarray(start, reader.at) }
  sanitize(whole)
  return whole
}

type Unframed = Omit<Message, 'bytes'>

function readLegacyOrV0(reader: Reader, first: number): Unframed {
  const start = reader.at
  if (first & 0x80 && first !== 0x80) throw new Malformed(`transaction version ${first & 0x7f} is not supported`)
  const version = first === 0x80 ? 0 : 'legacy'
  if (version === 0) reader.at += 1
  const [signers, readonlySigners, readonlyOthers] = readHeader(reader)
  const keys = readMany(readLength(reader), () => readAddress(reader))
  const blockhashOffset = reader.at - start
  const blockhash = readAddress(reader)
  const instructions = readMany(readLength(reader), () => ({
    program: readByte(reader),
    accounts: [...readBytes(reader, readLength(reader))],
    data: readBytes(reader, readLength(reader)),
  }))
  const lookups = version === 0 ? readMany(readLength(reader), () => readLookup(reader)) : []
  return { version, signers, readonlySigners, readonlyOthers, keys, blockhash, blockhashOffset, instructions, lookups }
}

function readLookup(reader: Reader): Lookup {
  return {
    table: readAddress(reader),
    writable: [...readBytes(reader, readLength(reader))],
    readonly: [...readBytes(reader, readLength(reader))],
  }
}

function readV1(reader: Reader): Unframed {
  reader.at += 1
  const [signers, readonlySigners, readonlyOthers] = readHeader(reader)
  const mask = readU32(reader)
  if (mask & ~0b11111 || (mask & 0b11) === 1 || (mask & 0b11) === 2) throw new Malformed('invalid config mask')
  const blockhash = readAddress(reader)
  const instructionCount = readByte(reader)
  const keys = readMany(readByte(reader), () => readAddress(reader))
  const config: ResourceConfig = {
    mask,
    ...(mask & 0b11 ? { priorityFeeLamports: readU64(reader) } : {}),
    ...(mask & 0b100 ? { computeUnitLimit: readU32(reader) } : {}),
    ...(mask & 0b1000 ? { loadedAccountsDataSizeLimit: readU32(reader) } : {}),
    ...(mask & 0b10000 ? { heapSize: readU32(reader) } : {}),
  }
  const headers = readMany(instructionCount, () => ({
    program: readByte(reader),
    accounts: readByte(reader),
    data: readByte(reader) | (readByte(reader) << 8),
  }))
  const instructions = headers.map((header) => ({
    program: header.program,
    accounts: [...readBytes(reader, header.accounts)],
    data: readBytes(reader, header.data),
  }))
  return {
    version: 1,
    signers,
    readonlySigners,
    readonlyOthers,
    keys,
    blockhash,
    blockhashOffset: 8,
    instructions,
    lookups: [],
    config,
  }
}

function sanitize(message: Message): void {
  const { keys, signers, readonlySigners, readonlyOthers, lookups } = message
  if (signers + readonlyOthers > keys.length) throw new Unsanitary('fewer accounts than the header counts')
  if (readonlySigners >= signers) throw new Unsanitary('the fee payer is not a writable signer')
  const looked = lookups.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0)
  if (lookups.some(({ writable, readonly }) => writable.length + readonly.length === 0))
    throw new Unsanitary('a lookup loads nothing')
  if (keys.length + looked > 256) throw new Unsanitary('more than 256 accounts')
  for (const { program, accounts } of message.instructions) {
    if (program === 0 || program >= keys.length) throw new Unsanitary('a program index is out of bounds')
    if (accounts.some((index) => index >= keys.length + looked))
      throw new Unsanitary('an account index is out of bounds')
  }
  if (message.version === 1) sanitizeV1(message)
}

function sanitizeV1({ signers, keys, instructions, config }: Message): void {
  if (signers > 12) throw new Unsanitary('more than 12 signatures')
  if (keys.length > 64) throw new Unsanitary('more than 64 accounts')
  if (instructions.length > 64) throw new Unsanitary('more than 64 instructions')
  if (new Set(keys).size !== keys.length) throw new Unsanitary('an account is listed twice')
  const heap = config?.heapSize
  if (heap !== undefined && (heap % 1024 !== 0 || heap < 32 * 1024 || heap > 256 * 1024))
    throw new Unsanitary('the heap size is out of bounds')
}

function readHeader(reader: Reader): [number, number, number] {
  return [readByte(reader), readByte(reader), readByte(reader)]
}

function readMany<T>(count: number, read: () => T): T[] {
  const items: T[] = []
  // The count comes from the sender. Reading stops at the first missing item, before memory is allocated for all.
  for (let index = 0; index < count; index++) items.push(read())
  return items
}

function readByte(reader: Reader): number {
  const byte = reader.bytes[reader.at]
  if (byte === undefined) throw new Malformed('the bytes end too early')
  reader.at += 1
  return byte
}

function readBytes(reader: Reader, length: number): Uint8Array {
  const end = reader.at + length
  if (end > reader.bytes.length) throw new Malformed('the bytes end too early')
  const bytes = reader.bytes.subarray(reader.at, end)
  reader.at = end
  return bytes
}

function readAddress(reader: Reader): string {
  return encodeBase58(readBytes(reader, 32))
}

function readU32(reader: Reader): number {
  return new DataView(Uint8Array.from(readBytes(reader, 4)).buffer).getUint32(0, true)
}

function readU64(reader: Reader): bigint {
  return new DataView(Uint8Array.from(readBytes(reader, 8)).buffer).getBigUint64(0, true)
}

/** A length in one to three bytes of seven bits. Only the shortest encoding is accepted. */
function readLength(reader: Reader): number {
  let value = 0
  for (let position = 0; position < 3; position++) {
    const byte = readByte(reader)
    if (position > 0 && byte === 0) throw new Malformed('a length is not in its shortest form')
    value |= (byte & 0x7f) << (7 * position)
    if ((byte & 0x80) === 0) return value
  }
  throw new Malformed('a length exceeds three bytes')
}
