/**
 * Decides before signing how much the client pays. A server can ask for any price, but the client pays only within this
 * policy.
 */

import { decodeAddress } from '../core/encoding/base58.ts'
import { isFields } from '../core/encoding/fields.ts'
import { parseUrl } from '../core/encoding/url.ts'
import { formatNumber, formatUnits, parseDecimal, parseUnits } from '../core/money/money.ts'
import {
  type ByToken,
  checkMints,
  findDecimals,
  findMint,
  isNetwork,
  isSameMint,
  isTokenCode,
  knownCodes,
  knownMints,
  type Mint,
  type MintTable,
  type Network,
  type TokenCode,
} from '../core/money/tokens.ts'
import { type SplitPart, sumParts } from '../core/payment/splits.ts'
import type { Challenge } from '../core/protocol/challenge.ts'
import { PaymentError } from './errors.ts'
import type { Limits } from './journal/journal.ts'

/** Amounts by token: decimal text, or a number. */
export type TokenAmounts = ByToken<string | number>

export interface PolicyOptions {
  /**
   * Tokens to pay with, the preferred one first.
   *
   * @defaultValue the tokens that the server accepts, in its order; with a `budget`, those that it names
   */
  readonly tokens?: readonly TokenCode[]
  /**
   * The highest amount of one payment, by token. If set, tokens that it omits are not used.
   *
   * @defaultValue `{ USDC: 1, SOL: 0.01, NATIVE: 10 }`
   */
  readonly maxPrice?: TokenAmounts
  /**
   * `{ perDay, perHost }`: the highest sum of one day (UTC), by token, for all hosts together and for each host. The client
   * reserves the amount on disk before it signs, so parallel calls and other processes count.
   */
  readonly budget?: { readonly perDay?: TokenAmounts; readonly perHost?: TokenAmounts }
  /**
   * The only wallets that may be paid.
   *
   * @defaultValue any
   */
  readonly recipients?: readonly string[]
  /**
   * The only network to pay on. Challenges for other networks are refused.
   *
   * @defaultValue the server's
   */
  readonly network?: Network
  /**
   * Mints besides the known ones, such as that of NATIVE on mainnet, or of the server's own tokens:
   * `{ EURC: { address, decimals, tokenProgram } }`. The client pays in no other mint.
   *
   * @defaultValue known mints
   */
  readonly mints?: MintTable
  /**
   * Allows payments over plain http to hosts other than this machine.
   *
   * @defaultValue `false`
   */
  readonly allowHttp?: boolean
}

/** One way to pay a challenge within the policy. */
export interface Candidate {
  readonly token: TokenCode
  /** The whole amount, including the splits. */
  readonly units: bigint
  readonly decimals: number
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  /** The parts of other wallets. */
  readonly splits: readonly SplitPart[]
}

export const defaultMaxPrice: Readonly<Record<TokenCode, string>> = { NATIVE: '10', USDC: '1', SOL: '0.01' }
export const shortestRemainingMs = 90_000

/** In milliseconds since 1970. Infinite without an expiry. */
export function readExpiry({ expiresAt }: Pick<Challenge, 'expiresAt'>): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
}

/** Throws a `PaymentError` with the first reason against any payment of this challenge at this address. */
export function checkChallenge(challenge: Challenge, url: URL, options: PolicyOptions, now: number): Network {
  const { requestId } = challenge
  const refuse = (code: PaymentError['code'], message: string) => new PaymentError(code, message, { requestId })
  const network = challenge.network ?? options.network ?? 'mainnet'
  if (options.network !== undefined && network !== options.network)
    throw refuse('network_not_allowed', `The server charges on ${network}, but only ${options.network} is allowed.`)
  if (url.protocol !== 'https:' && !isLoopback(url.hostname) && !options.allowHttp) {
    throw refuse(
      'insecure_url',
      `${url.origin} is not https, so the challenge could be forged. Use https, or set allowHttp.`,
    )
  }
  if (challenge.resource !== undefined && readHost(challenge.resource) !== url.host) {
    throw refuse(
      'wrong_origin',
      `The challenge is for ${readHost(challenge.resource) ?? 'another address'}, not for ${url.host}. If that is the same service, its provider should set publicUrl.`,
    )
  }
  // Every wallet that receives a part must be allowed.
  const recipients = [challenge.recipient, ...(challenge.splits ?? []).map(({ recipient }) => recipient)]
  for (const recipient of recipients) {
    if (decodeAddress(recipient) === undefined)
      throw refuse('recipient_not_allowed', 'The challenge names a recipient that is not a Solana address.')
    if (options.recipients && !options.recipients.includes(recipient))
      throw refuse(
        'recipient_not_allowed',
        `The recipient ${recipient} is not allowed. Add it to recipients to allow it.`,
      )
  }
  if (!(readExpiry(challenge) - now >= shortestRemainingMs))
    throw refuse('challenge_expiring', 'The challenge expires too soon to be paid safely. Send the request again.')
  return network
}

