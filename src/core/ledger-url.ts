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
