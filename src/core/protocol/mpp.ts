/**
 * MPP, method `solana`, intent `charge`: the challenge in `WWW-Authenticate: Payment`, and the credential in
 * `Authorization: Payment`.
 *
 * The id of a challenge is the requestId and a claim secret. The requestId's MAC covers price, recipient, network,
 * request and expiry, so a challenge needs no MAC of its own. `externalId` is the requestId too, and clients write it as
 * the memo. Clients echo the id, and the chain does not show the secret.
 */
import { decodeSignature } from '../encoding/base58.ts'
import { decodeBase64urlPadded, prepareBase64 } from '../encoding/base64.ts'
import { isFields } from '../encoding/fields.ts'
import type { Mint, Network } from '../money/tokens.ts'
import type { RefusalCode } from '../payment/refusals.ts'
import type { SplitPart } from '../payment/splits.ts'
import { isRequestId, longestCredential, parseJsonObject, parseTransaction } from './credential.ts'
import { isClaim } from './proof.ts'

export const mppChallengeHeader = 'WWW-Authenticate'
/** The usual header of credentials, and one for services whose clients also need `Authorization` for other purposes. */
export const mppCredentialHeaders = ['Payment-Authorization', 'Authorization'] as const
export type MppCredentialHeader = (typeof mppCredentialHeaders)[number]
export const mppAcceptHeader = 'Accept-Payment'

const method = 'solana'
const intent = 'charge'

const networkNames: Readonly<Record<Network, string>> = {
  mainnet: 'mainnet-beta',
  devnet: 'devnet',
  localnet: 'localnet',
}

export interface MppTerms {
  readonly realm: string
  readonly network: Network
  readonly recipient: string
  /** The whole amount. */
  readonly units: bigint
  /** The parts of other wallets in it. */
  readonly splits?: readonly SplitPart[]
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  /** The service's wallet that pays the network fee. Undefined if the client pays it. */
  readonly feePayer?: string | undefined
  /** Spares the client a request to a node. */
  readonly recentBlockhash?: string | undefined
  /** The header for the credential, if it is not `Authorization`. */
  readonly header?: MppCredentialHeader | undefined
}

export type MppCharge = (parts: MppChargeParts) => string

export interface MppChargeParts {
  readonly requestId: string
  readonly claim: string
  readonly expiresAt: string
}

/**
 * Prepares the challenge of a charge. Clients write `request` anew in canonical JSON (RFC 8785), so its keys are in that
 * order and it has no spaces.
 */
export function prepareMppCharge(terms: MppTerms): MppCharge {
  const { mint, recipient, units } = terms
  const encode = prepareBase64(
    [
      `{"amount":"${units}","currency":"${mint?.address ?? 'sol'}","externalId":"`,
      `","methodDetails":{${formatDetails(terms)}},"recipient":"${recipient}"}`,
    ],
    'url',
  )
  const toRequest = `", realm=${quote(terms.realm)}, method="${method}", intent="${intent}", request="`
  const end = terms.header === undefined || terms.header === 'Authorization' ? '"' : `", header="${terms.header}"`
  return ({ requestId, claim, expiresAt }) =>
    `Payment id="${formatMppId(requestId, claim)}${toRequest}${encode([requestId])}", expires="${expiresAt}${end}`
}

/** Writes the id of a challenge. */
export function formatMppId(requestId: string, claim: string | undefined): string {
  return claim === undefined ? requestId : `${requestId}.${claim}`
}

