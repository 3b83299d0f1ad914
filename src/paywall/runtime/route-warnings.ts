/**
 * What routes find out about themselves, for the log: what several of them find at about the same time, a wrong mint for one,
 * is one line that names them all.
 */
import { canonicalJson } from '../../core/encoding/canonical-json.ts'
import type { Facts, Log } from '../../core/runtime.ts'

export interface RouteWarnings {
  /** A route begins to look. */
  look(route: string): Look
}

export interface Look {
  say(level: keyof Log, event: string, facts: Facts): void
  /** Must be called, whatever came of it: what was said is written once all have ended that were under way then. */
  end(): void
}

interface Line {
  readonly level: keyof Log
  readonly event: string
  readonly facts: Facts
  readonly routes: Set<string>
  readonly waitsFor: Set<Look>
}

const mostNamed = 10

export function createRouteWarnings(log: Log): RouteWarnings {
  const running = new Set<Look>()
  const lines = new Map<string, Line>()
  return {
    look: (route) => {
      const look: Look = {
        say: (level, event, facts) => {
          const name = canonicalJson([level, event, facts])
          const line = lines.get(name) ?? { level, event, facts, routes: new Set(), waitsFor: new Set(running) }
          line.routes.add(route)
          lines.set(name, line)
        },
        end: () => {
          running.delete(look)
          for (const [name, { level, event, facts, routes, waitsFor }] of lines) {
            waitsFor.delete(look)
            if (waitsFor.size > 0) continue
            lines.delete(name)
            log[level](event, { ...facts, routes: listOf([...routes]) })
          }
        },
      }
      running.add(look)
      return look
    },
  }
}

function listOf(routes: readonly string[]): string {
  const rest = routes.length - mostNamed
  return rest > 0 ? `${routes.slice(0, mostNamed).join(', ')} and ${rest} more` : routes.join(', ')
}
