/** An offer of a server that speaks another payment protocol, in the terms that all of them share. */
import { decodeSignature } from '../../core/encoding/base58.ts'
import { toOneLine } from '../../core/encoding/one-line.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { ForeignProtocol } from '../../core/protocol/protocols.ts'

export interface Split {
  readonly recipient: string
  readonly units: bigint
  readonly memo: string | undefined
}

export interface ForeignOffer {
  readonly protocol: ForeignProtocol
  readonly network: Network
  readonly recipient: string
  /** The address of a mint, or `SOL`. */
  readonly asset: string
  /** The decimals and the token program of the mint, if the server states them. */
  readonly decimals: number | undefined
  readonly tokenProgram: string | undefined
  /** The whole amount, including the splits. */
  readonly units: bigint
  readonly splits: readonly Split[]
  /** The server's wallet that pays the network fee. Undefined if the payer pays it. */
  readonly feePayer: string | undefined
  readonly memo: string | undefined
  readonly computeUnits: number
  /** The price of a compute unit, in millionths of a lamport. */
  readonly microLamports: bigint
  readonly description: string | undefined
  /** In milliseconds since 1970. */
  readonly expiresAt: number | undefined
  /** The header that submits the signed transaction, base64, with the request. */
  readonly credential: (transaction: string) => Credential
}

export interface Credential {
  readonly header: string
  readonly value: string
}

const variations = 16_384
const prices = 1_000
let lastVariation: number | undefined

/** Makes a payment differ from equal ones. */
export interface Variation {
  /** Compute units to add to the limit or to subtract from it. */
  readonly units: number
  /** The price of a compute unit, in millionths of a lamport. All units together cost less than 300 lamports. */
  readonly microLamports: bigint
}

/** As the reference clients pay, for a payment that differs otherwise. */
export const noVariation: Variation = { units: 0, microLamports: 1n }

/**
 * Otherwise equal payments with one blockhash would be one transaction, which lands once. The units repeat after 16,384
 * purchases, long after the blockhash has changed. Another process with the same wallet may count them equally, so the
 * price is random.
 */
export function createVariation(): Variation {
  // Some runtimes permit no random numbers while a module loads.
  lastVariation ??= draw()
  lastVariation = (lastVariation + 1) % variations
  return { units: lastVariation, microLamports: BigInt(1 + (draw() % prices)) }
}

function draw(): number {
  return crypto.getRandomValues(new Uint16Array(1))[0] ?? 0
}

/** Reads an amount in base units. Undefined if it is malformed or 0. */
export function readUnits(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^[1-9]\d{0,19}$/.test(value) ? BigInt(value) : undefined
}

export function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Reads a text that people read before they pay. */
export function readDescription(value: unknown): string | undefined {
  const text = readText(value)
  return text === undefined ? undefined : toOneLine(text)
}

/** Reads the signature of a transaction. Other text is left out: the journal and its readers take it for a signature. */
export function readTx(value: unknown): string | undefined {
  return typeof value === 'string' && decodeSignature(value) ? value : undefined
}
