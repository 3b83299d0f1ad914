/** The options of the service's own endpoints. `serviceShape` holds the options that they share with the paywalls. */
import { z } from 'zod'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { isHttpUrl } from '../core/http/http.ts'
import type { Environment } from '../paywall/config/config.ts'
import { checkService, openKeyring, readServiceConfig, withEnvironment, withUsual } from '../paywall/config/config.ts'
import { facilitatorOption, readFacilitator } from '../paywall/config/facilitator.ts'
import type { OptionsInput } from '../paywall/config/kinds.ts'
import { accountKey, address, list, text, wholeSeconds } from '../paywall/config/kinds.ts'
import { checkCode, readMints } from '../paywall/config/mints.ts'
import { formatProblem, parseOptions } from '../paywall/config/problems.ts'
import { readRatesOption } from '../paywall/config/rates.ts'
import {
  type ServiceOptions,
  type SharedOptions,
  serviceShape,
  sharedShape,
} from '../paywall/config/service-options.ts'
import { isOwnPath } from './http/paths.ts'
import { readWebhooks, webhooksOption } from './public/webhooks.ts'
import { readRewards, rewardsOption } from './rewards/option.ts'

const sheetsOption = z.strictObject(
  {
    credentialsFile: text.optional(),
    credentials: z.looseObject({ client_email: text, private_key: text }).optional(),
    spreadsheetId: text,
    range: text,
  },
  { error: 'must be { spreadsheetId, range, … }' },
)
/** A range of a Google spreadsheet, and the service account with write access. */
export type SheetsOption = z.output<typeof sheetsOption>

const notPath = "must be a path such as / or /shop that is none of the service's own endpoints, or false"
const pagePath = text.regex(/^\/(?:[\w.~-]+(?:\/[\w.~-]+)*)?$/, notPath).refine((path) => !isOwnPath(path), notPath)
const frontPageOption = z.union([z.literal(false), pagePath], { error: notPath })

export const apiShape = {
  /**
   * Wallets that may read analytics after they have signed in. They replace the recipients.
   *
   * @defaultValue the recipients of all routes
   * @see [Sign-in](sign-in.md)
   */
  owners: z
    .array(address, { error: 'must be a list of wallet addresses' })
    .min(1, 'must name a wallet')
    .readonly()
    .optional(),
  /**
   * `'open'` publishes `/metrics`. Otherwise only owners and programs on the same machine can read it.
   *
   * @defaultValue `'owners'`
   */
  metrics: z.enum(['owners', 'open']).optional(),
  /** Origins besides `publicUrl` at which wallets may sign in. */
  origins: list(
    z.string().refine(isOrigin, 'must be an origin such as https://api.example.com'),
    'must be a list of origins',
  ).optional(),
  /**
   * How long a sign-in lasts.
   *
   * @defaultValue 12 hours
   */
  sessionSeconds: wholeSeconds(60, 30 * 86_400).optional(),
  /**
   * How long a link to an export is valid.
   *
   * @defaultValue 7 days
   * @see [Exports](exports.md)
   */
  linkTtlSeconds: wholeSeconds(60, 366 * 86_400).optional(),
  /**
   * On test networks: the key of the test tokens that `/faucet` gives. A localnet needs no key.
   *
   * @defaultValue `PAYSTILE_FAUCET_KEY`
   * @see [The faucet](test-mode.md#the-faucet)
   */
  faucetKey: accountKey.optional(),
  /** The spreadsheet of `POST /api/analytics/export?format=sheets`: `credentialsFile` or `credentials`, `spreadsheetId`, `range`. */
  sheets: sheetsOption.optional(),
  /**
   * The path of the page that shows people the items for sale, such as `/`. `false` turns it off.
   *
   * @defaultValue `false`; in the gateway `/`, unless a route gets `GET /`
   * @see [The front page](checkout.md#the-front-page)
   */
  frontPage: frontPageOption.optional(),
  /**
   * Receivers of payment events.
   *
   * @defaultValue `PAYSTILE_WEBHOOK_URL`
   * @see [Webhooks](webhooks.md)
   */
  webhooks: webhooksOption.optional(),
  /**
   * Shares of payments for partners, developers and payers, and how they are paid.
   *
   * @defaultValue none
   * @see [Rewards](rewards.md)
   */
  rewards: rewardsOption.optional(),
  /**
   * The key that sends refunds: the key of the recipient's wallet, or of any other wallet with funds.
   *
   * @defaultValue `PAYSTILE_REFUND_KEY`
   * @see [Rewards and refunds](rewards.md)
   */
  refundKey: accountKey.optional(),
  /**
   * Settles x402 payments for other servers at `/facilitator`: `{ payTo: [addresses] }`. `payTo` lists the wallets that these
   * servers sell for. `sponsor` pays the network fees.
   *
   * @defaultValue off
   * @see [Run a facilitator](tasks/run-a-facilitator.md)
   */
  facilitator: facilitatorOption.optional(),
}