/** Lists the ways to pay within the policy, the preferred one first. Throws with the reason if there is none. */
export function listCandidates(challenge: Challenge, network: Network, options: PolicyOptions): readonly Candidate[] {
  const { requestId, acceptedMints } = challenge
  const wanted = options.tokens ?? listBudgeted(options) ?? acceptedMints
  const tokens = options.tokens
    ? wanted.filter((token) => acceptedMints.includes(token))
    : acceptedMints.filter((token) => wanted.includes(token))
  if (tokens.length === 0) {
    throw new PaymentError(
      'token_not_allowed',
      `The server accepts ${acceptedMints.join(', ')}, but only ${wanted.join(', ')} may be used. Allow one with ${options.tokens ? 'tokens' : 'tokens or budget'}.`,
      { requestId },
    )
  }
  const { maxPrice = defaultMaxPrice } = options
  const limited = tokens.filter((token) => maxPrice[token] !== undefined)
  if (limited.length === 0) {
    throw new PaymentError(
      'price_too_high',
      `Payments in ${tokens.join(' or ')} are not allowed, because maxPrice has no limit for it. Add one to allow it.`,
      { requestId },
    )
  }
  const readings = limited.map((token) => readCandidate(challenge, network, token, options))
  const allowed = readings.filter((reading): reading is Candidate => !(reading instanceof PaymentError))
  const [problem] = readings
  if (allowed.length === 0 && problem instanceof PaymentError) throw problem
  return allowed
}

/** A token without an amount in the budget would have no limit of a day. */
function listBudgeted({ budget = {} }: PolicyOptions): readonly TokenCode[] | undefined {
  const tokens = Object.keys({ ...budget.perDay, ...budget.perHost }).filter(isTokenCode)
  return tokens.length > 0 ? tokens : undefined
}

function readCandidate(challenge: Challenge, network: Network, token: TokenCode, options: PolicyOptions) {
  const { requestId } = challenge
  const mints: MintTable = { ...knownMints[network], ...options.mints }
  const mint = findMint(token, mints)
  const decimals = findDecimals(token, mints)
  const offered = findMint(token, challenge.mints ?? {})
  if (decimals === undefined || (offered && !isSameMint(offered, mint))) {
    return new PaymentError(
      'mint_not_allowed',
      `The server's ${token} is not the known ${token} of ${network}. If you trust it, set mints.${token} to its address.`,
      { requestId },
    )
  }
  const text = challenge.amounts?.[token] ?? (token === challenge.currency ? challenge.amount : undefined)
  const units = text === undefined ? undefined : parseUnits(text, decimals)
  if (units === undefined || units === 0n) {
    return new PaymentError('token_not_allowed', `The challenge has no amount for ${token}.`, { requestId })
  }
  const splits = readParts(challenge, token, decimals)
  if (!splits || sumParts(splits) >= units) {
    return new PaymentError('declined', `The splits of the price in ${token} are invalid. Nothing was paid.`, {
      requestId,
    })
  }
  const most = readLimit(options.maxPrice ?? defaultMaxPrice, token, decimals)
  if (most !== undefined && units > most) {
    return new PaymentError(
      'price_too_high',
      `${formatUnits(units, decimals)} ${token} is more than the limit of ${formatUnits(most, decimals)} ${token} for one request. Raise maxPrice to allow it.`,
      { requestId },
    )
  }
  return { token, units, decimals, mint, splits }
}

