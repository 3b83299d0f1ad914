/** The routes of a gateway before a reload. With them, open quotes remain valid. */

import { splitPath } from '../core/http/plain-path.ts'
import { nameRecipientSet } from '../core/payment/splits.ts'
import type { ConcludedTerms } from '../paywall/quote/route.ts'
import type { OpenRoute } from './proxy/handle-request.ts'
import { covers, createFind, overlaps, type Row } from './routing/match.ts'
import { readPath } from './routing/route-cache.ts'

interface FormerRoute extends Row, ConcludedTerms {
  /** Whether the former route table matched a request. */
  serves(method: string, target: string): boolean
}

export function createFormerRoutes() {
  /** Keyed by everything that distinguishes their quotes, so that a reload without such changes adds nothing. */
  const known = new Map<string, FormerRoute>()
  return {
    /** Adds routes that a new configuration replaces. They issue no more quotes. */
    conclude: (routes: readonly OpenRoute[]) => {
      // Keeps the table only, because the routes hold connections.
      const rows = routes.map(({ pattern, methods }) => ({ pattern, methods }))
      const table = routes.map(({ name }) => name)
      const find = createFind(rows)
      for (const [index, { name, pattern, methods, paywall }] of routes.entries()) {
        const concluded = paywall?.conclude()
        if (!concluded) continue
        const { scopes, recipientSets, binds, isAsked } = concluded.terms
        const serves = (method: string, target: string): boolean => {
          const path = splitPath(readPath(target))
          return path !== undefined && find(method, path) === rows[index]
        }
        const key = JSON.stringify([name, table, scopes, recipientSets.map(nameRecipientSet), binds, isAsked])
        known.set(key, { pattern, methods, serves, ...concluded })
      }
    },
    /** Makes the new routes honour the quotes of the former ones. */
    honour: (routes: readonly OpenRoute[]) => {
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
