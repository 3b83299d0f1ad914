/**
 * What the checkout page and the service say to each other. The page asks at the address it was loaded from, with this
 * header: the resource itself is never touched by it, and nothing is used up.
 *
 * `Payment-Checkout: status; requestId=…`, `view; requestId=…; token=…`, `prepare; requestId=…; token=…; account=…`,
 * `submit; requestId=…; transaction=<base64url>`; on a local chain also `test; requestId=…; token=…`.
 */
import type { Network, TokenCode } from '../money/tokens.ts'
import { isTokenCode } from '../money/tokens.ts'
import { requestIdPattern } from '../protocol/request-id.ts'

export const checkoutHeader = 'Payment-Checkout'

/** Where a purchase stands. */
export type CheckoutState =
  /** Nothing was seen of a payment, and there is time. */
  | { readonly state: 'waiting' }
  /** A payment is on its way or seen, and not certain yet. */
  | { readonly state: 'confirming'; readonly tx?: string }
  /** Paid: a reload shows what was bought. */
  | { readonly state: 'paid'; readonly tx: string }
  /** Paid, and used up since. */
  | { readonly state: 'used'; readonly tx: string }
  /** Paid, but the one who asks does not have the cookie that opens it. Whether it was used is not told. */
  | { readonly state: 'stranded'; readonly tx: string }
  /** A payment came, but of too little. */
  | {
      readonly state: 'short'
      readonly tx: string
      readonly token: TokenCode
      readonly received: string
      readonly required: string
    }
  /** A payment came after the price had expired. */
  | { readonly state: 'late'; readonly tx: string }
  /** A payment came that cannot be accepted. */
  | { readonly state: 'wrong'; readonly tx: string; readonly why: string }
  /** The price has expired, and nothing was seen of a payment. */
  | { readonly state: 'expired' }

export interface CheckoutToken {
  readonly token: TokenCode
  /** For people: "0.01". */
  readonly amount: string
  /** The mint's address; SOL has none. */
  readonly mint?: string
}

/** What the page knows when it opens: its script reads it from the document. */
export interface CheckoutFacts {
  readonly requestId: string
  readonly network: Network
  /** As wallets name it: `solana:mainnet`, `solana:devnet`, `solana:localnet`. */
  readonly chain: string
  readonly recipient: string
  /** Whom the page is of, for people: a host. */
  readonly seller: string
  /** What is bought: the provider's description, or else the path. */
  readonly what: string
  /** How much of it: "one request", "1 hour", "10 MB". */
  readonly buys: string
  readonly tokens: readonly CheckoutToken[]
  /** Milliseconds since 1970, both by the service's clock. */
  readonly expiresAt: number
  readonly now: number
  readonly standing: CheckoutState
  /** What follows the payment: the resource by a reload, or going back to the program that asked. */
  readonly after: 'reload' | 'return'
  /** Something was bought here before, and delivered. */
  readonly isAgain: boolean
  /** The browser is known to have kept the cookie of this purchase, or none is needed. Until then nothing is offered. */
  readonly isKept: boolean
}

/** A way to pay from a phone: the link, and its QR code as rows of modules, `1` for dark. */
export interface CheckoutView {
  readonly uri: string
  readonly rows: readonly string[]
}

export type Preparation =
  /** The transaction for the wallet to sign, base64. */
  | { readonly kind: 'transaction'; readonly transaction: string }
  /** The wallet has too little: of the token, or of SOL for the fee. */
  | { readonly kind: 'short'; readonly token: TokenCode; readonly has: string; readonly needs: string }
  /** There is something on its way or paid already, and nothing is to be paid now. */
  | ({ readonly kind: 'state' } & CheckoutState)

export type Sending =
  | { readonly kind: 'sent'; readonly tx: string }
  | { readonly kind: 'refused'; readonly why: string }
  | ({ readonly kind: 'state' } & CheckoutState)

export type CheckoutOrder =
  | { readonly kind: 'status'; readonly requestId: string; readonly tx?: string }
  | { readonly kind: 'view'; readonly requestId: string; readonly token: TokenCode }
  | { readonly kind: 'prepare'; readonly requestId: string; readonly token: TokenCode; readonly account: string }
  | { readonly kind: 'submit'; readonly requestId: string; readonly transaction: string }
  /** Pays with test money, where money is worth nothing. */
  | { readonly kind: 'test'; readonly requestId: string; readonly token: TokenCode }

const longestOrder = 4_096

/** Undefined for what no page of ours would send. */
export function parseOrder(header: string): CheckoutOrder | undefined {
  if (header.length > longestOrder) return undefined
  const [kind, ...pairs] = header.split(';').map((part) => part.trim())
  const entries = pairs.map((pair) => /^([a-zA-Z]+)=([A-Za-z0-9_-]+)$/.exec(pair))
  if (entries.some((entry) => !entry)) return undefined
  const values = new Map(entries.map((entry) => [entry?.[1] ?? '', entry?.[2] ?? '']))
  if (values.size !== entries.length) return undefined
  const [requestId = '', token = '', account, transaction] = ['requestId', 'token', 'account', 'transaction'].map(
    (name) => values.get(name),
  )
  if (!requestIdPattern.test(requestId)) return undefined
  if (kind === 'status') {
    const tx = values.get('tx')
    return tx === undefined ? { kind, requestId } : { kind, requestId, tx }
  }
  if (kind === 'submit') return transaction === undefined ? undefined : { kind, requestId, transaction }
  if (!isTokenCode(token)) return undefined
  if (kind === 'view' || kind === 'test') return { kind, requestId, token }
  return kind === 'prepare' && account !== undefined ? { kind, requestId, token, account } : undefined
}

export function formatOrder({ kind, ...values }: CheckoutOrder): string {
  return [kind, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join('; ')
}
