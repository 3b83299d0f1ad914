/** Solana Pay: links by which a wallet on a phone knows whom to pay how much, and with which memo. */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase58 } from '../encoding/base58.ts'

/** An address made of the requestId, by which its payment can be found. It proves nothing: only the memo counts. */
export function deriveReference(requestId: string): string {
  return encodeBase58(sha256(new TextEncoder().encode(requestId)))
}

export interface TransferLink {
  readonly recipient: string
  /** For people: "0.01". */
  readonly amount: string
  /** The mint's address; undefined for SOL. */
  readonly mint: string | undefined
  readonly requestId: string
  /** Whom the wallet says it pays. */
  readonly label: string
}

/** A transfer request: the wallet builds the transaction itself. */
export function transferLink({ recipient, amount, mint, requestId, label }: TransferLink): string {
  const token = mint === undefined ? '' : `&spl-token=${mint}`
  const reference = deriveReference(requestId)
  const words = `&label=${encodeURIComponent(label)}`
  return `solana:${recipient}?amount=${amount}${token}&reference=${reference}${words}&memo=${requestId}`
}

/** A transaction request: the wallet asks this address for the transaction. It has to be public, and https. */
export function transactionLink(url: string): string {
  return `solana:${encodeURIComponent(url)}`
}
