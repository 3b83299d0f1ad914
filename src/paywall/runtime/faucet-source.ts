/** The source of test money on test networks. `api/public/faucet.ts` serves it. */
import type { MintTable } from '../../core/money/tokens.ts'
import type { FaucetOrder } from '../../core/protocol/faucet-order.ts'
import type { AccountKey } from '../config/kinds.ts'

export type Gift =
  | { readonly kind: 'landed'; readonly tx: string }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string; readonly isSent: boolean }

/**
 * Forwards the order to the faucet of a local chain. Undefined if the node belongs to another chain, or does not
 * respond.
 */
export type Forward = (body: string) => Promise<{ readonly status: number; readonly text: string } | undefined>

/** Sends tokens with the faucet's key. Asks the nodes for their chain on every call. */
export type Give = (order: Pick<FaucetOrder, 'units'> & { readonly recipient: string }) => Promise<Gift>

export type FaucetSource =
  | { readonly kind: 'localnet'; readonly forward: Forward }
  | { readonly kind: 'key'; readonly give: Give }

/** The options that a faucet needs. */
export interface FaucetOptions {
  readonly mints: MintTable
  /** The key that owns the mints: the path of a key file, 64 secret bytes, or a wallet. A localnet needs none. */
  readonly faucetKey: AccountKey | undefined
}
