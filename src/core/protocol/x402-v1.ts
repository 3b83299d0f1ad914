/**
 * x402 version 1, scheme `exact` on Solana: the challenge is part of the 402's body, the credential is `X-PAYMENT`.
 *
 * The credential names neither a challenge nor a memo. It contains only the transaction.
 */
import { decodeBase64 } from '../encoding/base64.ts'
import { isFields } from '../encoding/fields.ts'
import { asciiJson } from '../http/http.ts'
import type { Network } from '../money/tokens.ts'
import { longestCredential, parseJsonObject, parseTransaction } from './credential.ts'
import { maxTimeoutSeconds, type X402Entry, type X402Terms } from './x402.ts'

export const x402V1PaymentHeader = 'X-PAYMENT'
export const x402V1ResponseHeader = 'X-PAYMENT-RESPONSE'

/** Clients know no other names, so a localnet presents itself as devnet. */
export const x402V1Networks: Readonly<Record<Network, string>> = {
  mainnet: 'solana',
  devnet: 'solana-devnet',
  localnet: 'solana-devnet',
}

/** Writes the members of a 402's body. `resource` is the absolute address as JSON, quoted and in ASCII. */
export type X402V1Members = (parts: { readonly resource: string }, error?: string) => string

export function prepareX402V1Members(terms: X402Terms): X402V1Members {
  const entries = terms.entries.map((entry) => formatEntry(terms, entry))
  return ({ resource }, error = `${x402V1PaymentHeader} header is required`) => {
    const accepts = entries.map(([before, after]) => `${before}${resource}${after}`).join(',')
    return `"x402Version":1,"error":${asciiJson(error)},"accepts":[${accepts}]`
  }
}

/** An entry up to its resource, and the rest. Clients require `description` and `mimeType`. */
function formatEntry({ network, recipient, feePayer, description = '' }: X402Terms, { mint, units }: X402Entry) {
  return [
    `{"scheme":"exact","network":"${x402V1Networks[network]}","maxAmountRequired":"${units}","resource":`,
    `,"description":${asciiJson(description)},"mimeType":"","payTo":"${recipient}",` +
      `"maxTimeoutSeconds":${maxTimeoutSeconds},"asset":"${mint}","extra":{"feePayer":"${feePayer}"}}`,
  ]
}

export type X402V1Reading =
  | { readonly kind: 'credential'; readonly transaction: Uint8Array }
  | { readonly kind: 'malformed'; readonly why: string }

/** Reads `X-PAYMENT`. */
export function parseX402V1Payment(header: string): X402V1Reading {
  if (header.length > longestCredential) return malformed(`the header is longer than ${longestCredential} characters`)
  const value = parseJsonObject(decodeBase64(header))
  if (!value) return malformed('it is not a JSON object in base64 with padding')
  if (value['x402Version'] !== 1) return malformed('x402Version is not 1')
  if (value['scheme'] !== 'exact') return malformed('scheme is not exact')
  const payload = value['payload']
  const transaction = isFields(payload) ? parseTransaction(payload['transaction']) : undefined
  if (!transaction) return malformed('payload.transaction is not a transaction in base64')
  return { kind: 'credential', transaction }
}

function malformed(why: string) {
  return { kind: 'malformed', why } as const
}
