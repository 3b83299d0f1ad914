/**
 * The two headers of a client: `Payment-Accept` on the unpaid request, and `Payment-Proof` on the paid one.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { decodeAddress, decodeSignature, encodeBase58 } from '../encoding/base58.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { mostBytesAhead } from '../payment/allowance.ts'
import { writeNonce } from './nonce.ts'
import { requestIdPattern } from './request-id.ts'

export const proofHeader = 'Payment-Proof'
export const acceptHeader = 'Payment-Accept'
const longestHeader = 1024

export interface Proof {
  readonly tx: string
  readonly txBytes: Uint8Array
  readonly requestId: string
  readonly payer: string
  readonly payerBytes: Uint8Array
  /** The claim secret. The client announced its hash before the payment. */
  readonly claim?: string
  /** Time of `sig`, in seconds since 1970. */
  readonly ts?: number
  readonly sig?: Uint8Array
  /** The signer, if the payer is an address that cannot sign, such as a multisig. */
  readonly signer?: string
}

export type ProofReading =
  | { readonly kind: 'proof'; readonly proof: Proof }
  | { readonly kind: 'malformed'; readonly why: string }

const knownKeys = ['tx', 'requestId', 'payer', 'claim', 'ts', 'sig', 'signer'] as const
type ProofKey = (typeof knownKeys)[number]

