/**
 * The body of a 402: the protocol's seven required fields, then the optional ones.
 *
 * Only the requestId, the resource and the time differ between requests. All other text is written once per offer, and
 * each challenge joins it with these three.
 */
import { isFields } from '../encoding/fields.ts'
import { toOneLine } from '../encoding/one-line.ts'
import { asciiJson, type HeaderPairs } from '../http/http.ts'
import { formatUnits, parseDecimal } from '../money/money.ts'
import type { ByToken, Mint, MintTable, Network, TokenCode } from '../money/tokens.ts'
import { findDecimals, findMint, isNetwork, isTokenCode, pickMints } from '../money/tokens.ts'
import { type Allowance, isOneRequest } from '../payment/allowance.ts'
import type { Refusal } from '../payment/refusals.ts'
import { mostSplits } from '../payment/splits.ts'
import { type ProofKind, requestIdPattern } from './request-id.ts'

export interface Challenge {
  readonly status?: 402
  readonly requestId: string
  readonly recipient: string
  readonly amount: string
  readonly currency: TokenCode
  readonly acceptedMints: readonly TokenCode[]
  readonly instructions: string
  readonly amounts?: ByToken<string>
  /** Further wallets that the payment must pay, in the same transaction. Their amounts are parts of `amounts`. */
  readonly splits?: readonly ChallengeSplit[]
  readonly mints?: MintTable
  readonly network?: Network
  /** The chain's genesis hash, on a localnet only. Elsewhere the network's name identifies the chain. */
  readonly genesis?: string
  readonly resource?: string
  readonly expiresAt?: string
  readonly allowance?: { readonly unit: string; readonly amount: string }
  /** Names the scope of an allowance that covers more than one request. Requests with the same scope share it. */
  readonly scope?: string
  readonly proof?: readonly string[]
  readonly payUrl?: string
  readonly description?: string
}

/** The part of another wallet, in each token. A token in which it is less than one base unit is left out. */
export interface ChallengeSplit {
  readonly recipient: string
  readonly amounts: ByToken<string>
}

/** The same in base units. */
export interface OfferSplit {
  readonly recipient: string
  readonly amounts: ByToken<bigint>
}

/** The key in `proof` that makes a client which does not know splits decline the payment. */
const splitsKey = 'splits'

/** The resource for sale, the recipient, and the amount in each token. */
export interface Offer {
  readonly recipient: string
  readonly currency: TokenCode
  /** In base units of `currency`, which can be a token that is not accepted. */
  readonly price: bigint
  readonly acceptedMints: readonly TokenCode[]
  /** The whole amounts to send. */
  readonly amounts: ByToken<bigint>
  /** The parts of other wallets in them. */
  readonly splits?: readonly OfferSplit[]
  /** The recipient also accepts the whole amount, and passes the parts on later. */
  readonly isCollected?: boolean
  readonly mints: MintTable
  readonly network: Network
  readonly genesis?: string
  readonly allowance: Allowance
  readonly description?: string
  /**
   * Address prefix of the page for human payers; the requestId is appended. Without a page, the challenge contains a
   * wallet link.
   */
  readonly payPage?: string
  /** The price is too low for the service to pay the network fee. */
  readonly isUnsponsored?: boolean
}

export interface ChallengeParts {
  readonly requestId: string
  /** The resource's address, as JSON: quoted and in ASCII. */
  readonly resource: string
  readonly expiresAt: string
  readonly proof: ProofKind
  /** Base64url. */
  readonly scope?: string
  /** The headers of other protocols, if they were written before the request came. */
  readonly foreign?: ForeignHeaders | undefined
  /** The payment in the request was refused, and the client may pay this challenge in its place. */
  readonly refused?: RefusedPayment | undefined
}

/** The headers that other protocols add to a challenge. */
export interface ForeignHeaders {
  readonly byProtocol: readonly HeaderPairs[]
  readonly all: HeaderPairs
  /** `all` as lines of an HTTP/1 head. */
  readonly lines: string | undefined
}

export interface RefusedPayment {
  readonly refusal: Refusal
  /** The problem type in the protocol of the client, if it defines one. */
  readonly type?: string | undefined
}

