/** Connects the service's own endpoints to a service. Paywalls with equal settings share it. */
import { readOutgoing } from '../api/analytics/records.ts'
import { createSignIn } from '../api/auth/sign-in.ts'
import { alive } from '../api/endpoints.ts'
import { createExports } from '../api/exports/routes.ts'
import { answer, problem } from '../api/http/errors.ts'
import { endpoints, formatHome, ownPaths } from '../api/http/paths.ts'
import { type RoutesConfig, type RoutesOptions, readRoutesConfig, type SheetsOption } from '../api/options.ts'
import type { GatewayView, RoutesParts } from '../api/parts.ts'
import { createDashboard, insertBanner } from '../api/public/dashboard.ts'
import { createFaucet } from '../api/public/faucet.ts'
import { createPayRoute } from '../api/public/pay.ts'
import { createDecimals, createRoutes, listOwners, type Routes, readMints } from '../api/router.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { LedgerUnavailable } from '../core/ports/ledger.ts'
import type { SheetsPort } from '../core/ports/sheets.ts'
import type { Log } from '../core/runtime.ts'
import { createWallClock } from '../host/clock.ts'
import { openGoogleSheets } from '../host/net/google-sheets.ts'
import { createHttpTransport } from '../host/net/transport.ts'
import { readPage } from '../host/pages.ts'
import { createFacilitator, type Facilitator } from '../paywall/claim/facilitate.ts'
import type { ServiceHandle } from '../paywall/paywall.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import { type Attached, attach } from './attach.ts'
import { type OpenDevelopers, openDevelopers } from './developers.ts'
import { createPayoutsView, type OpenPayouts, startPayoutWorkers } from './payouts.ts'
import { openHandle, openLog } from './paywall.ts'
import { createSettlementView } from './settlement/view.ts'
import { checkSponsorKey } from './sponsor.ts'
import { createWebhooksView, openWebhooks } from './webhooks.ts'

/**
 * The service's own endpoints without a framework: analytics, verification, health and discovery.
 *
 * @example
 * const routes = openRoutes({ network: 'localnet', ledger: 'payments.sqlite' })
 * const response = await routes.handle(new Request('http://localhost/healthz'), { isLoopback: false })
 */
export function openRoutes(options: RoutesOptions = {}, gateway?: GatewayView): Routes {
  const config = readRoutesConfig(options, process.env)
  checkSponsorKey(config.facilitator?.sponsor)
  const log = openLog(config.log)
  const sheets = config.sheets && openSheets(config.sheets)
  const handle = openHandle(config.service, log)
  const { webhooks, mints } = config
  const telling = openWebhooks({ handle, webhooks, mints, log })
  const paying = attachMoneyOut(handle, config)
  let facilitator: Facilitator | undefined
  const openFacilitator = (service: Runtime): Facilitator | undefined => {
    facilitator ??= createFacilitatorOf(config, service)
    return facilitator
  }
  // The first challenge already links to the page at `/pay`.
  const introduced = attach(handle, (service) => {
    service.publicUrl ??= config.publicUrl
    openFacilitator(service)
    const home = formatHome(config.frontPage, config.publicUrl)
    const withdraw = home === undefined ? undefined : service.addFrontPage(home)
    return withdraw && { stop: async () => withdraw() }
  })
  let opened: Routes | undefined
  let developers: OpenDevelopers | undefined
  const open = (service: Runtime): Routes => {
    developers ??= openDevelopersOf(config, service)
    opened ??= createRoutes({
      ...createParts(config, service, sheets?.port, paying.current),
      developers: developers?.developers,
      facilitator: openFacilitator(service),
      gateway,
    })
    return opened
  }
  return {
    owns: ownPaths(config.frontPage),
    handle: async (request, visitor) => {
      try {
        return await open(await handle.get()).handle(request, visitor)
      } catch (error) {
        return notStarted(request, error, log)
      }
    },
    close: async () => {
      await opened?.close()
      await developers?.close()
      await sheets?.close()
      await introduced.stop()
      await telling.stop()
      await paying.stop()
      await handle.release()
    },
  }
}

/** Only hosts in the rules can be verified, so that clients cannot make the service send requests to other hosts. */
function openDevelopersOf(config: RoutesConfig, service: Runtime): OpenDevelopers | undefined {
  const { rewards, publicUrl, origins, trustProxy } = config
  if (!rewards || rewards.rules.developerBps === 0) return undefined
  const hosts = [...new Set(rewards.rules.hosts.map(({ host }) => host))]
  return openDevelopers(service, { hosts: () => hosts, publicUrl, origins, trustProxy })
}

