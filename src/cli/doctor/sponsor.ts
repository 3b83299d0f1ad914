/** Checks the wallet that pays network fees for x402 and MPP clients, and the prices that these clients refuse. */
import { readFunds } from '../../chain/accounts/balances.ts'
import type { Rpc } from '../../chain/rpc/rpc.ts'
import { shareRates } from '../../compose/rates.ts'
import { formatUnits } from '../../core/money/money.ts'
import { convert } from '../../core/money/rates.ts'
import { solDecimals } from '../../core/money/tokens.ts'
import { isOneRequest } from '../../core/payment/allowance.ts'
import type { SponsoredSums } from '../../core/ports/sponsor.ts'
import type { Get } from '../../core/runtime.ts'
import { createWallClock } from '../../host/clock.ts'
import type { RouteConfig } from '../../paywall/config/config.ts'
import { type SponsorConfig, usualFee } from '../../paywall/config/sponsor.ts'
import { type Finding, ok, warn } from './finding.ts'
import { readAddress } from './payouts.ts'
import { silent } from './rates.ts'
import type { Subject, SubjectRoute } from './subject.ts'

interface SponsorFacts {
  readonly rpc: Rpc | undefined
  /** Undefined if the ledger is new or cannot be read. */
  readonly sponsored: SponsoredSums | undefined
}

/** Routes with the same key are checked once. */
export async function checkSponsor(
  { routes, own }: Pick<Subject, 'routes' | 'own'>,
  facts: SponsorFacts,
  get: Get,
): Promise<readonly Finding[]> {
  const sponsored = routes.filter(({ config }) => config.route.sponsor)
  const all = [own?.facilitator?.sponsor, ...sponsored.map(({ config: { route } }) => route.sponsor)]
  const sponsors = new Map(all.flatMap((one) => (one ? [[one.key, one] as const] : [])))
  const stops = [...(sponsored.length > 0 ? ['offered'] : []), ...(own?.facilitator ? ['settled'] : [])]
  const isStopped = `x402 is ${stops.length > 1 ? 'neither offered nor settled' : `not ${stops[0]}`}`
  const findings = await Promise.all([...sponsors.values()].map((one) => checkWallet(one, isStopped, facts)))
  return [...findings.flat(), ...(await checkPrices(sponsored, get))]
}

async function checkWallet(
  sponsor: SponsorConfig,
  isStopped: string,
  { rpc, sponsored }: SponsorFacts,
): Promise<readonly Finding[]> {
  const { key, floor } = sponsor
  if (key === undefined) return [ok('the service creates a wallet on localnet and funds it')]
  // A key that is not a file is a signer of the program. The secrets check reports an unreadable file.
  const wallet = typeof key === 'string' ? readAddress(key) : undefined
  if (wallet === undefined || !rpc) return []
  const limits = sponsored ? checkLimits(sponsor, sponsored) : []
  const funds = await readFunds(rpc, { wallet, recipient: wallet, mints: [] })
  if (funds.kind === 'unavailable')
    return [warn(`the balance of ${wallet} cannot be read (${funds.why})`, 'check rpc'), ...limits]
  const held = `${wallet} holds ${formatSol(funds.lamports)}`
  if (funds.lamports < floor) {
    const finding = `${held}, less than the floor of ${formatSol(floor)}, so ${isStopped}`
    return [warn(finding, `send SOL to ${wallet}, or lower sponsor.floor`), ...limits]
  }
  const payments = (funds.lamports - floor) / usualFee
  return [ok(`${held}: about ${payments} payments until the floor of ${formatSol(floor)}`), ...limits]
}

/** A limit is reported from four fifths on, so that there is time to raise it. */
function checkLimits({ limits }: SponsorConfig, { spent, lost, open }: SponsoredSums): readonly Finding[] {
  const underway = open > 0n ? `, and ${formatSol(open)} are under way` : ''
  const paid = `fees of ${formatSol(spent)} were paid within 24 hours (perDay: ${formatSol(limits.perDay)})`
  const failed = `${formatSol(lost)} were lost to failed transactions (lostPerDay: ${formatSol(limits.lostPerDay)})`
  const findings: Finding[] = []
  if (isNear(spent + open, limits.perDay)) findings.push(warn(`${paid}${underway}`, 'raise sponsor.perDay'))
  if (isNear(lost + open, limits.lostPerDay)) {
    const next = 'search the log for tx_failed; if customers caused them, raise sponsor.lostPerDay'
    findings.push(warn(`${failed} within 24 hours${underway}`, next))
  }
  return findings.length > 0 ? findings : [ok(`${paid}; ${failed}`)]
}

function isNear(sum: bigint, limit: bigint): boolean {
  return sum * 5n >= limit * 4n
}

function formatSol(lamports: bigint): string {
  return `${formatUnits(lamports, solDecimals)} SOL`
}

/** The highest payment of unmodified clients, in millionths of a dollar. */
const [mostVersion1, mostVersion2] = [100_000n, 1_000_000n]
const dollarDecimals = 6

/** A price that a function computes is unknown here. */
async function checkPrices(routes: readonly SubjectRoute[], get: Get): Promise<readonly Finding[]> {
  const shared = shareRates({ get, clock: createWallClock(), log: silent })
  try {
    const priced = await Promise.all(
      routes.map(async ({ name, config }) => ({ name, dollars: await readDollars(config.route, shared.open) })),
    )
    const above = (least: bigint, most?: bigint) =>
      priced
        .filter(({ dollars = 0n }) => dollars > least && (most === undefined || dollars <= most))
        .map(({ name, dollars = 0n }) => `${name} (${formatUnits(dollars, dollarDecimals)} USD)`)
        .join(', ')
    const [high, middle] = [above(mostVersion2), above(mostVersion1, mostVersion2)]
    return [
      ...(high
        ? [
            warn(
              `unmodified x402 clients pay at most 1 USD, and refuse ${high}`,
              'lower the price, or tell x402 customers to raise spendControls.maxAmountPerPayment',
            ),
          ]
        : []),
      ...(middle ? [ok(`clients of x402 version 1 pay at most 0.1 USD by default, and refuse ${middle}`)] : []),
    ]
  } finally {
    await shared.stop()
  }
}

async function readDollars({ pricing, mints, rates }: RouteConfig, open: ReturnType<typeof shareRates>['open']) {
  const { price, token, decimals, per } = pricing
  if (typeof price !== 'bigint' || per.kind !== 'allowance' || !isOneRequest(per.allowance)) return undefined
  if (token === 'USDC') return (price * 10n ** BigInt(dollarDecimals)) / 10n ** BigInt(decimals)
  const feed = open(rates, mints)
  await feed.ready()
  const dollars = { token: 'USDC', decimals: dollarDecimals } as const
  return convert({ token, units: price, decimals }, dollars, feed.current())
}
