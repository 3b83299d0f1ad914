/** What the one may say who mounts the service's own addresses: which service, and who may read. */
import { z } from 'zod'
import { isHttpUrl } from '../core/encoding/http.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import type { MintTable } from '../core/money/tokens.ts'
import type { Log } from '../core/runtime.ts'
import type { Webhook } from '../core/service/webhooks.ts'
import type { Environment, ServiceConfig } from '../paywall/config/config.ts'
import { checkService, openKeyring, readServiceConfig, withEnvironment } from '../paywall/config/config.ts'
import { accountKeyOption, address, readMints } from '../paywall/config/mints.ts'
import type { AccountKey, ProviderOptions } from '../paywall/config/options.ts'
import type { RatesConfig } from '../paywall/config/rates.ts'
import { readRatesOption } from '../paywall/config/rates.ts'
import { describe, explain, schema, wholeSeconds } from '../paywall/config/schema.ts'
import type { WebhookOption } from './public/webhooks.ts'
import { readWebhooksOption } from './public/webhooks.ts'
import type { RewardsConfig, RewardsOption } from './rewards/option.ts'
import { readRewardsOption } from './rewards/option.ts'

/** Those that name the service must be as at its paywalls: then both share one, and one ledger. */
export interface RoutesOptions
  extends Pick<
    ProviderOptions,
    | 'network'
    | 'rpc'
    | 'ledger'
    | 'secret'
    | 'service'
    | 'watch'
    | 'reportToken'
    | 'mints'
    | 'rates'
    | 'publicUrl'
    | 'trustProxy'
    | 'log'
  > {
  /** Wallets that may read analytics when they have signed in. Default: the recipients of what is sold. */
  readonly owners?: readonly string[]
  /** `open` shows metrics to everybody. By default they are for owners, and for programs at the machine itself. */
  readonly metrics?: 'owners' | 'open'
  /** Origins under which the service is reached besides `publicUrl`, for signing in there. */
  readonly origins?: readonly string[]
  /** How long a sign-in lasts. Default: 12 hours. */
  readonly sessionSeconds?: number
  /** How long a link for a spreadsheet is valid. Default: 7 days. */
  readonly linkTtlSeconds?: number
  /** The spreadsheet that `POST /api/analytics/export?format=sheets` writes. */
  readonly sheets?: SheetsOption
  /** Who is told of payments. Without it, `PAYSTILE_WEBHOOK_URL`. */
  readonly webhooks?: readonly WebhookOption[]
  /** On test networks: the key that owns the test tokens, from which `/faucet` gives. A localnet needs none. */
  readonly faucetKey?: AccountKey
  /** Who is owed what of payments, and how that is paid. Without it nobody is. */
  readonly rewards?: RewardsOption
  /** The key that sends refunds: that of the recipient's wallet, or of any other with money. `PAYSTILE_REFUND_KEY` too. */
  readonly refundKey?: AccountKey
}

/** A range of a Google spreadsheet, and the service account that may write it. */
export interface SheetsOption {
  readonly credentialsFile?: string
  readonly credentials?: { readonly client_email: string; readonly private_key: string }
  readonly spreadsheetId: string
  readonly range: string
}

export interface RoutesConfig {
  readonly service: ServiceConfig
  readonly mints: MintTable
  readonly publicUrl: string | undefined
  readonly trustProxy: number
  readonly owners: readonly string[] | undefined
  readonly hasOpenMetrics: boolean
  readonly origins: readonly string[]
  readonly sessionSeconds: number | undefined
  readonly linkTtlSeconds: number | undefined
  readonly sheets: SheetsOption | undefined
  readonly webhooks: readonly Webhook[]
  readonly faucetKey: AccountKey | undefined
  readonly rates: RatesConfig
  readonly rewards: RewardsConfig | undefined
  readonly refundKey: AccountKey | undefined
  readonly log: Log | undefined
}

const routesSchema = schema
  .pick({
    network: true,
    rpc: true,
    ledger: true,
    secret: true,
    service: true,
    watch: true,
    reportToken: true,
    mints: true,
    rates: true,
    publicUrl: true,
    trustProxy: true,
    log: true,
  })
  .extend({
    owners: z.array(address, { error: 'must be a list of wallet addresses' }).min(1, 'must name a wallet').optional(),
    metrics: z.enum(['owners', 'open']).default('owners'),
    origins: z
      .array(z.string().refine(isOrigin, 'must be an origin such as https://api.example.com'), {
        error: 'must be a list of origins',
      })
      .default([]),
    sessionSeconds: wholeSeconds(60, 30 * 86_400).optional(),
    linkTtlSeconds: wholeSeconds(60, 366 * 86_400).optional(),
    faucetKey: accountKeyOption,
    refundKey: accountKeyOption,
    // Read by who opens it.
    sheets: z
      .custom<SheetsOption>(
        (value) => typeof value === 'object' && value !== null,
        'must be { spreadsheetId, range, … }',
      )
      .optional(),
    // Read where its secrets are known for what they are.
    webhooks: z.unknown().optional(),
    // Read where its shares are added up.
    rewards: z.unknown().optional(),
  })
export const routesOptionNames: readonly string[] = Object.keys(routesSchema.shape)
const fromEnvironment = ['network', 'rpc', 'ledger', 'secret', 'service', 'publicUrl', 'faucetKey', 'refundKey']

function isOrigin(text: string): boolean {
  return isHttpUrl(text) && new URL(text).origin === text
}

export function readRoutesConfig(options: RoutesOptions, environment: Environment): RoutesConfig {
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(['the options must be an object such as { network, ledger }'])
  const { given, locate } = withEnvironment(options, environment, fromEnvironment)
  const reading = routesSchema.safeParse(given, { reportInput: true, error: describe })
  if (!reading.success) {
    const known = Object.keys(routesSchema.shape)
    throw new ConfigurationError(reading.error.issues.flatMap((issue) => explain(issue, known)).map(locate))
  }
  const read = reading.data
  const problems: string[] = []
  const { mints } = readMints(read.network, read.mints, problems)
  const keyring = read.secret === undefined ? undefined : openKeyring(read.secret, problems)
  checkService(read, problems)
  const webhooks = readWebhooksOption(read.webhooks, read.network, environment, problems)
  if (read.faucetKey !== undefined && read.network === 'mainnet')
    problems.push('faucetKey: there is no faucet on mainnet; leave it out')
  const rates = readRatesOption(read.rates, read.network, problems)
  const rewards = readRewardsOption(read.rewards, { mints, owners: read.owners ?? [], environment }, problems)
  if (problems.length > 0) throw new ConfigurationError(problems.map(locate))
  return Object.freeze({
    service: readServiceConfig(read, keyring),
    mints,
    rates,
    rewards,
    publicUrl: read.publicUrl?.replace(/\/$/, ''),
    trustProxy: read.trustProxy,
    owners: read.owners,
    hasOpenMetrics: read.metrics === 'open',
    origins: read.origins,
    sessionSeconds: read.sessionSeconds,
    linkTtlSeconds: read.linkTtlSeconds,
    sheets: read.sheets,
    webhooks,
    faucetKey: read.faucetKey,
    refundKey: read.refundKey,
    log: read.log,
  })
}