/** Reads a `Payment-Proof` header. Two headers joined by a comma, repeated keys and odd spellings are malformed. */
export function parseProof(header: string): ProofReading {
  if (header.length > longestHeader) return malformed(`the header is longer than ${longestHeader} characters`)
  const values = new Map<ProofKey, string>()
  const seen = new Set<string>()
  for (const part of header.split(';')) {
    const [, key = '', value = ''] = /^[ \t]*([A-Za-z][A-Za-z0-9-]*)=([!#-+\--:<-[\]-~]+)[ \t]*$/.exec(part) ?? []
    if (key === '') return malformed('it is not a list of key=value pairs separated by semicolons')
    if (seen.has(key)) return malformed(`the key ${key} appears twice`)
    seen.add(key)
    if (isKnown(key)) values.set(key, value)
    else if (!/^[a-z][a-z0-9-]*$/.test(key)) return malformed('it contains an unknown key')
  }
  return readValues(values)
}

function readValues(values: ReadonlyMap<ProofKey, string>): ProofReading {
  const [tx, requestId, payer] = [values.get('tx'), values.get('requestId'), values.get('payer')]
  if (tx === undefined || requestId === undefined || payer === undefined)
    return malformed('it needs the keys tx, requestId and payer')
  const txBytes = decodeSignature(tx)
  if (!txBytes) return malformed('tx is not a transaction signature')
  if (!requestIdPattern.test(requestId)) return malformed('requestId contains invalid characters')
  const payerBytes = decodeAddress(payer)
  if (!payerBytes) return malformed('payer is not an address')
  const [claim, ts, sig, signer] = [values.get('claim'), values.get('ts'), values.get('sig'), values.get('signer')]
  if (claim !== undefined && !isClaim(claim)) return malformed('claim is not a valid secret')
  if (ts !== undefined && !/^[1-9]\d{0,11}$/.test(ts)) return malformed('ts is not a time in seconds')
  const sigBytes = sig === undefined ? undefined : decodeSignature(sig)
  if (sig !== undefined && !sigBytes) return malformed('sig is not a signature')
  if (signer !== undefined && !decodeAddress(signer)) return malformed('signer is not an address')
  return {
    kind: 'proof',
    proof: {
      tx,
      txBytes,
      requestId,
      payer,
      payerBytes,
      ...(claim !== undefined && { claim }),
      ...(ts !== undefined && { ts: Number(ts) }),
      ...(sigBytes && { sig: sigBytes }),
      ...(signer !== undefined && { signer }),
    },
  }
}

/** Writes a `Payment-Proof` header. */
export function formatProof(proof: Omit<Proof, 'txBytes' | 'payerBytes'>): string {
  const parts = [`tx=${proof.tx}`, `requestId=${proof.requestId}`, `payer=${proof.payer}`]
  if (proof.claim !== undefined) parts.push(`claim=${proof.claim}`)
  if (proof.ts !== undefined) parts.push(`ts=${proof.ts}`)
  if (proof.sig) parts.push(`sig=${encodeBase58(proof.sig)}`)
  if (proof.signer !== undefined) parts.push(`signer=${proof.signer}`)
  return parts.join('; ')
}

/** The client's announcement before it pays: how it will prove that the payment is its own, and how much it wants. */
export type Accept = (
  | { readonly kind: 'bare' }
  | { readonly kind: 'claim'; readonly hash: Uint8Array }
  | { readonly kind: 'sig' }
) & {
  /** The number of bytes to buy, if the provider sells bytes in advance. */
  readonly bytes?: bigint
}

const bare: Accept = { kind: 'bare' }
const sig: Accept = { kind: 'sig' }

/** Reads `Payment-Accept`. Unreadable parts are ignored; the field `proof` of the challenge states the result. */
export function parseAccept(header: string | undefined): Accept {
  if (header === undefined) return bare
  const parts = header.split(';').map((part) => part.trim())
  const [kind = bare] = parts.flatMap((part) => readKind(part) ?? [])
  const [bytes] = parts.flatMap((part) => readBytes(part) ?? [])
  return bytes === undefined ? kind : { ...kind, bytes }
}

function readKind(part: string): Accept | undefined {
  if (part === 'sig') return sig
  const hash = part.length === 49 && part.startsWith('claim=') ? decodeBase64url(part.slice(6)) : undefined
  return hash?.length === 32 ? { kind: 'claim', hash } : undefined
}

function readBytes(part: string): bigint | undefined {
  const digits = /^bytes=([1-9]\d{0,12})$/.exec(part)?.[1]
  const bytes = digits === undefined ? undefined : BigInt(digits)
  return bytes !== undefined && bytes <= mostBytesAhead ? bytes : undefined
}

/** Undefined if there is nothing to announce. */
export function formatAccept(accept: Accept): string | undefined {
  const kind = accept.kind === 'claim' ? `claim=${encodeBase64url(accept.hash)}` : accept.kind === 'sig' ? 'sig' : ''
  const bytes = accept.bytes === undefined ? '' : `bytes=${accept.bytes}`
  return [kind, bytes].filter(Boolean).join('; ') || undefined
}

const claimPattern = /^[A-Za-z0-9_-]{16,128}$/
const claimBytes = 16

/** Creates a claim secret for a client of another protocol, which echoes it and cannot announce one. */
export function createClaim(): string {
  const bytes = new Uint8Array(claimBytes)
  writeNonce(bytes, 0, claimBytes)
  return encodeBase64url(bytes)
}

export function isClaim(value: unknown): value is string {
  return typeof value === 'string' && claimPattern.test(value)
}

/** Computes the hash of a claim secret that the client announces. */
export function hashClaim(secret: string): Uint8Array {
  return sha256(new TextEncoder().encode(secret))
}

export interface ProofTextParts {
  readonly origin: string
  readonly genesis: string
  readonly tx: string
  readonly requestId: string
  readonly payer: string
  readonly ts: number
}

/** The text that `sig` signs. It contains the origin, so that a proof for one service is invalid at another. */
export function proofText(parts: ProofTextParts): Uint8Array {
  const { origin, genesis, tx, requestId, payer, ts } = parts
  return new TextEncoder().encode(
    `paystile proof v1\norigin: ${origin}\ngenesis: ${genesis}\ntx: ${tx}\nrequestId: ${requestId}\npayer: ${payer}\nts: ${ts}`,
  )
}

function isKnown(key: string): key is ProofKey {
  return knownKeys.includes(key as ProofKey)
}

function malformed(why: string): ProofReading {
  return { kind: 'malformed', why }
}

/** The default time after the challenge's expiry within which a payment can still be claimed. */
export const usualProofTtlSeconds = 86_400
