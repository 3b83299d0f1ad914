/** The options of `fetchWith402`. */
import { parseUrl } from '../core/encoding/url.ts'
import { nearest } from '../core/errors/suggest.ts'
import type { TokenCode } from '../core/money/tokens.ts'
import { type AllowanceLeft, mostBytesAhead, type Offered } from '../core/payment/allowance.ts'
import { type Protocol, protocols } from '../core/protocol/protocols.ts'
import type { Journal } from './journal/journal.ts'
import { checkPolicy, type PolicyOptions } from './policy.ts'
import type { WalletSource } from './wallet.ts'

/** A payment before it is made, for approval by a person or a program. */
export interface PaymentOffer {
  readonly url: string
  readonly requestId: string
  readonly recipient: string
  /** The whole amount, including the splits. */
  readonly amount: string
  /** Other wallets that receive a part of the amount. */
  readonly splits?: readonly { readonly recipient: string; readonly amount: string }[]
  readonly token: TokenCode
  readonly network: string
  readonly protocol: Protocol
  readonly description?: string
  /** The allowance that it buys, if the server states it. */
  readonly allowance?: Offered
}

export type ClientEvent =
  | ({ readonly kind: 'paying' } & PaymentOffer)
  | { readonly kind: 'sent'; readonly tx: string }
  | { readonly kind: 'confirmed'; readonly tx: string }
  /** The rest of an earlier call's payment is used now. */
  | { readonly kind: 'resumed'; readonly tx: string; readonly requestId: string }
  | { readonly kind: 'retrying'; readonly reason: string; readonly afterMs: number }
  | {
      readonly kind: 'delivered'
      readonly tx: string
      readonly requestId: string
      readonly status: number
      /** The rest of the allowance, if the server states it. */
      readonly allowance?: AllowanceLeft
    }

export interface ClientOptions extends PolicyOptions {
  /**
   * The wallet that pays: `await initAgentWallet()`, a kit signer, a web3.js `Keypair`, 64 secret bytes, or a Wallet
   * Standard `{ wallet, account }`.
   */
  readonly wallet: WalletSource
  /**
   * The RPC nodes that the client uses. It never takes a node from a challenge. In Node, their WebSockets
   * shorten the wait for a confirmation.
   *
   * @defaultValue `PAYSTILE_RPC`, the public node, or the localnet of this machine
   */
  readonly rpc?: string | readonly string[]
  /**
   * The payment protocols that the client may use, the preferred one first: `'paystile'`, `'mpp'`, `'x402'`, `'x402-v1'`.
   *
   * @defaultValue all, in this order
   */
  readonly protocols?: readonly Protocol[]
  /** Called before every payment. Any result but `true` declines the payment. */
  readonly approve?: (offer: PaymentOffer) => boolean | Promise<boolean>
  /**
   * Runs all checks, pays nothing, and returns the 402.
   *
   * @defaultValue `false`
   */
  readonly dryRun?: boolean
  /**
   * How the client proves that it made the payment: `'claim'` by a secret in its journal, `'sig'` by the wallet's signature, which
   * works from any machine.
   *
   * @defaultValue `'claim'`
   */
  readonly proof?: 'claim' | 'sig'
  /**
   * The number of bytes to buy in advance, if the server sells bytes.
   *
   * @defaultValue the server's proposal
   */
  readonly prepayBytes?: number
  /**
   * The longest wait for the payment (its own, or that of another call for the same resource), and then for the resource.
   *
   * @defaultValue `120000`
   */
  readonly timeoutMs?: number
  /**
   * The record of payments, written before each payment is sent.
   *
   * @defaultValue a file; in browsers memory
   */
  readonly journal?: Journal
  /** Called with the progress of a payment. Its exceptions are ignored, so that they cannot stop the delivery of a paid resource. */
  readonly onEvent?: (event: ClientEvent) => void
  /**
   * The function that sends requests.
   *
   * @defaultValue the global `fetch`
   */
  readonly fetch?: typeof fetch
}