/** The parts of other wallets in a token. Undefined if one of them is malformed. */
function readParts({ splits = [] }: Challenge, token: TokenCode, decimals: number): readonly SplitPart[] | undefined {
  const stated = splits.filter(({ amounts }) => amounts[token] !== undefined)
  const parts = stated.flatMap(({ recipient, amounts }) => {
    const units = parseUnits(amounts[token] ?? '', decimals)
    return units === undefined || units === 0n ? [] : [{ recipient, units }]
  })
  return parts.length === stated.length ? parts : undefined
}

/** The budgets that apply to a candidate, in base units. */
export function readLimits({ token, decimals }: Pick<Candidate, 'token' | 'decimals'>, options: PolicyOptions): Limits {
  const perDay = readLimit(options.budget?.perDay ?? {}, token, decimals)
  const perHost = readLimit(options.budget?.perHost ?? {}, token, decimals)
  return { ...(perDay !== undefined && { perDay }), ...(perHost !== undefined && { perHost }) }
}

/** Reports all problems of the options at once. */
export function checkPolicy(options: PolicyOptions): readonly string[] {
  const problems: string[] = []
  if (options.tokens !== undefined && !(Array.isArray(options.tokens) && options.tokens.every(isTokenCode))) {
    problems.push(`tokens must be a list of codes such as ${knownCodes.join(', ')}`)
  }
  if (options.network !== undefined && !isNetwork(options.network))
    problems.push(`network ${options.network} is not known`)
  problems.push(...checkMints(options.mints))
  const { recipients, budget = {}, maxPrice } = options
  if (recipients !== undefined && !(Array.isArray(recipients) && recipients.every(isAddress)))
    problems.push('recipients must be a list of addresses')
  problems.push(...checkAmounts('maxPrice', maxPrice))
  if (!isTable(budget)) return [...problems, 'budget must be { perDay, perHost }, such as { perDay: { USDC: "5" } }']
  for (const [name, amounts] of Object.entries(budget)) {
    if (name === 'perDay' || name === 'perHost') problems.push(...checkAmounts(`budget.${name}`, amounts))
    else problems.push(`budget.${name} is not an option: it has perDay and perHost`)
  }
  return problems
}

function checkAmounts(name: string, amounts: TokenAmounts | undefined): readonly string[] {
  if (amounts === undefined) return []
  if (!isTable(amounts)) return [`${name} must be amounts by token, such as { USDC: "1" }`]
  return Object.entries(amounts).flatMap(([token, amount]) => {
    const text = amountText(amount)
    if (!isTokenCode(token)) return [`${name}.${token} is not a token code`]
    const isPlain = text !== undefined && parseDecimal(text, finestDecimals) !== undefined
    return isPlain ? [] : [`${name}.${token} must be a plain decimal such as "0.05"`]
  })
}

/** A `Map` has entries that the client does not read, so it would set no limit. */
function isTable(value: unknown): boolean {
  return isFields(value) && !(Symbol.iterator in value)
}

/** More decimal places than a number can have. */
const finestDecimals = 400

function isAddress(text: unknown): boolean {
  return typeof text === 'string' && decodeAddress(text) !== undefined
}

/** Truncates a limit to the token's decimals. Otherwise 0.1 + 0.2 would not parse, and there would be no limit. */
function readLimit(amounts: TokenAmounts, token: TokenCode, decimals: number): bigint | undefined {
  const text = amountText(amounts[token])
  if (text === undefined) return undefined
  const [whole = '', fraction = ''] = text.split('.')
  const cut = fraction.slice(0, decimals)
  return parseUnits(cut === '' ? whole : `${whole}.${cut}`, decimals)
}

function amountText(amount: string | number | undefined): string | undefined {
  return typeof amount === 'number' ? formatNumber(amount) : amount
}

function readHost(url: string): string | undefined {
  return parseUrl(url)?.host
}

export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  )
}
