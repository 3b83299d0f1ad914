/** `GET /api/status`: everything that needs the operator's attention now. */
import { formatUnits, parseUnits } from '../../core/money/money.ts'
import { findMint, solDecimals } from '../../core/money/tokens.ts'
import type { Books } from '../../core/ports/reports.ts'
import type { SettlementView } from '../rewards/settlement.ts'
import type { SponsorParts } from '../rewards/sponsor.ts'
import type { RewardsParts } from '../rewards/view.ts'

export const alertKinds = [
  ...(['ledger_unavailable', 'clock_wrong', 'not_selling', 'resource_unavailable', 'token_withheld'] as const),
  ...(['payouts_paused', 'payouts_low', 'sponsor_low', 'not_converted'] as const),
] as const

export interface StatusAlert {
  readonly kind: (typeof alertKinds)[number]
  /** One sentence, or the token. */
  readonly detail: string
}

/** The state of the sales of this process. */
export interface SalesState {
  readonly faults: readonly { readonly code: string; readonly reason: string; readonly routes?: readonly string[] }[]
  readonly withheld: Readonly<Record<string, string | undefined>>
}

export interface StatusParts {
  readonly sales: () => Promise<SalesState>
  readonly books: Pick<Books, 'countProblems'>
  readonly rewards: RewardsParts
  readonly settlement: SettlementView
  readonly sponsor: SponsorParts
}

const mostCounted = 1_000

export async function readStatus(parts: StatusParts) {
  const [{ faults, withheld }, problems, money] = await Promise.all([
    parts.sales(),
    parts.books.countProblems(mostCounted),
    readMoney(parts),
  ])
  const sales = faults.map(({ code, reason, routes = [] }) => ({
    kind: code as StatusAlert['kind'],
    detail: routes.length === 0 ? reason : `${routes.join(', ')}: ${reason}`,
  }))
  const tokens = Object.entries(withheld).map(([token, why]) => ({
    kind: 'token_withheld' as const,
    detail: `${token}: ${why}`,
  }))
  return { alerts: [...sales, ...tokens, ...money], problems }
}

async function readMoney({ rewards, settlement, sponsor }: StatusParts): Promise<readonly StatusAlert[]> {
  const [paused, low, wallets] = await Promise.all([rewards.isPaused(), findShortfall(rewards), settlement.wallets()])
  const sponsors = sponsor.listSponsors().filter(({ balance, floor }) => balance !== undefined && balance < floor)
  return [
    ...(paused ? [{ kind: 'payouts_paused' as const, detail: 'Payouts, conversions and refunds wait.' }] : []),
    ...(low === undefined ? [] : [{ kind: 'payouts_low' as const, detail: low }]),
    ...sponsors.map(({ address, balance = 0n, floor }) => ({
      kind: 'sponsor_low' as const,
      detail: `${address} holds ${sol(balance)} SOL and needs ${sol(floor)}.`,
    })),
    ...wallets
      .filter(({ isServed }) => !isServed)
      .map(({ wallet }) => ({ kind: 'not_converted' as const, detail: `No process has the key of ${wallet}.` })),
  ]
}

/** Enough for some thousand fees, or for the rent of a few token accounts. */
const littleLamports = 10_000_000n

async function findShortfall({ config, wallet: readWallet, rewards, outgoing, mints }: RewardsParts) {
  const decimals = findMint('NATIVE', mints())?.decimals
  if (!config?.key || decimals === undefined) return undefined
  const [wallet, sums, open] = await Promise.all([readWallet(), rewards.sums(), outgoing.open()])
  if (!wallet) return undefined
  // Amounts of payouts under way are reserved; those that were sent have left the wallet.
  const unsent = open.filter(({ kind, state }) => kind === 'payout' && state === 'planned')
  const lines = await Promise.all(unsent.map(({ id }) => outgoing.lines(id)))
  const planned = lines.flat().reduce((sum, { units }) => sum + units, 0n)
  const due = sums.reduce((sum, { owed }) => sum + owed, 0n) + planned
  const missing = due - (parseUnits(wallet.native, decimals) ?? 0n)
  if (missing > 0n) return `${wallet.address} needs ${formatUnits(missing, decimals)} NATIVE more.`
  if ((parseUnits(wallet.sol, solDecimals) ?? 0n) < littleLamports) return `${wallet.address} needs SOL for fees.`
  return undefined
}

function sol(lamports: bigint): string {
  return formatUnits(lamports, solDecimals)
}
