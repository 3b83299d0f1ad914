/**
 * The requestId: a quote that authenticates itself.
 *
 * It carries all terms of the offer (price per token, allowance, request and expiry) under a MAC. A challenge therefore
 * needs no row in a table, and every replica can open it. `docs/protocol.md` defines the layout byte by byte.
 */
import { decodeAddress } from '../encoding/base58.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { equalBytes, type Hmac, padToBlock } from '../encoding/hmac.ts'
import { maxUnits } from '../money/money.ts'
import { type Amounts, isKnownCode, isTokenCode, knownCodes, type TokenCode } from '../money/tokens.ts'
import { type Allowance, units } from '../payment/allowance.ts'
import { digestSplits, type RecipientSet } from '../payment/splits.ts'
import { writeNonce } from './nonce.ts'

export const requestIdPattern = /^[A-Za-z0-9_-]{1,128}$/
export const routeTagBytes = 4
export const bindingTagBytes = 8
const version = 1
const nonceBytes = 8
const macBytes = 16
const longestTtlSeconds = 2 ** 31
/** As many as `requestIdPattern` allows. */
const mostBytes = 96
/** The requestId also has amounts of tokens that the provider configured. */
const othersFlag = 128

/** The evidence that a proof must carry besides transaction, requestId and payer. */
export const proofKinds = ['bare', 'claim', 'sig'] as const
export type ProofKind = (typeof proofKinds)[number]

export interface Seal {
  readonly keyId: number
  readonly proof: ProofKind
  /** Seconds since 1970, like all times inside a requestId. */
  readonly issuedAt: number
  readonly ttlSeconds: number
  readonly routeTag: Uint8Array
  readonly bindingTag: Uint8Array
  /** Present exactly when `proof` is 'claim'. */
  readonly claimTag: Uint8Array | undefined
  readonly allowance: Allowance
  readonly amounts: Amounts
}

/** A decoded requestId. It is untrusted until `isAuthentic` has confirmed it. */
export interface OpenedRequest extends Seal {
  readonly body: Uint8Array
  readonly mac: Uint8Array
}

/** The constant prefix of the MAC's input, common to all requestIds of a service for one set of recipients. */
export function sealContext(network: string, service: string, recipientSet: RecipientSet): Uint8Array {
  const text = new TextEncoder().encode(`paystile/request-id/${version}\n${network}\n${service}\n`)
  const wallet = decodeAddress(recipientSet.recipient) ?? new Uint8Array()
  const shared = recipientSet.splits.length === 0 ? new Uint8Array() : digestSplits(recipientSet)
  return padToBlock(Uint8Array.from([...text, ...wallet, ...shared]))
}

/** The terms that all requestIds of one offer share, and the parts that differ per request. */
export type Terms = Pick<Seal, 'keyId' | 'ttlSeconds' | 'routeTag' | 'allowance' | 'amounts'>
export type Subject = Omit<Seal, keyof Terms>

/** Encodes the first `length` bytes as base64url. */
export type Encode = (bytes: Uint8Array, length: number) => string

const scratch = new Uint8Array(256)
const tag = new Uint8Array(32)

/** Prepares the terms of an offer. The returned function writes one requestId and runs for every 402. */
export function prepareSeal(terms: Terms, mac: Hmac, encode: Encode = encodeBase64url): (subject: Subject) => string {
  const flags = termFlags(terms)
  const [head, tail] = [sealHead(terms), sealTail(terms)]
  return ({ issuedAt, proof, bindingTag, claimTag }) => {
    const out = scratch
    out[0] = version
    out[1] = terms.keyId
    out[2] = flags | proofKinds.indexOf(proof)
    writeUint32(out, 3, issuedAt)
    let at = writeBytes(out, 7, head)
    at = writeBytes(out, at, bindingTag)
    if (claimTag) at = writeBytes(out, at, claimTag)
    at = writeBytes(out, at, tail)
    writeNonce(out, at, nonceBytes)
    at += nonceBytes
    mac(out, at, tag)
    for (let index = 0; index < macBytes; index += 1) out[at + index] = tag[index] as number
    return encode(out, at + macBytes)
  }
}

/** Writes a single requestId without preparation. */
export function sealRequest(seal: Seal, mac: Hmac): string {
  return prepareSeal(seal, mac)(seal)
}

/** The bytes between the time and the binding tag. */
function sealHead({ ttlSeconds, routeTag }: Terms): Uint8Array {
  const out = new Uint8Array(16)
  return out.slice(0, writeBytes(out, writeVarint(out, 0, BigInt(ttlSeconds)), routeTag))
}

/** The bytes between the tags and the nonce. */
function sealTail({ allowance, amounts }: Terms): Uint8Array {
  const out = new Uint8Array(scratch.length)
  let at = writeVarint(out, 0, allowance.amount)
  for (const token of knownCodes) {
    const amount = amounts[token]
    if (amount !== undefined) at = writeVarint(out, at, amount)
  }
  const others = listOthers(amounts).map(([token, amount]) => [encodeCode(token), amount] as const)
  for (const [code, amount] of others.sort(([one], [other]) => (one < other ? -1 : 1))) {
    at = writeVarint(out, writeVarint(out, at, code), amount)
  }
  return out.slice(0, at)
}

/** Whether a requestId has room for these amounts, with any kind of proof. */
export function fitsRequestId(terms: Terms): boolean {
  if (listOthers(terms.amounts).length > mostOthers) return false
  const tags = 2 * bindingTagBytes
  return 7 + sealHead(terms).length + tags + sealTail(terms).length + nonceBytes + macBytes <= mostBytes
}

