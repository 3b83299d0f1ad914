/** The settlement data of the service's own endpoints, from the paywalls of this process. */
import type { SettlementView, SettlementWallet } from '../../api/rewards/settlement.ts'
import { decimalsIn } from '../../core/money/rates.ts'
import { findMint, listTokens } from '../../core/money/tokens.ts'
import { readThreshold } from '../../core/payouts/conversion.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { type Converted, convertedIn, isConvertedElsewhere } from './settlement.ts'

export function createSettlementView(service: Runtime): SettlementView {
  return {
    wallets: async () => {
      const all = await Promise.all((await convertedIn(service)).map((converted) => describeWallet(service, converted)))
      const names = all.map(({ wallet, settlementToken, venue }) => `${wallet} ${settlementToken} ${venue}`)
      return [...new Set(names)].flatMap((name) => mergeWallets(all.filter((_, index) => names[index] === name)))
    },
  }
}

/** Routes with different tokens or thresholds can share a wallet. For each token the lowest threshold counts. */
function mergeWallets(same: readonly SettlementWallet[]): readonly SettlementWallet[] {
  const [first] = same
  if (!first) return []
  const codes = new Set(same.flatMap((wallet) => wallet.tokens.map(({ token }) => token)))
  const tokens = [...codes].flatMap((token) => {
    const lines = same.flatMap((wallet) => wallet.tokens.filter((line) => line.token === token))
    const [least] = lines.toSorted((one, other) => compare(one.threshold, other.threshold))
    return least ? [least] : []
  })
  return [{ ...first, tokens }]
}

function compare(one: bigint | undefined, other: bigint | undefined): number {
  if (one === undefined || other === undefined) return one === other ? 0 : one === undefined ? 1 : -1
  return one < other ? -1 : one > other ? 1 : 0
}

async function describeWallet(service: Runtime, { route, conversion, converter }: Converted) {
  const { recipient: wallet, mints, rates } = route
  const { rules, venue } = conversion
  const tokens = listTokens(mints).filter((token) => rules.tokens.includes(token))
  const minted = tokens.flatMap((token) => findMint(token, mints) ?? [])
  const holdings = await converter?.outgoingWallet.holdings(minted)
  const scene = { rates: service.openRates(rates, mints).current(), decimals: decimalsIn(mints) }
  return {
    wallet,
    settlementToken: rules.settlementToken,
    venue: venue?.kind,
    isServed: converter !== undefined || (await isConvertedElsewhere(service, wallet)),
    slippageBps: rules.slippageBps,
    tokens: tokens.map((token) => {
      const mint = findMint(token, mints)
      const place = mint ? minted.indexOf(mint) : -1
      return {
        token,
        balance: token === 'SOL' ? holdings?.lamports : holdings?.units[place],
        kept: rules.keeps[token] ?? 0n,
        threshold: readThreshold(rules, token, scene),
      }
    }),
  }
}
