import { describe, expect, it } from 'vitest'
import { parseLedgerUrl, parsePostgresUrl } from './ledger-url.ts'

describe('the address of a PostgreSQL ledger', () => {
  it.each<[url: string, name: string, urls: readonly string[]]>([
    ['postgres://u:p@db/ledger', 'postgres://db/ledger', ['postgres://u:p@db/ledger']],
    ['postgres://u:a@b@db/ledger', 'postgres://db/ledger', ['postgres://u:a@b@db/ledger']],
    ['postgresql:///ledger?host=/run', 'postgres:///ledger', ['postgresql:///ledger?host=/run']],
    [
      'postgres://u:p@db1:5433,[::1]:5434,db3/ledger?target_session_attrs=read-write',
      'postgres://db1:5433,[::1]:5434,db3/ledger',
      [
        'postgres://u:p@db1:5433/ledger?target_session_attrs=read-write',
        'postgres://u:p@[::1]:5434/ledger?target_session_attrs=read-write',
        'postgres://u:p@db3/ledger?target_session_attrs=read-write',
      ],
    ],
  ])('%s', (url, name, urls) => {
    expect(parseLedgerUrl(url)).toEqual({ kind: 'postgres' })
    expect(parsePostgresUrl(url)).toEqual({ kind: 'servers', name, urls })
  })

  it.each([
    'postgres://[',
    'postgres:db',
    'postgres://db1,,db2/ledger',
    'postgres://db1,db2:port/ledger',
    'postgres://db1,/ledger',
  ])('%s is none', (url) => {
    expect(parsePostgresUrl(url)).toMatchObject({ kind: 'malformed', why: expect.stringMatching(/^is not/) })
  })

  it('does not ask for a server that cannot be written to', () => {
    const why = expect.stringMatching(/^postgres:\/\/db\/ledger must be writable/)
    expect(parsePostgresUrl('postgres://u:p@db/ledger?target_session_attrs=standby')).toEqual({
      kind: 'malformed',
      why,
      remedy: 'set target_session_attrs=read-write',
    })
  })
})
