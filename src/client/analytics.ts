/** `getAnalytics`: the summary of a service's revenue, for its owner. Signs in with the wallet if the service requires it. */

import { isFields } from '../core/encoding/fields.ts'
import { parseUrl } from '../core/encoding/url.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import { nearest } from '../core/errors/suggest.ts'
import type { TokenCode } from '../core/money/tokens.ts'
import type { Clock } from '../core/runtime.ts'
import { readJson, readRefusal } from './read-json.ts'
import { type SignedIn, signInWith } from './sign-in.ts'
import type { WalletSource } from './wallet.ts'

export interface AnalyticsOptions {
  /** The service. Default: `PAYSTILE_URL`. */
  readonly url?: string | URL
  /** The owner's wallet. Default: the agent's wallet, as `initAgentWallet()` finds it. */
  readonly wallet?: WalletSource
  /** The period: RFC 3339, a day, or a `Date`. It is extended to whole hours. */
  readonly from?: string | Date
  readonly to?: string | Date
  readonly signal?: AbortSignal
}

/** The summary of a service's revenue. Amounts are decimal text. */
export interface AnalyticsSummary {
  /** Earnings less refunds in the period. Can be negative. */
  readonly totalRevenue: string
  readonly gross: string
  readonly refunded: string
  /** Received amounts less refunds, in each token. */
  readonly currencyBreakdown: Readonly<Record<TokenCode, string>>
  readonly topEndpoints: readonly {
    readonly path: string
    readonly calls: number
    readonly payments: number
    readonly revenue: string
    readonly gross: string
    readonly refunded: string
  }[]
  readonly revenueToken: TokenCode
  readonly payments: number
  /** Payments without a rate. They are not part of the revenue. */
  readonly unvalued: number
  /** The extended period. Null if it is open. */
  readonly from: string | null
  readonly to: string | null
  readonly funnel: { readonly challenged: number; readonly paid: number; readonly delivered: number }
  readonly pending: number
  readonly unclaimed: number
}

/** The analytics are not available. The message states the reason and the action to take. */
export class AnalyticsError extends PaystileError {
  override readonly name = 'AnalyticsError'
  /** The service's error code, if it refused. */
  readonly refusal: string | undefined
  constructor(message: string, refusal?: string) {
    super('analytics_failed', message)
    this.refusal = refusal
  }
}

export interface AnalyticsParts {
  readonly clock: Clock
  /** The default address. */
  readonly usualUrl: () => string | undefined
  /** The default wallet. */
  readonly usualWallet: (() => Promise<WalletSource>) | undefined
}

export type GetAnalytics = (options?: AnalyticsOptions) => Promise<AnalyticsSummary>

const patienceMs = 10_000
/** A session that expires sooner is not used. */
const marginMs = 60_000

export function createGetAnalytics({ clock, usualUrl, usualWallet }: AnalyticsParts): GetAnalytics {
  const sessions = new Map<string, SignedIn>()

  return async (options = {}) => {
    checkNames(options)
    const given = options.url ?? usualUrl()
    const service = given === undefined ? undefined : parseUrl(String(given))
    if (!service) throw new AnalyticsError('No service is configured. Set url, or PAYSTILE_URL.')
    const address = summaryAddress(service, options)
    const isKeyless = options.wallet === undefined
    // Only the default wallet's session is reused. The sessions of other wallets are not shared.
    const known = isKeyless ? sessions.get(service.origin) : undefined
    const session = known && known.expiresAt - clock.now() > marginMs ? known : undefined
    const first = await ask(address, session, options.signal)
    if (first.kind === 'summary') return first.summary
    if (first.status !== 401) throw refused(service, first)
    const wallet = options.wallet ?? (await usualWallet?.())
    if (wallet === undefined) throw new AnalyticsError("The service requires a sign-in. Pass the owner's wallet.")
    const signedIn = await signInWith(wallet, service)
    if (isKeyless) sessions.set(service.origin, signedIn)
    const second = await ask(address, signedIn, options.signal)
    if (second.kind === 'summary') return second.summary
    throw refused(service, second)
  }
}

const optionNames = ['url', 'wallet', 'from', 'to', 'signal'] as const satisfies readonly (keyof AnalyticsOptions)[]

/** Without this check, a misspelt period would return the data of all time. */
function checkNames(options: AnalyticsOptions): void {
  const unknown = Object.keys(options).find((name) => !optionNames.some((known) => known === name))
  if (unknown === undefined) return
  const guess = nearest(unknown, optionNames) ?? optionNames.join(', ')
  throw new AnalyticsError(`${unknown} is not an option of getAnalytics; did you mean ${guess}?`)
}

function summaryAddress(service: URL, { from, to }: AnalyticsOptions): URL {
  const address = new URL('/api/analytics', service)
  for (const [name, value] of Object.entries({ from, to })) {
    if (value instanceof Date && Number.isNaN(value.getTime())) throw new AnalyticsError(`${name} is not a valid Date.`)
    if (value !== undefined) address.searchParams.set(name, value instanceof Date ? value.toISOString() : value)
  }
  return address
}

type Asked =
  | { readonly kind: 'summary'; readonly summary: AnalyticsSummary }
  | { readonly kind: 'refused'; readonly status: number; readonly body: unknown }

async function ask(address: URL, session: SignedIn | undefined, signal: AbortSignal | undefined): Promise<Asked> {
  const timeout = AbortSignal.timeout(patienceMs)
  let response: Response
  try {
    response = await fetch(address, {
      headers: { Accept: 'application/json', ...(session && { Authorization: `Bearer ${session.token}` }) },
      // A session must not be sent to the target of a redirect.
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
  } catch {
    signal?.throwIfAborted()
    throw new AnalyticsError(`The service at ${address.host} cannot be reached. Check the address and try again.`)
  }
  const body = await readJson(response, patienceMs)
  await response.body?.cancel()
  if (response.ok && isSummary(body)) return { kind: 'summary', summary: body }
  return { kind: 'refused', status: response.status, body }
}

function isSummary(body: unknown): body is AnalyticsSummary {
  if (!isFields(body)) return false
  const { totalRevenue, currencyBreakdown, topEndpoints } = body
  return typeof totalRevenue === 'string' && isFields(currencyBreakdown) && Array.isArray(topEndpoints)
}

function refused(service: URL, { status, body }: Extract<Asked, { kind: 'refused' }>): AnalyticsError {
  const { code, detail = code } = readRefusal(body)
  if (code === undefined)
    return new AnalyticsError(
      `${service.host} is not a paystile service with analytics (status ${status}). Check the address.`,
    )
  return new AnalyticsError(`The service refused. ${detail}`, code)
}