/** The facilitator has the sponsor of the paywalls. */
const routesShape = { ...serviceShape, ...apiShape, sponsor: sharedShape.sponsor }

/** The service options must equal those of the paywalls: then both share one service and one ledger. */
export type RoutesOptions = ServiceOptions & OptionsInput<typeof apiShape> & Pick<SharedOptions, 'sponsor'>

const routesSchema = z.strictObject(routesShape)
export const routesOptionNames: readonly string[] = Object.keys(routesShape)
const fromEnvironment = [
  ...['network', 'rpc', 'ledger', 'secret', 'service', 'publicUrl'],
  ...['faucetKey', 'refundKey', 'sponsor'],
]

function isOrigin(text: string): boolean {
  return isHttpUrl(text) && new URL(text).origin === text
}

export function readRoutesConfig(options: RoutesOptions, environment: Environment) {
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(['the options must be an object such as { network, ledger }'])
  const { given, locate } = withEnvironment(options, environment, fromEnvironment)
  const reading = parseOptions(routesSchema, given)
  if (reading.kind === 'problems') throw new ConfigurationError(reading.problems.map(formatProblem).map(locate))
  const read = withUsual(reading.options)
  const problems: string[] = []
  const { mints } = readMints(read, problems)
  checkCode('reportToken', read.reportToken, mints, problems)
  const keyring = read.secret === undefined ? undefined : openKeyring(read.secret, problems)
  checkService(read, problems)
  const webhooks = readWebhooks(read.webhooks, read.network, environment, problems)
  if (read.faucetKey !== undefined && read.network === 'mainnet')
    problems.push('faucetKey: mainnet has no faucet; remove the option')
  const rates = readRatesOption(read.rates, read.network, mints, problems)
  const rewards = readRewards(read.rewards, { mints, owners: read.owners ?? [], environment }, problems)
  const facilitator = readFacilitator(read.facilitator, read.sponsor, read.network, problems)
  if (problems.length > 0) throw new ConfigurationError(problems.map(locate))
  const { trustProxy, sessionSeconds, linkTtlSeconds, sheets, faucetKey, refundKey, log, seller } = read
  return Object.freeze({
    ...{ trustProxy, sessionSeconds, linkTtlSeconds, sheets, faucetKey, refundKey, log, webhooks, rates, rewards },
    facilitator,
    seller,
    frontPage: read.frontPage === false ? undefined : read.frontPage,
    service: readServiceConfig(read, keyring),
    /** Mints in addition to the known ones and those of the catalog. */
    mints,
    publicUrl: read.publicUrl?.replace(/\/$/, ''),
    /** Wallets with read access. Undefined means the recipients. */
    owners: read.owners,
    /** Whether metrics are public. */
    hasOpenMetrics: read.metrics === 'open',
    origins: read.origins ?? [],
  })
}

export type RoutesConfig = ReturnType<typeof readRoutesConfig>