function formatDetails({ mint, feePayer, network, recentBlockhash, splits = [] }: MppTerms): string {
  const parts = splits.map(({ recipient, units }) => `{"amount":"${units}","recipient":"${recipient}"}`)
  return [
    ...(mint ? [`"decimals":${mint.decimals}`] : []),
    ...(feePayer === undefined ? [] : [`"feePayer":true,"feePayerKey":"${feePayer}"`]),
    `"network":"${networkNames[network]}"`,
    ...(recentBlockhash === undefined ? [] : [`"recentBlockhash":"${recentBlockhash}"`]),
    ...(parts.length === 0 ? [] : [`"splits":[${parts.join(',')}]`]),
    ...(mint ? [`"tokenProgram":"${mint.tokenProgram}"`] : []),
  ].join(',')
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

export type MppReading =
  | ({ readonly kind: 'transaction'; readonly transaction: Uint8Array } & MppChallengeId)
  /** A transaction that the client has sent itself. */
  | ({ readonly kind: 'signature'; readonly tx: string } & MppChallengeId)
  | {
      readonly kind: 'malformed'
      readonly why: string
      /** The client says that it has sent the payment itself. It must not be asked to pay again. */
      readonly isSent: boolean
    }

/**
 * Reads the credential in `Authorization`. Undefined if the header has another scheme.
 *
 * Of the client's copy of the challenge it takes only the id. The requestId in it seals the terms.
 */
export function parseMppCredential(header: string, realm: string): MppReading | undefined {
  const [, token] = /^payment[ \t]+(.*)$/is.exec(header) ?? []
  if (token === undefined) return undefined
  if (header.length > longestCredential) return malformed(`the header is longer than ${longestCredential} characters`)
  const value = parseJsonObject(decodeBase64urlPadded(token))
  if (!value) return malformed('it is not a JSON object in URL-safe base64')
  const payload = value['payload']
  if (!isFields(payload)) return malformed('it has no payload')
  const isSent = payload['type'] === 'signature'
  const challenge = readChallenge(value['challenge'], realm)
  if (challenge.kind === 'malformed') return { ...challenge, isSent }
  return isSent ? readSignature(payload, challenge) : readTransaction(payload, challenge)
}

interface MppChallengeId {
  readonly requestId: string
  readonly claim: string | undefined
}

interface EchoedChallenge extends MppChallengeId {
  readonly kind: 'challenge'
  readonly isSponsored: boolean
}

function readChallenge(value: unknown, realm: string): EchoedChallenge | { kind: 'malformed'; why: string } {
  const wrong = (why: string) => ({ kind: 'malformed' as const, why })
  if (!isFields(value)) return wrong('it has no challenge')
  if (value['method'] !== method || value['intent'] !== intent) return wrong(`the challenge is not ${method}/${intent}`)
  if (value['realm'] !== realm) return wrong('the challenge is of another realm')
  const { id, request: text } = value
  const request = typeof text === 'string' ? parseJsonObject(decodeBase64urlPadded(text)) : undefined
  if (!request) return wrong('challenge.request is not a JSON object in URL-safe base64')
  const [requestId, claim, ...rest] = typeof id === 'string' ? id.split('.') : []
  if (!isRequestId(requestId) || (claim !== undefined && !isClaim(claim)) || rest.length > 0)
    return wrong('challenge.id is not a requestId with a claim secret')
  if (request['externalId'] !== requestId) return wrong('challenge.id is not that of the externalId')
  const details = request['methodDetails']
  return { kind: 'challenge', requestId, claim, isSponsored: isFields(details) && details['feePayer'] === true }
}

function readTransaction(payload: Readonly<Record<string, unknown>>, challenge: EchoedChallenge): MppReading {
  const { requestId, claim } = challenge
  if (payload['type'] !== 'transaction') return malformed('payload.type is neither transaction nor signature')
  const transaction = parseTransaction(payload['transaction'])
  if (!transaction) return malformed('payload.transaction is not a transaction in base64')
  return { kind: 'transaction', transaction, requestId, claim }
}

function readSignature(payload: Readonly<Record<string, unknown>>, challenge: EchoedChallenge): MppReading {
  const tx = payload['signature']
  if (typeof tx !== 'string' || !decodeSignature(tx)) return malformed('payload.signature is not a signature', true)
  if (challenge.isSponsored) return malformed('a sponsored charge needs the transaction, not its signature', true)
  return { kind: 'signature', tx, requestId: challenge.requestId, claim: challenge.claim }
}

function malformed(why: string, isSent = false): MppReading {
  return { kind: 'malformed', why, isSent }
}

/** The problem types of MPP. Other refusals keep their own type. */
export const mppProblems: Readonly<Partial<Record<RefusalCode, string>>> = {
  ...typed('malformed-credential', ['proof_malformed']),
  ...typed('payment-expired', ['quote_expired', 'payment_expired']),
  ...typed('invalid-challenge', ['unknown_request', 'payment_in_progress', 'payment_replay']),
  ...typed('verification-failed', [
    'binding_mismatch',
    'claim_required',
    'claim_invalid',
    'signature_required',
    'signature_invalid',
    'payer_mismatch',
    'tx_failed',
    'memo_mismatch',
    'wrong_recipient',
    'wrong_destination',
    'wrong_mint',
    'no_transfer',
    'underpaid',
    'self_payment',
    'unsupported_transfer',
    'transaction_invalid',
  ]),
}

function typed(name: string, codes: readonly RefusalCode[]): Partial<Record<RefusalCode, string>> {
  return Object.fromEntries(codes.map((code) => [code, `https://paymentauth.org/problems/${name}`]))
}

/** The preference of a client in `Accept-Payment`. `any`: it stated none, or none that can be read. */
export type MppPreference = 'any' | 'charge' | 'only_charge' | 'other'

/**
 * Reads `Accept-Payment`: a list of `method/intent`, with `*` and q-values as in `Accept`. The most specific entry
 * decides.
 */
export function parseMppAccept(header: string | undefined): MppPreference {
  if (header === undefined) return 'any'
  const entries = header.split(',').map((part) => entryPattern.exec(part)?.groups)
  if (entries.some((entry) => entry === undefined)) return 'any'
  let [specificity, isAccepted, hasOther] = [-1, false, false]
  for (const { accepted = '*', purpose = '*', weight = '1' } of entries.map((entry) => entry ?? {})) {
    const isWanted = Number(weight) > 0
    const isExact = accepted === method && purpose === intent
    if (isWanted && !isExact) hasOther = true
    if ((accepted !== '*' && accepted !== method) || (purpose !== '*' && purpose !== intent)) continue
    const rank = Number(accepted !== '*') + Number(purpose !== '*')
    isAccepted = rank > specificity ? isWanted : rank === specificity ? isAccepted || isWanted : isAccepted
    specificity = Math.max(specificity, rank)
  }
  if (!isAccepted) return 'other'
  return hasOther ? 'charge' : 'only_charge'
}

const entryPattern =
  /^\s*(?<accepted>[\w.!#$%&'*+^`|~-]+)\s*\/\s*(?<purpose>[\w.!#$%&'*+^`|~-]+)\s*(?:;\s*q=(?<weight>0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/
