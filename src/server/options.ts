/**
 * What a provider may say. SPEC.md's names first, then ours; one flat object.
 */
import type { Network, TokenCode } from '../core/network.ts'
import type { Ledger, Log } from '../core/ports.ts'
import type { RateTable } from '../core/rates.ts'
import type { DoubtfulTrait } from '../core/token-rules.ts'
import type { Envelope } from './envelope.ts'
import type { PaywallEvent } from './events.ts'

export interface ProviderOptions {
  /** Price of one request, in units of `token`: a number, or decimal text. */
  readonly price: number | string
  /** The token the price is in. */
  readonly token: TokenCode
  /** The wallet that is paid. Receiving needs no key. */
  readonly recipient?: string
  /** False skips reading the chain, on localnet and devnet only. Seal, expiry, binding and once-only stay. */
  readonly verifyOnChain?: boolean
  readonly network?: Network
  /** All tokens that are accepted, the preferred first; the price in others than `token` follows from `rates`. */
  readonly acceptedMints?: readonly TokenCode[]
  readonly settlementToken?: TokenCode
  readonly autoConversion?: boolean

  /** JSON-RPC nodes. With two or more, two must agree on a payment. On localnet, none starts a chain in this process. */
  readonly rpc?: string | readonly string[]
  /** Where payments are recorded: a file path, `sqlite:path`, `postgres://…`, or `memory:` on localnet. */
  readonly ledger?: string | Ledger
  /** The keyring that seals requestIds: `id:secret,id:secret`. */
  readonly secret?: string
  /** Mint addresses by token code: NATIVE on mainnet, any on devnet and localnet. */
  readonly mints?: Readonly<Partial<Record<Exclude<TokenCode, 'SOL'>, MintOption>>>
  /**
   * A key that pays, once, for each token account that the recipient lacks: the path of a key file, 64 secret bytes, a kit
   * signer or a wallet. It need not be the recipient's, and is used for nothing else.
   */
  readonly accountKey?: AccountKey
  /** Worth of one token in USDC, as decimal text. */
  readonly rates?: RateTable
  /** Names the service inside its requestIds, where several share one secret. */
  readonly service?: string
  /** Names the route inside its requestIds. */
  readonly scope?: string
  /** The address clients use, when a proxy stands in front: `https://api.example.com`. */
  readonly publicUrl?: string
  /** Whether a payment is for the request with its query, or for the path whatever the query. */
  readonly bind?: 'request' | 'path'
  /** `required` refuses to sell to a client whose proof could be copied from the chain. */
  readonly proofBinding?: 'negotiated' | 'required'
  readonly challengeTtlSeconds?: number
  readonly proofTtlSeconds?: number
  /** How long a proof may wait for its transaction to become visible. */
  readonly waitSeconds?: number
  /** How long a delivery is held for a process that may have died. */
  readonly leaseSeconds?: number
  /**
   * The price from which a payment must be finalized before it is accepted, in units of `token`; 0 for all. By default
   * the worth of 1 USDC, and 0 for a token without a rate.
   */
  readonly finalizedFrom?: number | string
  /** The most that may be accepted and not finalized, in units of `token`, beyond which payments must be finalized. */
  readonly maxUnfinalized?: number | string | { readonly recipient?: number | string; readonly payer?: number | string }
  /** False does not read payments ahead of their proofs, nor those that never bring one. */
  readonly watch?: boolean
  /** How many proxies stand in front and add the client's address to `X-Forwarded-For`. */
  readonly trustProxy?: number
  /** What is sold, for the person who reads the challenge. */
  readonly description?: string
  /** Puts SPEC.md's access-granted shape around JSON answers. */
  readonly envelope?: Envelope
  /** False leaves cross-origin headers and preflights to the application. */
  readonly cors?: boolean
  /** Former recipients and scopes whose payments may still be claimed. */
  readonly retired?: { readonly recipients?: readonly string[]; readonly scopes?: readonly string[] }
  /** Hears what happens. What it throws is logged and breaks no sale. */
  readonly onEvent?: (event: PaywallEvent) => void
  readonly log?: Log
}

export type MintOption =
  | string
  | {
      readonly address: string
      readonly decimals?: number
      readonly tokenProgram?: string
      /** What the mint may have although it can cost you payments, or mislead about amounts. */
      readonly allow?: readonly DoubtfulTrait[]
    }

export type AccountKey =
  | string
  | ArrayLike<number>
  | { readonly address: string }
  | { readonly publicKey: { toBytes(): Uint8Array }; readonly secretKey: Uint8Array }
