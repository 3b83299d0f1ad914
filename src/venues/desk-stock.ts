/**
 * Reads the balances of a desk and its customers from the nodes, so that the desk never promises tokens that it lacks.
 */
import { readFunds } from '../chain/accounts/balances.ts'
import { readGenesis } from '../chain/rpc/genesis.ts'
import { readNumber } from '../chain/rpc/results.ts'
import type { Rpc } from '../chain/rpc/rpc.ts'
import type { ExchangeTerms } from '../chain/wallets/rfq-swap.ts'
import type { VenueRefusalCode } from '../core/payouts/venue.ts'

export interface StockParts {
  readonly rpc: Rpc
  readonly genesis: string
}

/** Reserved at the desk, so that its wallet continues to exist, and at the taker for the fee and a new account. */
const lamportsKept = 10_000_000n

export type StockReading =
  | { readonly kind: 'stock'; readonly units: bigint }
  | { readonly kind: 'short'; readonly why: string; readonly code?: VenueRefusalCode }
  | { readonly kind: 'unavailable'; readonly why: string }

export interface Stock {
  /** Whether the taker can pay, and the desk's balance of the token that it gives. */
  look(terms: ExchangeTerms): Promise<StockReading>
  /** Whether at least one node answers and every node that answers is on the desk's chain. */
  isOurChain(): Promise<boolean>
  /** The finalized block height. Undefined if no node answers. */
  height(): Promise<number | undefined>
}

export function createStock({ rpc, genesis }: StockParts): Stock {
  return {
    look: async ({ taker, desk, sell, buy }) => {
      const mints = [sell.mint, buy.mint].flatMap((mint) => mint ?? [])
      const [theirs, ours] = await Promise.all([
        readFunds(rpc, { wallet: taker, recipient: desk, mints }),
        readFunds(rpc, { wallet: desk, recipient: taker, mints }),
      ])
      if (theirs.kind === 'unavailable') return theirs
      if (ours.kind === 'unavailable') return ours
      const [given] = theirs.tokens
      const held = sell.mint ? (given?.units ?? 0n) : theirs.lamports - lamportsKept
      if (held < sell.units) return { kind: 'short', why: "the taker's balance is too low", code: 'taker_balance' }
      if (sell.mint && !given?.recipientReady)
        return { kind: 'short', why: 'the desk has no account for the sold token' }
      return { kind: 'stock', units: buy.mint ? (ours.tokens.at(-1)?.units ?? 0n) : ours.lamports - lamportsKept }
    },
    isOurChain: async () => {
      const named = (await Promise.all(rpc.nodes.map(({ call }) => readGenesis(call)))).filter(Boolean)
      return named.length > 0 && named.every((one) => one === genesis)
    },
    height: () => readNumber(rpc.call, 'getBlockHeight', [{ commitment: 'finalized' }]),
  }
}
