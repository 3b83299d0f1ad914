/** The name of a resource in analytics: the provider's name for it, or the requested path. */
import type { Incoming } from './http.ts'

/** From the option `endpoint`: `GET /api/weather`, or the path alone. */
export interface NamedEndpoint {
  readonly methods: readonly string[]
  readonly path: string
}

const longestPath = 200
const written = /^(?:([A-Z]+(?:,[A-Z]+)*) )?(\/[\x21-\x7e]{0,199})$/

export function parseEndpoint(text: string): NamedEndpoint | undefined {
  const [, methods, path] = written.exec(text) ?? []
  return path === undefined ? undefined : { methods: methods?.split(',') ?? ['GET'], path }
}

/**
 * The path without its query. The client controls this text, so it is truncated, and special characters stay
 * percent-encoded.
 */
export function nameEndpoint(named: NamedEndpoint | undefined, { target }: Pick<Incoming, 'target'>): string {
  if (named) return named.path
  const end = target.search(/[?#]/)
  return (end < 0 ? target : target.slice(0, end)).slice(0, longestPath).replace(/[^\x21-\x7e]/g, '_')
}
