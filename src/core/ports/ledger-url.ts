/** The store that a `ledger` option names. */
import { parseUrl } from '../encoding/url.ts'
export type LedgerPlace = { readonly kind: 'memory' | 'postgres' } | { readonly kind: 'sqlite'; readonly path: string }

/** Reads `postgres://…`, `sqlite:<path>`, a bare path, or `memory:`. Undefined for any other scheme. */
export function parseLedgerUrl(url: string): LedgerPlace | undefined {
  // One letter before the colon is a Windows drive, not a scheme.
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]+):(.*)$/is.exec(url) ?? [undefined, 'sqlite', url]
  const kind = scheme?.toLowerCase()
  if (kind === 'memory') return rest === '' ? { kind } : undefined
  if (kind === 'postgres' || kind === 'postgresql') return { kind: 'postgres' }
  const path = rest.replace(/^\/\//, '')
  return kind === 'sqlite' && path !== '' && !path.includes(':memory:') ? { kind, path } : undefined
}

/** One address per server. One server at a time accepts writes. */
export type PostgresPlace =
  | { readonly kind: 'servers'; readonly name: string; readonly urls: readonly string[] }
  | { readonly kind: 'malformed'; readonly why: string; readonly remedy: string }

/** The accepted `target_session_attrs`. A ledger must write, so the others are useless. */
const usefulTargets: readonly (string | null)[] = [null, 'any', 'read-write', 'primary']

/** Reads `postgres://user:password@host:5432,host:5433/database`, with hosts separated by commas, as in libpq. */
export function parsePostgresUrl(url: string): PostgresPlace {
  const [, head = '', hosts = '', tail = ''] = /^([a-z]+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/is.exec(url) ?? []
  const urls = hosts.split(',').map((host) => `${head}${host}${tail}`)
  const parsed = urls.map((one) => parseUrl(one))
  const [first] = parsed
  const isAddress = parsed.every(Boolean) && (urls.length === 1 || !/^,|,,|,$/.test(hosts))
  if (!first || !isAddress) {
    const remedy = 'write postgres://user:password@host:5432/database, with commas between hosts'
    return { kind: 'malformed', why: 'is not a PostgreSQL address', remedy }
  }
  const { pathname, searchParams } = first
  const name = `postgres://${hosts}${pathname}`
  const target = searchParams.get('target_session_attrs')
  if (usefulTargets.includes(target)) return { kind: 'servers', name, urls }
  return { kind: 'malformed', why: `${name} must be writable`, remedy: 'set target_session_attrs=read-write' }
}