function createFacilitatorOf(config: RoutesConfig, service: Runtime): Facilitator | undefined {
  if (!config.facilitator) return undefined
  const mints = () => readMints(service, config.mints)
  const rates = service.openRates(config.rates, mints())
  const facilitator = createFacilitator({ runtime: service, config: config.facilitator, mints, rates })
  void facilitator.ready().then(() => {
    const why = facilitator.problem()
    if (why !== undefined) service.log.error('facilitator.unusable', { why })
  })
  return facilitator
}

interface Paying extends Attached {
  /** Undefined before the start. */
  current(): OpenPayouts | undefined
}

function attachMoneyOut(handle: Pick<ServiceHandle, 'get'>, config: RoutesConfig): Paying {
  let money: OpenPayouts | undefined
  if (!config.rewards && config.refundKey === undefined) return { current: () => undefined, stop: async () => {} }
  const { stop } = attach(handle, async (service) => {
    money = await startPayoutWorkers(service, config)
    const developers = openDevelopersOf(config, service)
    const checks = developers?.startChecks()
    const { stop: end } = money
    return {
      stop: async () => {
        await end()
        await checks?.stop()
        await developers?.close()
      },
    }
  })
  return { current: () => money, stop }
}

function createParts(
  config: RoutesConfig,
  service: Runtime,
  sheets: SheetsPort | undefined,
  money: () => OpenPayouts | undefined,
): RoutesParts {
  const { mints, owners, trustProxy, publicUrl, hasOpenMetrics, origins, faucetKey } = config
  const { sessionSeconds, linkTtlSeconds, seller, frontPage } = config
  const { clock, log, verifier, keyring, ledger, catalog } = service
  const { kv, books } = ledger
  const limits = service.openLimits()
  const key = keyring.serviceKey
  const isOwner = (wallet: string): boolean => listOwners(owners, catalog).includes(wallet)
  const { network } = service.config
  const known = readMints(service, mints)
  const source = service.openFaucetSource({ mints: known, faucetKey })
  const faucet = createFaucet({ network, mints: known, trustProxy, limits, log, source })
  const files = readPage('dashboard', (html) => insertBanner(html, network))
  const dashboard = createDashboard(files)
  const icon = [...files].find(([name]) => /^assets\/mark-.*\.svg$/.test(name))?.[1].bytes
  const pay = createPayRoute({ service, publicUrl, icon })
  const moneyOut = createPayoutsView(service, config, money)
  const told = { moneyOut, settlement: createSettlementView(service) }
  const webhooks = createWebhooksView(service, config.webhooks, mints)
  const shown = { seller, frontPage, webhooks, dashboard, pay, ...told }
  const common = { service, mints, owners, trustProxy, publicUrl, hasOpenMetrics, faucet, ...shown }
  const sites = { publicUrl, origins, trustProxy }
  const signIn = createSignIn({ kv, limits, clock, verifier, log, network, key, isOwner, sessionSeconds, ...sites })
  const stores = { books, kv, clock, log, key }
  const exports = createExports({
    ...stores,
    decimalsOf: createDecimals(service, mints),
    outgoing: readOutgoing(ledger),
    publicUrl,
    linkTtlSeconds,
    isOwner,
    sheets,
  })
  return { ...common, signIn, exports }
}

/** Google uses real time, even if the chain has its own clock. */
function openSheets(options: SheetsOption): { readonly port: SheetsPort; close(): Promise<void> } {
  const http = createHttpTransport()
  const reading = openGoogleSheets(options, { post: http.post, clock: createWallClock() })
  if (reading.kind === 'sheets') return { port: reading.sheets, close: http.close }
  http.close().catch(() => {})
  throw new ConfigurationError(reading.problems)
}

/** Without a service, only health is reported. */
function notStarted(request: Request, error: unknown, log: Log): Response {
  const { pathname } = new URL(request.url)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && pathname === endpoints.health) return alive()
  const code = error instanceof LedgerUnavailable ? 'ledger_unavailable' : 'not_started'
  if (isRead && pathname === endpoints.ready)
    return answer({ ready: false, why: [code] }, { status: 503, headers: { 'Retry-After': '2' } })
  log.warn('api.start_failed', { why: error instanceof Error ? error.message : String(error) })
  return problem(code)
}
