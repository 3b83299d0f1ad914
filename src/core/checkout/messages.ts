/**
 * The messages between the checkout page and the service. The page sends them in this header to the address from which
 * it was loaded.
 *
 * `Payment-Checkout: status; requestId=…`, `view; requestId=…; token=…`, `prepare; requestId=…; token=…; account=…`,
 * `submit; requestId=…; transaction=<base64url>`, `receipt; requestId=…`, `open; requestId=…`; on a local chain also
 * `test; requestId=…; token=…`. All but `open` use up nothing and never reach the resource.
 */
import { isTokenCode, type Network, type TokenCode } from '../money/tokens.ts'
import { requestIdPattern } from '../protocol/request-id.ts'
import type { CheckoutTexts } from './languages/en.ts'

/** In an answer, the header has the version of the page that the service serves. A page of another version reloads. */
export const checkoutHeader = 'Payment-Checkout'

/** The state of a purchase. */
export type CheckoutState =
  /** No payment was seen, and the price has not expired. */
  | { readonly state: 'waiting' }
  /** A payment was sent or seen, but is not confirmed yet. */
  | { readonly state: 'confirming'; readonly tx?: string }
  /** Paid. A reload shows the purchased resource. */
  | { readonly state: 'paid'; readonly tx: string }
  /** Paid, and used up or refunded. */
  | { readonly state: 'used'; readonly tx: string }
  /** Paid, but this browser lacks the cookie that unlocks the purchase. Whether it was used is not revealed. */
  | { readonly state: 'stranded'; readonly tx: string }
  /** A payment arrived, but it is too small. */
  | {
      readonly state: 'short'
      readonly tx: string
      readonly token: TokenCode
      readonly received: string
      readonly required: string
    }
  /** A payment arrived after the price had expired. */
  | { readonly state: 'late'; readonly tx: string }
  /** A payment arrived that cannot be accepted, or failed on chain, so that no money moved. */
  | { readonly state: 'wrong'; readonly tx: string; readonly why: string; readonly isFailed?: boolean }
  /** The price has expired, and no payment was seen. */
  | { readonly state: 'expired' }

export interface CheckoutToken {
  readonly token: TokenCode
  /** Exact, as a wallet reads it: "0.01". */
  readonly amount: string
  /** The mint's address; SOL has none. */
  readonly mint?: string
  /** Its approximate value in US dollars, if a rate is known. Only to compare: the amount is the price. */
  readonly dollars?: string
}

/** The initial state of the page. Its script reads it from the document. */
export interface CheckoutFacts {
  /** The version of the page. */
  readonly version: string
  readonly requestId: string
  /** The texts of the page, in its language. */
  readonly texts: CheckoutTexts
  /** The way to write numbers and times: `de-CH`. */
  readonly locale: string
  readonly network: Network
  /** The chain's name in the Wallet Standard: `solana:mainnet`, `solana:devnet`, `solana:localnet`. */
  readonly chain: string
  readonly recipient: string
  /** The seller's name, or else the host. */
  readonly seller: string
  /** The host of the service, as shown to people. */
  readonly host: string
  /** The item for sale: the provider's description, or else the path. */
  readonly what: string
  /** The quantity: "one request", "1 hour", "10 MB". */
  readonly buys: string
  readonly tokens: readonly CheckoutToken[]
  /** The price goes to several wallets in one transaction. A transfer by hand or by a transfer link cannot pay it. */
  readonly isSplit?: boolean
  /** Milliseconds since 1970, both by the service's clock. */
  readonly expiresAt: number
  readonly now: number
  readonly standing: CheckoutState
  /** The step after the payment: reload to get the resource, or return to the program that asked. */
  readonly after: 'reload' | 'return'
  /** An earlier purchase at this address was delivered. */
  readonly isAgain: boolean
  /** The requestId of that purchase. This browser can read its receipt. */
  readonly bought?: string
  /** The address to which people return after they paid for a program. */
  readonly returnUrl?: string
  /** The resource can be opened again for some minutes, at the address of this page. */
  readonly canReopen?: boolean
  /** The resource may be JSON, as far as the service knows, so the page offers to show it. */
  readonly isReadable?: boolean
  /**
   * The browser has kept the cookie of this purchase, or none is needed. The page offers no payment until this is true.
   */
  readonly isKept: boolean
}

/** A way to pay from a phone: the link, and its QR code. The link is empty if there is none. */
export interface CheckoutView {
  readonly uri: string
  readonly qr?: QrDrawing
}

/** A QR code as an SVG path. */
export interface QrDrawing {
  readonly viewBox: string
  /** Pixels per side. */
  readonly side: number
  readonly path: string
}

export type Preparation =
  /** The transaction for the wallet to sign, base64. */
  | { readonly kind: 'transaction'; readonly transaction: string }
  /** The wallet has too little: of the token, or of SOL for the fee. */
  | { readonly kind: 'short'; readonly token: TokenCode; readonly has: string; readonly needs: string }
  /** The payment could not arrive, for example because the seller has no account for the token. */
  | { readonly kind: 'refused'; readonly why: string }
  /** A payment is on its way or complete, so there is nothing to pay now. */
  | ({ readonly kind: 'state' } & CheckoutState)

export type Sending =
  | { readonly kind: 'sent'; readonly tx: string }
  | { readonly kind: 'refused'; readonly why: string }
  | ({ readonly kind: 'state' } & CheckoutState)

/** The receipt of a payment, for its buyer. */
export interface CheckoutReceipt {
  readonly kind: 'receipt'
  readonly tx: string
  readonly token: TokenCode
  /** For people: "0.01". */
  readonly amount: string
  /** The block time of the payment, in milliseconds since 1970. */
  readonly paidAt: number
  readonly resource: string
  /** The signed receipt, in the form of the header `Payment-Receipt`. */
  readonly receipt: string
}

export type CheckoutOrder =
  | { readonly kind: 'status'; readonly requestId: string; readonly tx?: string }
  | { readonly kind: 'view'; readonly requestId: string; readonly token: TokenCode }
  /** Needs the cookie of the purchase. */
  | { readonly kind: 'receipt'; readonly requestId: string }
  /** Asks for the bought resource itself, to show it in the page. Needs the cookie, too. */
  | { readonly kind: 'open'; readonly requestId: string }
  | { readonly kind: 'prepare'; readonly requestId: string; readonly token: TokenCode; readonly account: string }
  | { readonly kind: 'submit'; readonly requestId: string; readonly transaction: string }
  /** Pays with test money, on test networks only. */
  | { readonly kind: 'test'; readonly requestId: string; readonly token: TokenCode }

const longestOrder = 4_096

/** Undefined for messages that the checkout page would not send. */
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
  if (kind === 'receipt' || kind === 'open') return { kind, requestId }
  if (kind === 'submit') return transaction === undefined ? undefined : { kind, requestId, transaction }
  if (!isTokenCode(token)) return undefined
  if (kind === 'view' || kind === 'test') return { kind, requestId, token }
  return kind === 'prepare' && account !== undefined ? { kind, requestId, token, account } : undefined
}

export function formatOrder({ kind, ...values }: CheckoutOrder): string {
  return [kind, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join('; ')
}
