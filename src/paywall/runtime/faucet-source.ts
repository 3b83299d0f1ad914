/** Where test money comes from, on test networks. `api/public/faucet.ts` asks it for what people ask for. */
import type { MintTable } from '../../core/money/tokens.ts'
import type { FaucetOrder } from '../../core/service/faucet-order.ts'
import type { AccountKey } from '../config/kinds.ts'

export type Gift =
  | { readonly kind: 'landed'; readonly tx: string }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string; readonly isSent: boolean }

/** Has the faucet of a local chain answer. Undefined where the node is of another chain, or does not answer. */
export type Forward = (body: string) => Promise<{ readonly status: number; readonly text: string } | undefined>

/** Gives by a key. Has to ask the nodes for their chain with every call. */
export type Give = (order: Pick<FaucetOrder, 'units'> & { readonly recipient: string }) => Promise<Gift>

export type FaucetSource =
  | { readonly kind: 'localnet'; readonly forward: Forward }
  | { readonly kind: 'key'; readonly give: Give }

/** What whoever offers a faucet has to say. */
export interface FaucetOptions {
  readonly mints: MintTable
  /** The key that owns the mints: the path of a key file, 64 secret bytes, or a wallet. A localnet needs none. */
  readonly faucetKey: AccountKey | undefined
}