/** Prepares an offer. The returned function writes one challenge as JSON text. */
export function prepareChallenge(offer: Offer): (parts: ChallengeParts) => string {
  const { recipient, currency, acceptedMints, network, genesis, allowance, description } = offer
  const amounts = Object.fromEntries(
    acceptedMints.map((token) => [token, amountOf(offer, token, offer.amounts[token])]),
  )
  const mints = pickMints(acceptedMints, offer.mints)
  const amount = amountOf(offer, currency, offer.price)
  const { prices, splits } = describePrices(offer, amounts)
  const spec = asciiJson({ recipient, amount, currency, acceptedMints }).slice(1, -1)
  const ours = asciiJson({
    amounts,
    ...(splits && { splits }),
    mints,
    network,
    ...(genesis !== undefined && { genesis }),
    allowance: { unit: allowance.unit, amount: allowance.amount.toString() },
    ...(description !== undefined && { description }),
  }).slice(1, -1)
  const first = acceptedMints.includes(currency) ? currency : (acceptedMints[0] ?? currency)
  const payLink = `solana:${recipient}?amount=${amounts[first]}${splToken(first, offer.mints)}&memo=`

  const bought = isOneRequest(allowance)
    ? ''
    : `. This buys ${purposes[allowance.unit](allowance.amount)}, for which the same header is sent again`
  // The text between two requestIds, which is the same for all challenges of one second.
  const toMemo = `",${spec},"instructions":"Pay ${prices} on Solana ${network} with the memo `
  // A link has only one recipient.
  const payLinkHead = splits ? undefined : payLink
  let [toProof, toResource, toEnd] = ['', '', '']
  let hasPayUrl = true
  let written: Pick<ChallengeParts, 'expiresAt' | 'proof'> | undefined
  const write = ({ expiresAt, proof }: ChallengeParts): void => {
    const extra = proofExtras[proof]
    // If another person paid on the page, only that person could sign the `sig` proof.
    const payHead = proof === 'sig' ? payLinkHead : (offer.payPage ?? payLinkHead)
    hasPayUrl = payHead !== undefined
    const list = JSON.stringify([...extra.list, ...(splits ? [splitsKey] : [])])
    toProof =
      ` before ${expiresAt}. Then send the same request again with the header ` +
      'Payment-Proof: tx=<transaction signature>; requestId='
    toResource = `; payer=<your wallet address>${extra.header}${bought}${extra.remark}",${ours},"resource":`
    toEnd = `,"expiresAt":"${expiresAt}","proof":${list}${hasPayUrl ? `,"payUrl":"${payHead}` : '}'}`
    written = { expiresAt, proof }
  }

  return (parts) => {
    if (written?.expiresAt !== parts.expiresAt || written.proof !== parts.proof) write(parts)
    const id = parts.requestId
    return `{"status":402,"requestId":"${id}${toMemo}${id}${toProof}${id}${toResource}${parts.resource}${scopeIn(parts)}${toEnd}${hasPayUrl ? `${id}"}` : ''}`
  }
}

/** The sentence part with the prices, and the splits as the challenge contains them. */
function describePrices(offer: Offer, amounts: Readonly<Record<string, string>>) {
  const { recipient, acceptedMints } = offer
  if (!offer.splits) {
    const prices = acceptedMints.map((token) => `${amounts[token]} ${token}`).join(' or ')
    return { prices: `${prices} to ${recipient}`, splits: undefined }
  }
  const splits = offer.splits.map((split) => ({
    recipient: split.recipient,
    amounts: Object.fromEntries(
      Object.entries(split.amounts).map(([token, units]) => [token, amountOf(offer, token, units)]),
    ),
  }))
  const prices = acceptedMints.map((token) => {
    const parts = offer.splits?.reduce((sum, split) => sum + (split.amounts[token] ?? 0n), 0n) ?? 0n
    const own = amountOf(offer, token, (offer.amounts[token] ?? 0n) - parts)
    const others = splits.flatMap((split) =>
      split.amounts[token] === undefined ? [] : [`${split.amounts[token]} ${token} to ${split.recipient}`],
    )
    return [`${own} ${token} to ${recipient}`, ...others].join(' and ')
  })
  return { prices: `${prices.join(', or ')}, in one transaction`, splits }
}

function scopeIn({ scope }: ChallengeParts): string {
  return scope === undefined ? '' : `,"scope":"${scope}"`
}

/** Describes an allowance in words. */
const purposes: Readonly<Record<Allowance['unit'], (amount: bigint) => string>> = {
  request: (amount) => `${amount} requests`,
  second: (amount) => `${amount} seconds from the first use on`,
  byte: (amount) => `${amount} bytes`,
  file: (amount) => `this file of ${amount} bytes`,
}

interface ProofExtra {
  readonly header: string
  readonly list: readonly string[]
  readonly remark: string
}

const proofExtras: Readonly<Record<ProofKind, ProofExtra>> = {
  bare: { header: '', list: [], remark: '' },
  claim: { header: '; claim=<the secret whose hash you announced>', list: ['claim'], remark: '' },
  sig: {
    header: '; ts=<seconds since 1970>; sig=<signature by your wallet>',
    list: ['sig'],
    remark:
      '. What is signed is in docs/protocol.md of paystile, section 5; to do without a signature, ask for a challenge with the ' +
      'header Payment-Accept: claim=<base64url SHA-256 of a secret of yours>, and send claim=<that secret> instead',
  },
}

