/**
 * Collects the warnings of routes for the log. If several routes find the same problem at about the same time, such as
 * a wrong mint, the log gets one line that names all of them.
 */
import { canonicalJson } from '../../core/encoding/canonical-json.ts'
import type { Facts, Log } from '../../core/runtime.ts'

export interface Look {
  say(level: keyof Log, event: string, facts: Facts): void
  /**
   * Must be called after every check, even a failed one. A line is logged when all checks that ran at its time have
   * ended.
   */
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

export function createRouteWarnings(log: Log) {
  const running = new Set<Look>()
  const lines = new Map<string, Line>()
  return {
    /** Starts a check of a route. */
    look: (route: string) => {
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

export type RouteWarnings = ReturnType<typeof createRouteWarnings>

function listOf(routes: readonly string[]): string {
  const rest = routes.length - mostNamed
  return rest > 0 ? `${routes.slice(0, mostNamed).join(', ')} and ${rest} more` : routes.join(', ')
}