const optionNames: readonly (keyof ClientOptions)[] = [
  'wallet',
  'tokens',
  'maxPrice',
  'budget',
  'recipients',
  'network',
  'mints',
  'allowHttp',
  'rpc',
  'protocols',
  'approve',
  'dryRun',
  'proof',
  'prepayBytes',
  'timeoutMs',
  'journal',
  'onEvent',
  'fetch',
]
/** The options of `fetch` itself, so that one object can contain both. */
const initNames: readonly string[] = [
  'method',
  'headers',
  'body',
  'signal',
  'redirect',
  'credentials',
  'cache',
  'mode',
  'referrer',
  'referrerPolicy',
  'integrity',
  'keepalive',
  'duplex',
  'dispatcher',
  'priority',
  'window',
]

export interface Call {
  readonly init: RequestInit
  readonly options: ClientOptions
}

export function readTimeout({ timeoutMs = 120_000 }: ClientOptions): number {
  return timeoutMs
}

/** Reads both forms of the call. Throws a `TypeError` that names every problem of the options. */
export function readCall(first: RequestInit | ClientOptions | undefined, second: ClientOptions | undefined): Call {
  const mixed: Record<string, unknown> = { ...(second ? {} : first) }
  const isOption = (name: string) => optionNames.includes(name as keyof ClientOptions)
  const entries = Object.entries(second ?? mixed)
  const options = Object.fromEntries(entries.filter(([name]) => isOption(name))) as unknown as ClientOptions
  const init = second
    ? ((first as RequestInit | undefined) ?? {})
    : Object.fromEntries(entries.filter(([name]) => !isOption(name)))
  const problems = listProblems(options)
  for (const [name] of entries) {
    if (isOption(name) || (!second && initNames.includes(name))) continue
    const guess = nearest(name, [...optionNames, ...(second ? [] : initNames)])
    problems.push(`${name} is not an option${guess ? ` (did you mean ${guess}?)` : ''}`)
  }
  // Without this check, a limit beside the options of `fetch` would have no effect.
  for (const name of Object.keys(second ? init : {}))
    if (isOption(name)) problems.push(`${name} belongs to the last argument, with wallet`)
  if (options.wallet === undefined)
    problems.push('wallet is missing; pass initAgentWallet(), a kit signer or a Keypair')
  if (problems.length > 0) throw new TypeError(`fetchWith402: ${problems.join('; ')}.`)
  return { init, options }
}

/** The longest delay of a timer. */
const longestTimeoutMs = 2_147_483_647

/** Values of a wrong type could fail after the payment, or lift a limit. */
export function listProblems(options: Omit<ClientOptions, 'wallet'>): string[] {
  const { prepayBytes, timeoutMs, proof, rpc, journal } = options
  const problems = [...checkPolicy(options)]
  if (prepayBytes !== undefined && !(Number.isInteger(prepayBytes) && prepayBytes > 0 && prepayBytes <= mostBytesAhead))
    problems.push(`prepayBytes must be a whole number from 1 to ${mostBytesAhead}`)
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0 && timeoutMs <= longestTimeoutMs))
    problems.push(`timeoutMs must be a number of milliseconds above 0, up to ${longestTimeoutMs}`)
  if (options.protocols !== undefined && !isProtocolList(options.protocols))
    problems.push(`protocols must be a list of ${protocols.join(', ')}`)
  if (proof !== undefined && proof !== 'claim' && proof !== 'sig') problems.push(`proof must be 'claim' or 'sig'`)
  // An empty list would select the public nodes.
  if (rpc !== undefined && !([rpc].flat().length > 0 && [rpc].flat().every(isNodeAddress)))
    problems.push('rpc must be the http or https address of a node, or a list of them')
  if (journal !== undefined && !isJournal(journal))
    problems.push('journal must be an object such as createMemoryJournal(), with all of its methods')
  for (const name of ['approve', 'onEvent', 'fetch'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'function') problems.push(`${name} must be a function`)
  for (const name of ['allowHttp', 'dryRun'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'boolean')
      problems.push(`${name} must be true or false`)
  return problems
}

function isNodeAddress(value: unknown): boolean {
  return typeof value === 'string' && /^https?:$/.test(parseUrl(value)?.protocol ?? '')
}

const journalMethods: readonly (keyof Journal)[] = [
  'reserve',
  'change',
  'adopt',
  'release',
  'find',
  'share',
  'passTurn',
  'begin',
  'end',
]

function isJournal(value: Partial<Journal> | null): boolean {
  return journalMethods.every((name) => typeof value?.[name] === 'function')
}

function isProtocolList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => protocols.includes(one))
}
