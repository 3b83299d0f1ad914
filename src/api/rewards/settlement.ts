/** `GET /api/settlement`: the conversion of payments into the settlement token, formatted for people. */
import { formatUnits } from '../../core/money/money.ts'
import { findDecimals, type TokenCode } from '../../core/money/tokens.ts'
import { parseConversion } from '../../core/payouts/conversion.ts'
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import { cutPage } from '../http/paging.ts'
import { formatHead, type OutgoingTransactionsQuery, type RewardsParts, writeMark } from './view.ts'

/** The settlement as this process knows it. */
export interface SettlementView {
  /** Wallets with payments to convert; empty without settlement. */
  readonly wallets: () => Promise<readonly SettlementWallet[]>
}

export interface SettlementWallet {
  readonly wallet: string
  readonly settlementToken: TokenCode
  /** The venue; undefined if another process converts. */
  readonly venue: string | undefined
  /** Whether a worker converts: in this process, or in another that reported recently. */
  readonly isServed: boolean
  /** The accepted shortfall against the quote, in hundredths of a percent. */
  readonly slippageBps: number
  readonly tokens: readonly SettlementToken[]
}

/** A token to convert, in its base units. */
export interface SettlementToken {
  readonly token: TokenCode
  /** Undefined if no node reports it. */
  readonly balance: bigint | undefined
  /** The reserve that stays in the wallet. */
  readonly kept: bigint
  /** The amount beyond the reserve that triggers a conversion; undefined while the default has no rate. */
  readonly threshold: bigint | undefined
}

export const noSettlement: SettlementView = { wallets: async () => [] }

export interface SettlementParts extends Pick<RewardsParts, 'outgoing' | 'mints' | 'isPaused'> {
  readonly settlement: SettlementView
}

export async function readSettlement(parts: SettlementParts, { cursor, limit }: OutgoingTransactionsQuery) {
  const [wallets, paused, found] = await Promise.all([
    parts.settlement.wallets(),
    parts.isPaused(),
    parts.outgoing.list({ kind: 'conversion', most: limit + 1, ...(cursor && { after: cursor }) }),
  ])
  const { shown, last } = cutPage(found, limit)
  return {
    isOn: wallets.length > 0,
    paused,
    wallets: wallets.map((wallet) => formatWallet(parts, wallet)),
    conversions: shown.flatMap((transaction) => formatConversion(parts, transaction) ?? []),
    next: last ? writeMark(last) : null,
  }
}

function formatWallet(parts: SettlementParts, { slippageBps, tokens, venue, ...rest }: SettlementWallet) {
  return {
    ...rest,
    venue: venue ?? null,
    slippage: formatUnits(BigInt(slippageBps), 2),
    tokens: tokens.map(({ token, balance, kept, threshold }) => {
      const amount = createFormatter(parts, token)
      return { token, balance: amount(balance), kept: amount(kept) ?? '', threshold: amount(threshold) }
    }),
  }
}

function formatConversion(parts: SettlementParts, transaction: OutgoingTransaction) {
  const about = parseConversion(transaction.about)
  if (!about) return undefined
  const { wallet, sell, buy, venue, units, quoted, minimum, sold, received } = about
  const [selling, buying] = [createFormatter(parts, sell), createFormatter(parts, buy)]
  return {
    ...formatHead(transaction),
    wallet,
    venue,
    sell,
    buy,
    amount: selling(units) ?? '',
    quoted: buying(quoted) ?? '',
    minimum: buying(minimum) ?? '',
    sold: selling(sold),
    received: buying(received),
  }
}

/** Null for an unknown amount. */
function createFormatter({ mints }: SettlementParts, token: TokenCode): (units: bigint | undefined) => string | null {
  const decimals = findDecimals(token, mints())
  return (units) => (units === undefined || decimals === undefined ? null : formatUnits(units, decimals))
}