function amountOf(offer: Offer, token: TokenCode, units: bigint | undefined): string {
  return formatUnits(units ?? 0n, findDecimals(token, offer.mints) ?? 0)
}

function splToken(token: TokenCode, mints: MintTable): string {
  const mint = findMint(token, mints)
  return mint ? `&spl-token=${mint.address}` : ''
}

/**
 * Reads the body of a 402. Undefined if the body is not a challenge of this protocol.
 *
 * The required fields must be present. Optional fields are taken if they are well-formed, and left out otherwise.
 * Texts are reduced to one line, because people read them on a terminal before they pay.
 */
export function readChallenge(value: unknown): Challenge | undefined {
  if (!isFields(value)) return undefined
  const { requestId, recipient, amount, currency, acceptedMints, instructions } = value
  if (typeof requestId !== 'string' || !requestIdPattern.test(requestId)) return undefined
  if (typeof recipient !== 'string' || typeof amount !== 'string' || !isTokenCode(currency)) return undefined
  if (!isDecimal(amount) || typeof instructions !== 'string') return undefined
  if (!Array.isArray(acceptedMints) || acceptedMints.length === 0 || !acceptedMints.every(isTokenCode)) return undefined
  const splits = readSplits(value['splits'])
  if (!splits) return undefined
  const text = (key: string) => (typeof value[key] === 'string' ? { [key]: toOneLine(value[key]) } : {})
  return {
    status: 402,
    requestId,
    recipient: toOneLine(recipient),
    amount,
    currency,
    acceptedMints,
    instructions: toOneLine(instructions),
    ...readAmounts(value['amounts']),
    ...splits,
    ...readMints(value['mints']),
    ...(isNetwork(value['network']) && { network: value['network'] }),
    ...readList(value['proof']),
    ...readAllowance(value['allowance']),
    ...text('genesis'),
    ...text('scope'),
    ...text('resource'),
    ...text('expiresAt'),
    ...text('payUrl'),
    ...text('description'),
  }
}

function readAmounts(value: unknown): Pick<Challenge, 'amounts'> {
  if (!isFields(value)) return {}
  const entries = Object.entries(value).flatMap(([token, amount]) =>
    isTokenCode(token) && isDecimal(amount) ? [[token, amount] as const] : [],
  )
  return { amounts: Object.fromEntries(entries) }
}

/** Undefined if they are malformed: a payment that leaves them out would be lost. */
function readSplits(value: unknown): Pick<Challenge, 'splits'> | undefined {
  if (value === undefined) return {}
  if (!Array.isArray(value) || value.length === 0 || value.length > mostSplits) return undefined
  const splits = value.flatMap((split: unknown) => {
    if (!isFields(split) || typeof split['recipient'] !== 'string' || !isFields(split['amounts'])) return []
    const { amounts = {} } = readAmounts(split['amounts'])
    const isWhole = Object.keys(amounts).length === Object.keys(split['amounts']).length
    return isWhole ? [{ recipient: toOneLine(split['recipient']), amounts }] : []
  })
  return splits.length === value.length ? { splits } : undefined
}

/** The further keys that the proof must carry. Undefined unless the challenge has splits exactly if it says so. */
export function listProofKeys({ proof = [], splits }: Challenge): readonly string[] | undefined {
  return proof.includes(splitsKey) === (splits !== undefined) ? proof.filter((key) => key !== splitsKey) : undefined
}

function readMints(value: unknown): Pick<Challenge, 'mints'> {
  if (!isFields(value)) return {}
  const entries = Object.entries(value).flatMap(([token, mint]) =>
    isTokenCode(token) && token !== 'SOL' && isMint(mint) ? [[token, mint] as const] : [],
  )
  return { mints: Object.fromEntries(entries) }
}

function readList(value: unknown): Pick<Challenge, 'proof'> {
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? { proof: value.map(toOneLine) } : {}
}

function readAllowance(value: unknown): Pick<Challenge, 'allowance'> {
  if (!isFields(value) || typeof value['unit'] !== 'string' || typeof value['amount'] !== 'string') return {}
  return { allowance: { unit: value['unit'], amount: value['amount'] } }
}

function isMint(value: unknown): value is Mint {
  if (!isFields(value)) return false
  const { address, decimals, tokenProgram } = value
  return typeof address === 'string' && Number.isInteger(decimals) && typeof tokenProgram === 'string'
}

function isDecimal(value: unknown): value is string {
  // The policy limits the amount, because it knows the token.
  return typeof value === 'string' && parseDecimal(value, 18) !== undefined
}
