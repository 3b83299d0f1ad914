/** Checks that received tokens can be converted: the key is right, and the venue responds and quotes fairly. */
import { readFunds } from '../../chain/accounts/balances.ts'
import type { Rpc } from '../../chain/rpc/rpc.ts'
import { shareRates } from '../../compose/rates.ts'
import { nameConversionWorker } from '../../compose/settlement/settlement.ts'
import { createVenue } from '../../compose/settlement/venue.ts'
import { decimalsIn, fairUnits, type RateTable } from '../../core/money/rates.ts'
import { type ByToken, findMint, listTokens, type MintTable, type TokenCode } from '../../core/money/tokens.ts'
import { judgeQuote, readThreshold } from '../../core/payouts/conversion.ts'
import type { Venue } from '../../core/payouts/venue.ts'
import { createWallClock } from '../../host/clock.ts'
import type { HttpTransport } from '../../host/net/transport.ts'
import type { RouteConfig } from '../../paywall/config/config.ts'
import type { ConversionConfig } from '../../paywall/config/conversion.ts'
import { watchOnly } from '../watch-only.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { NetworkFacts } from './nodes.ts'
import { readAddress } from './payouts.ts'
import { silent } from './rates.ts'

/** Routes with equal conversion are checked once. */
export async function checkSettlement(
  routes: readonly RouteConfig[],
  context: NetworkFacts,
  http: HttpTransport,
): Promise<readonly Finding[]> {
  const converting = new Map(
    routes.flatMap((route) =>
      route.conversion ? [[nameConversionWorker(route, route.conversion), route] as const] : [],
    ),
  )
  const findings = await Promise.all(
    [...converting.values()].map(async (route) => {
      const { conversion } = route
      if (!conversion) return []
      return [...checkKey(route, conversion), ...(await checkVenue(route, conversion, context, http))]
    }),
  )
  return findings.flat()
}

function checkKey({ recipient }: RouteConfig, { key, rules }: ConversionConfig): readonly Finding[] {
  const what = `${rules.tokens.join(' and ')} of ${recipient}`
  if (key === undefined) {
    const next = 'run npx paystile worker on the same ledger with settlementKey or PAYSTILE_SETTLEMENT_KEY'
    return [warn(`${what} is converted by another process, and nothing is sold until it runs`, next)]
  }
  // A key that is not a file is a signer of the program. The secrets check reports an unreadable file.
  const address = typeof key === 'string' ? readAddress(key) : undefined
  if (address === undefined) return []
  if (address === recipient) return [ok(`settlementKey is the key of ${recipient}`)]
  const next = `set settlementKey to the key of ${recipient}, or set recipient: ${address}`
  return [fail(`settlementKey is the key of ${address}, but the payments belong to ${recipient}`, next)]
}

async function checkVenue(
  { recipient, mints, rates }: RouteConfig,
  { rules, venue }: ConversionConfig,
  { rpc, genesis }: NetworkFacts,
  { get, post }: HttpTransport,
): Promise<readonly Finding[]> {
  if (!venue) return []
  // The request to a desk names its chain. A chain inside the service's process has no desk.
  if (!rpc || genesis === undefined) {
    const next = 'run npx paystile localnet, set its address as rpc, and start npx paystile desk'
    return [warn('the venue was not checked, because the chain is unknown', next)]
  }
  const clock = createWallClock()
  // The request names the recipient, because a desk may know its customers.
  const wallet = watchOnly(recipient)
  const place = createVenue(venue, { rpc, genesis, wallet, get, post, clock })
  const shared = shareRates({ get, clock, log: silent })
  try {
    const feed = shared.open(rates, mints)
    await feed.ready()
    // The path of the address can contain a key.
    const at = venue.url === undefined ? '' : ` at ${new URL(venue.url).origin}`
    const name = venue.kind === 'rfq' ? `the desk${at}` : `Jupiter${at}`
    const held = await readHoldings(rpc, recipient, mints)
    const order = { place, name, rules, mints, rates: feed.current(), held }
    return await Promise.all(rules.tokens.map((token) => askFor(token, order)))
  } finally {
    await shared.stop()
  }
}

type Held = ByToken<bigint>

interface Order extends Pick<RouteConfig, 'mints'>, Pick<ConversionConfig, 'rules'> {
  readonly place: Venue
  readonly name: string
  readonly rates: RateTable
  readonly held: Held
}

async function readHoldings(rpc: Rpc, wallet: string, mints: MintTable): Promise<Held> {
  const known = listTokens(mints).flatMap((token) => {
    const mint = findMint(token, mints)
    return mint ? [{ token, mint }] : []
  })
  const funds = await readFunds(rpc, { wallet, recipient: wallet, mints: known.map(({ mint }) => mint) })
  if (funds.kind === 'unavailable') return {}
  const tokens = known.map(({ token }, index) => [token, funds.tokens[index]?.units ?? 0n] as const)
  return { SOL: funds.lamports, ...Object.fromEntries(tokens) }
}

/**
 * Asks for the amount of the first conversion, or for the balance if that is less: a desk only quotes amounts that the
 * wallet holds.
 */
async function askFor(token: TokenCode, { place, name, rules, mints, rates, held }: Order): Promise<Finding> {
  const into = rules.settlementToken
  const scene = { rates, decimals: decimalsIn(mints) }
  const threshold = readThreshold(rules, token, scene)
  const spare = (held[token] ?? 0n) - (rules.keeps[token] ?? 0n)
  const units = threshold !== undefined && spare > 0n && spare < threshold ? spare : threshold
  const fair = units === undefined ? undefined : fairUnits({ token, units }, into, scene)
  if (units === undefined || fair === undefined) {
    const next = `add ${token} and ${into} to rates`
    return warn(`${token} is not converted into ${into}, because a rate is missing`, next)
  }
  const { slippageBps } = rules
  const quoting = await place.quote({ sell: findMint(token, mints), buy: findMint(into, mints), units, slippageBps })
  if (quoting.kind === 'unavailable')
    return fail(`${name} does not respond for ${token} (${quoting.why})`, 'start it, or correct venue.url')
  if (quoting.kind === 'refused' && spare <= 0n && quoting.code === 'taker_balance')
    return ok(`${name} responds, and quotes ${token} for ${into} once the wallet holds some`)
  if (quoting.kind === 'refused')
    return warn(`${name} does not exchange ${token} for ${into}: ${quoting.why}`, 'set another venue')
  const judged = judgeQuote(quoting.quote, fair, rules)
  if (judged.kind === 'fair') return ok(`${name} exchanges ${token} for ${into} at an acceptable price`)
  const next = 'set another venue, correct rates, or raise venue.maxDeviationBps'
  return warn(`the quote of ${name} for ${token} is refused: ${judged.why}`, next)
}
