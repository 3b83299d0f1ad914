/** Solana Pay: links that give a phone wallet the recipient, the amount and the memo. */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase58 } from '../encoding/base58.ts'

/** Derives an address from the requestId, to find its payment on chain. It proves nothing: only the memo counts. */
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
  /** The name of the recipient that the wallet shows. */
  readonly label: string
  /** The item that the wallet shows. Undefined if the label names it. */
  readonly message?: string | undefined
}

/** The longest label and message in a link, as they are encoded there. A longer link needs a code with more modules. */
const longestWords = 72

/** A transfer request: the wallet builds the transaction itself. */
export function transferLink({ recipient, amount, mint, requestId, label, message }: TransferLink): string {
  const token = mint === undefined ? '' : `&spl-token=${mint}`
  const reference = deriveReference(requestId)
  const words = `&label=${encodeWords(label)}${message === undefined ? '' : `&message=${encodeWords(message)}`}`
  return `solana:${recipient}?amount=${amount}${token}&reference=${reference}${words}&memo=${requestId}`
}

/** Cuts a text between two characters if it is too long. */
function encodeWords(text: string): string {
  // Half a character cannot be encoded.
  const clean = text.replace(/\p{Surrogate}/gu, '\ufffd')
  const whole = encodeURIComponent(clean)
  if (whole.length <= longestWords) return whole
  const end = encodeURIComponent('\u2026')
  let words = ''
  for (const character of clean) {
    const longer = words + encodeURIComponent(character)
    if (longer.length + end.length > longestWords) break
    words = longer
  }
  return words + end
}

/**
 * A transaction request: the wallet asks this address for the transaction. The address must be public and use https.
 */
export function transactionLink(url: string): string {
  return `solana:${encodeURIComponent(url)}`
}
