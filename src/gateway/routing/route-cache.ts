/**
 * Finds the route of a target and caches it. The check for ambiguous paths is expensive, and the same few paths recur.
 */
import { isOwnPath } from '../../api/http/paths.ts'
import { splitPath } from '../../core/http/plain-path.ts'
import { createFind, type Row } from './match.ts'

/** The route for a method and a target (path and query). Undefined for the service's own endpoints. */
export type Finding<Found extends Row> = (method: string, target: string) => Found | undefined

const mostPaths = 1_024
const longestPath = 256

export function createFinding<Found extends Row>(rows: readonly Found[]): Finding<Found> {
  const find = createFind(rows)
  /** By method and path. Only found routes are cached, up to a limit, because clients choose the paths. */
  const known = new Map<string, Found>()
  return (method, target) => {
    if (target.includes('#')) return undefined
    const path = readPath(target)
    const name = `${method} ${path}`
    const remembered = known.get(name)
    if (remembered) return remembered
    const segments = isOwnPath(path) ? undefined : splitPath(path)
    const found = segments && find(method, segments)
    if (!found || path.length > longestPath) return found
    if (known.size >= mostPaths) known.clear()
    known.set(name, found)
    return found
  }
}

/** A target without its query. */
export function readPath(target: string): string {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}
