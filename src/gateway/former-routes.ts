/** The routes that a gateway served before a reload, by which the quotes that are open stay good. */
import type { ConcludedTerms } from '../paywall/quote/route.ts'
import type { OpenRoute } from './proxy/handle-request.ts'
import { covers, createFind, overlaps, type Row, splitPath } from './routing/match.ts'
import { readPath } from './routing/route-cache.ts'

interface FormerRoute extends Row, ConcludedTerms {
  /** Whether it served a request, as the table of its time had it. */
  serves(method: string, target: string): boolean
}

export interface FormerRoutes {
  /** Routes that another configuration replaces now: they quote no more. */
  conclude(routes: readonly OpenRoute[]): void
  /** Has the routes that replace them honour their quotes. */
  honour(routes: readonly OpenRoute[]): void
}

export function createFormerRoutes(): FormerRoutes {
  /** By all that tells their quotes apart: a reload that changes nothing of it adds nothing. */
  const known = new Map<string, FormerRoute>()
  return {
    conclude: (routes) => {
      // The table alone: the routes themselves hold connections.
      const rows = routes.map(({ pattern, methods }) => ({ pattern, methods }))
      const table = routes.map(({ name }) => name)
      const find = createFind(rows)
      for (const [index, { name, pattern, methods, paywall }] of routes.entries()) {
        const concluded = paywall?.conclude()
        if (!concluded) continue
        const { scopes, recipients, binds, isAsked } = concluded.terms
        const serves = (method: string, target: string): boolean => {
          const path = splitPath(readPath(target))
          return path !== undefined && find(method, path) === rows[index]
        }
        const key = JSON.stringify([name, table, scopes, recipients, binds, isAsked])
        known.set(key, { pattern, methods, serves, ...concluded })
      }
    },
    honour: (routes) => {
      for (const { paywall, pattern, methods } of routes) {
        const meets = (one: FormerRoute): boolean =>
          overlaps(one.pattern, pattern) && [...one.methods].some((method) => methods.has(method))
        paywall?.honour(
          [...known.values()].filter(meets).map(({ terms, until, serves, pattern: before }) => ({
            terms,
            until,
            covers: ({ method, target }) => serves(method, target),
            isContained: covers(pattern, before),
          })),
        )
      }
    },
  }
}