/** More never fit: each takes at least four bytes. */
const mostOthers = 10

function listOthers(amounts: Amounts): readonly (readonly [TokenCode, bigint])[] {
  return Object.entries(amounts).filter(([token]) => !isKnownCode(token))
}

const codeAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const codeBase = BigInt(codeAlphabet.length)

/** The code as a number in bijective base 36: the digits A to Z are 1 to 26, and 0 to 9 are 27 to 36. */
function encodeCode(code: TokenCode): bigint {
  return [...code].reduce((number, digit) => number * codeBase + BigInt(codeAlphabet.indexOf(digit) + 1), 0n)
}

function decodeCode(number: bigint): TokenCode {
  let code = ''
  for (let rest = number; rest > 0n; rest = (rest - 1n) / codeBase)
    code = codeAlphabet[Number((rest - 1n) % codeBase)] + code
  return code
}

/** Decodes a requestId. Undefined unless its spelling is exactly that of `sealRequest`. */
export function openRequest(text: string): OpenedRequest | undefined {
  if (!requestIdPattern.test(text)) return undefined
  const bytes = decodeBase64url(text)
  if (!bytes || bytes.length < 7 + nonceBytes + macBytes || bytes[0] !== version) return undefined
  const body = bytes.subarray(0, bytes.length - macBytes)
  const reader = createReader(body)
  const [, keyId, flags] = [reader.byte(), reader.byte(), reader.byte()]
  const proof = proofKinds[flags & 3]
  const unit = units[(flags >> 2) & 3]
  if (proof === undefined || unit === undefined) return undefined
  const issuedAt = reader.uint32()
  const ttlSeconds = Number(reader.varint())
  if (ttlSeconds > longestTtlSeconds) return undefined
  const routeTag = reader.bytes(routeTagBytes)
  const bindingTag = reader.bytes(bindingTagBytes)
  const claimTag = proof === 'claim' ? reader.bytes(bindingTagBytes) : undefined
  const allowance = { unit, amount: reader.varint() }
  const amounts: Record<string, bigint> = {}
  for (const [index, token] of knownCodes.entries()) {
    if (flags & (16 << index)) amounts[token] = reader.varint()
  }
  if (flags & othersFlag && !readOthers(reader, amounts)) return undefined
  reader.bytes(nonceBytes)
  if (!reader.isDone()) return undefined
  const mac = bytes.subarray(body.length)
  return { keyId, proof, issuedAt, ttlSeconds, routeTag, bindingTag, claimTag, allowance, amounts, body, mac }
}

/** Adds the amounts of other tokens, up to the nonce. False unless there is one, and their codes ascend. */
function readOthers(reader: ReturnType<typeof createReader>, amounts: Record<string, bigint>): boolean {
  let last = 0n
  while (reader.left() > nonceBytes) {
    const number = reader.varint()
    const code = decodeCode(number)
    if (number <= last || !isTokenCode(code) || isKnownCode(code)) return false
    amounts[code] = reader.varint()
    last = number
  }
  return last > 0n
}

export function isAuthentic(request: OpenedRequest, mac: Hmac): boolean {
  return equalBytes(mac(request.body).subarray(0, macBytes), request.mac)
}

function termFlags({ allowance, amounts }: Terms): number {
  const accepted = knownCodes.map((token, index) => (amounts[token] === undefined ? 0 : 16 << index))
  const others = listOthers(amounts).length > 0 ? othersFlag : 0
  return accepted.reduce((flags, flag) => flags | flag, others | (units.indexOf(allowance.unit) << 2))
}

function writeUint32(out: Uint8Array, at: number, value: number): void {
  out[at] = value >>> 24
  out[at + 1] = value >>> 16
  out[at + 2] = value >>> 8
  out[at + 3] = value
}

function writeBytes(out: Uint8Array, at: number, bytes: Uint8Array): number {
  for (let index = 0; index < bytes.length; index += 1) out[at + index] = bytes[index] as number
  return at + bytes.length
}

/** LEB128, least significant group first. */
function writeVarint(out: Uint8Array, start: number, value: bigint): number {
  let at = start
  let rest = value
  for (; rest > 127n; rest >>= 7n) out[at++] = Number(rest & 127n) | 128
  out[at++] = Number(rest)
  return at
}

/** Reads forward. Past the end, or at a padded or oversized varint, the reader only records that the input is bad. */
function createReader(bytes: Uint8Array) {
  let at = 0
  let bad = false
  const byte = (): number => {
    const value = bytes[at++]
    if (value === undefined) bad = true
    return value ?? 0
  }
  return {
    byte,
    uint32: () => byte() * 0x1000000 + ((byte() << 16) | (byte() << 8) | byte()),
    bytes: (length: number) => {
      at += length
      if (at > bytes.length) bad = true
      return bytes.slice(at - length, at)
    },
    varint: () => {
      let value = 0n
      for (let shift = 0n; shift < 70n; shift += 7n) {
        const group = byte()
        value |= BigInt(group & 127) << shift
        if (group < 128) {
          if (group === 0 && shift > 0n) bad = true
          break
        }
        if (shift === 63n) bad = true
      }
      if (value > maxUnits) bad = true
      return value
    },
    left: () => bytes.length - at,
    isDone: () => !bad && at === bytes.length,
  }
}
