/** Joins the service's own addresses to a service, the same that paywalls with equal settings have. */
import type { Log } from '../core/ports.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import { createLog } from '../host/log.ts'
import type { Visitor } from './access.ts'
import { handleFor } from './assemble.ts'
import { endpoints, isOwnPath } from './endpoints.ts'
import { answer, problem } from './problems.ts'
import { alive } from './route-table.ts'
import type { Routes } from './routes.ts'
import { createRoutes } from './routes.ts'
import type { RoutesConfig, RoutesOptions } from './routes-options.ts'
import { readRoutesConfig } from './routes-options.ts'
import type { Service } from './service.ts'

/**
 * The service's own addresses without a framework: analytics, verification, health and discovery.
 *
 * @example
 * const routes = openRoutes({ network: 'localnet', ledger: 'payments.sqlite' })
 * const response = await routes.handle(new Request('http://localhost/healthz'), { isLoopback: false })
 */
export function openRoutes(options: RoutesOptions = {}): Routes {
  const config = readRoutesConfig(options, process.env)
  const log = config.log ?? createLog()
  const handle = handleFor(config.service, log)
  let opened: Routes | undefined
  const open = (service: Service): Routes => {
    opened ??= createRoutes(partsFor(config, service))
    return opened
  }
  return {
    owns: isOwnPath,
    handle: async (request, visitor) => {
      try {
        return await open(await handle.get()).handle(request, visitor)
      } catch (error) {
        return notStarted(request, error, log)
      }
    },
    close: async () => {
      await opened?.close()
      await handle.release()
    },
  }
}

function partsFor({ mints, owners, trustProxy, publicUrl, hasOpenMetrics }: RoutesConfig, service: Service) {
  return { service, mints, owners, trustProxy, publicUrl, hasOpenMetrics }
}

/** While there is no service, only health can be told. */
function notStarted(request: Request, error: unknown, log: Log): Response {
  const { pathname } = new URL(request.url)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && pathname === endpoints.health) return alive()
  const code = error instanceof LedgerUnavailable ? 'ledger_unavailable' : 'not_started'
  if (isRead && pathname === endpoints.ready)
    return answer({ ready: false, why: [code] }, { status: 503, headers: { 'Retry-After': '2' } })
  log.warn('not started', { why: error instanceof Error ? error.message : String(error) })
  return problem(code)
}

export type { Routes, RoutesOptions, Visitor }
