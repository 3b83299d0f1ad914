/** What the text of a `ledger` option names. */
export type LedgerPlace = { readonly kind: 'memory' | 'postgres' } | { readonly kind: 'sqlite'; readonly path: string }

/** Reads `postgres://…`, `sqlite:<path>`, a bare path, or `memory:`; undefined for any other kind. */
export function parseLedgerUrl(url: string): LedgerPlace | undefined {
  // One letter before the colon is a drive of Windows, not a scheme.
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]+):(.*)$/is.exec(url) ?? [undefined, 'sqlite', url]
  const kind = scheme?.toLowerCase()
  if (kind === 'memory') return rest === '' ? { kind } : undefined
  if (kind === 'postgres' || kind === 'postgresql') return { kind: 'postgres' }
  const path = rest.replace(/^\/\//, '')
  return kind === 'sqlite' && path !== '' && !path.includes(':memory:') ? { kind, path } : undefined
}

/** Servers of which one may be written to at a time, an address for each. */
export type PostgresPlace =
  | { readonly kind: 'servers'; readonly name: string; readonly urls: readonly string[] }
  | { readonly kind: 'malformed'; readonly why: string }

/** What a ledger may ask of its server. It has to write, so the others are of no use to it. */
const usefulTargets: readonly (string | null)[] = [null, 'any', 'read-write', 'primary']

/** Reads `postgres://user:password@host:5432,host:5433/database`: hosts by commas, as every PostgreSQL client has them. */
export function parsePostgresUrl(url: string): PostgresPlace {
  const [, head = '', hosts = '', tail = ''] = /^([a-z]+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/is.exec(url) ?? []
  const urls = hosts.split(',').map((host) => `${head}${host}${tail}`)
  const [first = ''] = urls
  const isAddress = urls.every((one) => URL.canParse(one)) && (urls.length === 1 || !/^,|,,|,$/.test(hosts))
  if (!isAddress) {
    const why =
      'is not a PostgreSQL address: write postgres://user:password@host:5432/database, with commas between hosts'
    return { kind: 'malformed', why }
  }
  const { pathname, searchParams } = new URL(first)
  const name = `postgres://${hosts}${pathname}`
  const target = searchParams.get('target_session_attrs')
  if (usefulTargets.includes(target)) return { kind: 'servers', name, urls }
  return { kind: 'malformed', why: `${name} has to be written to: set target_session_attrs=read-write` }
}
