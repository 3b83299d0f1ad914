/** What analytics call a thing that is sold: the provider's name for it, or the path that was asked for. */
import type { Incoming } from '../../core/encoding/http.ts'

/** As the option `endpoint` says it: `GET /api/weather`, or the path alone. */
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

/** The path without its query. It is somebody else's text, so it is cut, and what is not plain stays percent-encoded. */
export function nameEndpoint(named: NamedEndpoint | undefined, { target }: Pick<Incoming, 'target'>): string {
  if (named) return named.path
  const end = target.search(/[?#]/)
  return (end < 0 ? target : target.slice(0, end)).slice(0, longestPath).replace(/[^\x21-\x7e]/g, '_')
}
