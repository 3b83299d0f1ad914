/**
 * x402 version 2, scheme `exact` on Solana: the headers `PAYMENT-REQUIRED`, `PAYMENT-SIGNATURE` and `PAYMENT-RESPONSE`.
 *
 * The client signs a transfer with the service's fee payer, and submits it with the request. `extra.requestId` carries
 * the whole requestId, because the memo has only its end. `extra.claim` is a secret that the chain does not show. Clients
 * echo both in `accepted`.
 */
import { decodeBase64, encodeBase64, prepareBase64 } from '../encoding/base64.ts'
import { isFields } from '../encoding/fields.ts'
import { asciiJson } from '../http/http.ts'
import type { Network } from '../money/tokens.ts'
import { shortMemo } from '../payment/memo.ts'
import { isRequestId, longestCredential, parseJsonObject, parseTransaction } from './credential.ts'
import { isClaim } from './proof.ts'

export const x402RequiredHeader = 'PAYMENT-REQUIRED'
export const x402SignatureHeader = 'PAYMENT-SIGNATURE'
export const x402ResponseHeader = 'PAYMENT-RESPONSE'

/** About the life of a blockhash. */
export const maxTimeoutSeconds = 60

/** CAIP-2 ids. Clients know no other ids, so a localnet presents itself as devnet, and never as mainnet. */
export const x402Networks: Readonly<Record<Network, string>> = {
  mainnet: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  devnet: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  localnet: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
}

/** One way to pay: an amount of one token. */
export interface X402Entry {
  readonly mint: string
  readonly units: bigint
}

export interface X402Terms {
  readonly network: Network
  readonly recipient: string
  /** The service's wallet that pays the network fee. */
  readonly feePayer: string
  /** Spares the client a request to a node. */
  readonly recentBlockhash?: string | undefined
  readonly description?: string | undefined
  readonly entries: readonly X402Entry[]
  /** The reason for the challenge, in ASCII. */
  readonly error?: string | undefined
}

export type X402Required = (parts: X402RequiredParts) => string

export interface X402RequiredParts {
  readonly requestId: string
  readonly claim: string
  readonly resource: string
}

/**
 * Prepares `PAYMENT-REQUIRED`. `resource` is the absolute address as JSON, quoted and in ASCII.
 *
 * Some clients require `description` and `mimeType`, so both are there. The media type is unknown before the handler
 * runs.
 */
export function prepareX402Required(terms: X402Terms): X402Required {
  const about = `,"description":${asciiJson(terms.description ?? '')},"mimeType":""},"accepts":[`
  const constants = [`{"x402Version":2,"error":"${terms.error ?? 'Payment required'}","resource":{"url":`]
  let open = about
  for (const entry of terms.entries) {
    constants.push(`${open}${formatEntry(terms, entry)}`)
    open = '"}},'
  }
  constants.push('"}}],"extensions":{}}')
  const encode = prepareBase64(constants, 'standard')
  return ({ requestId, claim, resource }) => {
    const ids = `${requestId}","claim":"${claim}","memo":"${shortMemo(requestId)}`
    const values = [resource]
    for (let index = 0; index < terms.entries.length; index += 1) values.push(ids)
    return encode(values)
  }
}

/** An entry up to its requestId, which the claim and the memo follow. */
function formatEntry({ network, recipient, feePayer, recentBlockhash }: X402Terms, { mint, units }: X402Entry): string {
  const blockhash = recentBlockhash === undefined ? '' : `"recentBlockhash":"${recentBlockhash}",`
  return (
    `{"scheme":"exact","network":"${x402Networks[network]}","amount":"${units}","asset":"${mint}",` +
    `"payTo":"${recipient}","maxTimeoutSeconds":${maxTimeoutSeconds},` +
    `"extra":{"feePayer":"${feePayer}",${blockhash}"requestId":"`
  )
}

export type X402Reading =
  | {
      readonly kind: 'credential'
      readonly transaction: Uint8Array
      /** Undefined if the client did not echo it. Then the memo names it. */
      readonly requestId: string | undefined
      /** Undefined if the client did not echo it. */
      readonly claim: string | undefined
    }
  | { readonly kind: 'malformed'; readonly why: string }

/**
 * Reads `PAYMENT-SIGNATURE`. It takes only the transaction, the requestId and the claim: the requestId seals price,
 * recipient and network, so the client's copies of them have no meaning.
 */
export function parseX402Signature(header: string): X402Reading {
  if (header.length > longestCredential) return malformed(`the header is longer than ${longestCredential} characters`)
  const value = parseJsonObject(decodeBase64(header))
  if (!value) return malformed('it is not a JSON object in base64 with padding')
  if (value['x402Version'] !== 2) return malformed('x402Version is not 2')
  const [accepted, payload] = [value['accepted'], value['payload']]
  if (!isFields(accepted) || accepted['scheme'] !== 'exact') return malformed('accepted.scheme is not exact')
  const { requestId, claim } = isFields(accepted['extra']) ? accepted['extra'] : {}
  if (requestId !== undefined && !isRequestId(requestId))
    return malformed('accepted.extra.requestId is not a requestId')
  if (claim !== undefined && !isClaim(claim)) return malformed('accepted.extra.claim is not a claim secret')
  const transaction = isFields(payload) ? parseTransaction(payload['transaction']) : undefined
  if (!transaction) return malformed('payload.transaction is not a transaction in base64')
  return { kind: 'credential', transaction, requestId, claim }
}

export type X402Settlement = { readonly network: Network; readonly payer?: string | undefined } & (
  | { readonly success: true; readonly tx: string }
  | {
      readonly success: false
      readonly errorReason: string
      readonly errorMessage?: string | undefined
      /** Once the service has signed it. */
      readonly tx?: string | undefined
    }
)

/** Writes `PAYMENT-RESPONSE`. The versions name networks differently. */
export function formatX402Settlement(settlement: X402Settlement, names = x402Networks): string {
  const { success, network, payer, tx } = settlement
  const error = success ? {} : { errorReason: settlement.errorReason, errorMessage: settlement.errorMessage }
  const json = asciiJson({ success, ...error, transaction: tx ?? '', network: names[network], payer })
  return encodeBase64(json, 'standard')
}

function malformed(why: string) {
  return { kind: 'malformed', why } as const
}
