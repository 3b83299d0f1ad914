/** What is special about SQLite: files that must not be used, how they are named, and what they remember. */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StatementSyncInstance } from '@photostructure/sqlite'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import type { LedgerIdentity } from '../../src/ledger/identity.ts'
import { LedgerConfigurationError } from '../../src/ledger/identity.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openSqliteFile } from '../../src/ledger/sqlite/file.ts'
import { createSqliteLedger, openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { checkDurability } from '../../src/ledger/sqlite/migrations.ts'
import { clock, newPath, open } from './files.ts'
import { granted } from './grants-fixture.ts'
import { againOf, createPayment, identity, leaseMs, takeOf } from './payments.ts'

function runSql(path: string, sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

async function makeLedger(path: string, who = identity): Promise<void> {
  await (await open(path, who)).close()
}

describe('a file that must not be used', () => {
  const other = (path: string) => runSql(path, 'CREATE TABLE notes (text TEXT)')
  const genesis = 'genesis-1'
  type Case = [name: string, make: (path: string) => unknown, why: RegExp, who?: LedgerIdentity]
  it.each<Case>([
    ['is a directory', (path) => mkdirSync(path), /is a directory: choose a file inside it/],
    ['is no database', (path) => writeFileSync(path, 'garbage '.repeat(2000)), /is not a SQLite database/],
    ['only begins like one', (path) => writeFileSync(path, `SQLite format 3\0${'x'.repeat(9000)}`), /not a SQLite/],
    ["is another program's", other, /of another program: use a separate file for the ledger/],
    ['is of another program without tables', (path) => runSql(path, 'PRAGMA user_version = 7'), /of another program/],
    [
      'is newer than the code',
      async (path) => {
        await makeLedger(path)
        runSql(path, 'PRAGMA user_version = 99')
      },
      /newer paystile \(schema 99, this version supports 1\): run that version/,
    ],
    [
      'is of another network',
      makeLedger,
      /of localnet, not of mainnet: use one ledger/,
      { ...identity, network: 'mainnet' },
    ],
    [
      'is of another root secret',
      makeLedger,
      /another root secret \(fingerprint fingerprint-1, not fingerprint-2\): set PAYSTILE_SECRET to the keyring/,
      { ...identity, fingerprint: 'fingerprint-2' },
    ],
    [
      'is of another chain',
      (path) => makeLedger(path, { ...identity, genesis }),
      /another chain \(genesis hash genesis-1, not genesis-2\): point the RPC nodes back/,
      { ...identity, genesis: 'genesis-2' },
    ],
  ])('%s', async (_name, make, why, who = identity) => {
    const path = newPath()
    await make(path)
    const before = contentOf(path)
    const error: unknown = await open(path, who).catch((reason) => reason)
    expect(error).toBeInstanceOf(LedgerConfigurationError)
    const { message } = error as Error
    expect(message).toMatch(why)
    expect(message).toContain(path)
    expect(message).toMatch(/^[A-Z].*[^.]\.$/)
    expect(contentOf(path)).toEqual(before)
  })

  it.each([
    ['is in no directory', (path: string) => join(path, 'deeper', 'ledger.db')],
    ['is below a file', (path: string) => join(path, 'ledger.db')],
  ])('%s', async (_name, place) => {
    const path = newPath()
    writeFileSync(path, '')
    await expect(open(place(path))).rejects.toThrow(/is not a directory: create it first/)
  })

  it.each([
    ['may not be written', (path: string) => chmodSync(path, 0o444)],
    ['lies where nothing may be written', (path: string) => chmodSync(join(path, '..'), 0o555)],
  ])('%s', async (_name, forbid) => {
    const path = newPath()
    await makeLedger(path)
    chmodSync(join(path, '..'), 0o755)
    forbid(path)
    const opening = asNobody(() => openSqliteLedger(path, { clock, identity }))
    await expect(opening).rejects.toThrow(/ledger\.db cannot be opened for writing: give this process write access/)
    await expect(opening).rejects.toBeInstanceOf(LedgerConfigurationError)
    chmodSync(join(path, '..'), 0o755)
  })

  it('would not survive the power', () => {
    const inMemory = new DatabaseSync(':memory:')
    expect(() => checkDurability(inMemory, 'x.db')).toThrow(/x\.db cannot keep a write-ahead log.*"memory"/)
    const lazy = new DatabaseSync(newPath())
    lazy.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    expect(() => checkDurability(lazy, 'x.db')).toThrow(/x\.db is not flushed.*synchronous=1/)
    for (const db of [inMemory, lazy]) db.close()
  })
})

describe('the name of a ledger', () => {
  it.each([
    ['a bare path', (path: string) => path],
    ['sqlite:', (path: string) => `sqlite:${path}`],
    ['sqlite://', (path: string) => `sqlite://${path}`],
    ['SQLITE:', (path: string) => `SQLITE:${path}`],
  ])('may be %s', async (_name, urlOf) => {
    const path = newPath()
    const ledger = await openLedger(urlOf(path), { clock, identity })
    const payment = createPayment()
    await ledger.take(takeOf(payment))
    await ledger.close()
    expect(await (await open(path)).peek(payment.tx)).toBeDefined()
  })

  it.each([
    '',
    'sqlite:',
    'sqlite://',
    'sqlite::memory:',
    ':memory:',
    'sqlite:file::memory:?cache=shared',
    'memory:x',
    'redis://localhost',
    'file:ledger.db',
    'mysql://paystile:hunter2@db/paystile',
  ])('may not be "%s"', async (url) => {
    const opening = openLedger(url, { clock, identity })
    await expect(opening).rejects.toBeInstanceOf(LedgerConfigurationError)
    await expect(opening).rejects.toThrow(/: use sqlite:<file> or postgres:\/\/<database>\.$/)
    await expect(opening).rejects.not.toThrow(/hunter2/)
  })
})

describe('a file', () => {
  it('can be read by its owner only, with the files beside it', async () => {
    const path = newPath()
    const ledger = await open(path)
    await ledger.take(takeOf(createPayment()))
    for (const name of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(name).mode & 0o077).toBe(0)
    await ledger.close()
  })

  it('remembers everything: uses, leases, fences, limits and late payments', async () => {
    const path = newPath()
    const first = await open(path)
    const [spent, held, tired, late] = [createPayment(), createPayment(), createPayment(), createPayment()]
    await first.end(granted(await first.take(takeOf(spent))).grant, 'delivered', 1n)
    const { grant } = granted(await first.take(takeOf(held)))
    for (let time = 0; time < 2; time++) {
      await first.end(granted(await first.take(takeOf(tired))).grant, 'partial', 1n)
    }
    await first.recordLate(late)
    await first.close()

    const second = await open(path)
    expect((await second.take(takeOf(spent))).kind).toBe('spent')
    expect((await second.take(againOf(held))).kind).toBe('busy')
    expect(await second.renew(grant, leaseMs)).toBe(true)
    expect(await second.end(grant, 'not_started', 0n)).toBe(true)
    expect(granted(await second.take(againOf(held))).grant.fence).toBe(grant.fence + 1n)
    await second.end(granted(await second.take(againOf(tired))).grant, 'partial', 1n)
    expect((await second.take(takeOf(tired))).kind).toBe('spent')
    expect((await second.peek(late.tx))?.state).toBe('late')
  })

  it('T73: remembers its chain once that is known, and may be opened by another service', async () => {
    const path = newPath()
    await makeLedger(path)
    await makeLedger(path, { ...identity, genesis: 'genesis-1' })
    await makeLedger(path, { ...identity, service: 'other' })
    await expect(open(path, { ...identity, network: 'devnet' })).rejects.toThrow(
      /ledger\.db, created by the service "tests", holds/,
    )
    const other = open(path, { ...identity, genesis: 'genesis-2' })
    await expect(other).rejects.toThrow(LedgerConfigurationError)
    await expect(other).rejects.toThrow(/another chain.*genesis-1, not genesis-2/)
    await makeLedger(path, { ...identity, genesis: 'genesis-1' })
  })

  it('T121: shows a payment and its grants as they were at one moment, even while another process changes both', async () => {
    const path = newPath()
    const payment = createPayment()
    await (await open(path)).take(takeOf(payment, { leaseMs: 1_000_000 }))
    const file = await openSqliteFile(path, 20, () => {})
    const between = () => runSql(path, 'BEGIN; DELETE FROM grants; UPDATE payments SET used = 1; COMMIT')
    const prepare = (sql: string) => meddled(file.db.prepare(sql), between)
    const db = new Proxy(file.db, { get: (target, name) => (name === 'prepare' ? prepare : Reflect.get(target, name)) })
    const ledger = createSqliteLedger({ ...file, db }, clock)
    const seen = [await ledger.peek(payment.tx), await ledger.peek(payment.tx)]
    expect(seen.map((standing) => standing?.state)).toEqual(['busy', 'spent'])
    await ledger.close()
  })

  it('may be empty at first', async () => {
    const path = newPath()
    writeFileSync(path, '')
    const ledger = await open(path)
    expect((await ledger.take(takeOf(createPayment()))).kind).toBe('granted')
  })

  it('finishes earlier calls before it is closed', async () => {
    const path = newPath()
    const ledger = await open(path)
    const payments = Array.from({ length: 600 }, () => createPayment())
    const takes = Promise.all(payments.map((payment) => ledger.take(takeOf(payment))))
    await ledger.close()
    expect(new Set((await takes).map(({ kind }) => kind))).toEqual(new Set(['granted']))
    const again = await open(path)
    for (const payment of payments) expect((await again.peek(payment.tx))?.state).toBe('busy')
  })

  it('T92: gives one of two hundred takes over four connections the grant', async () => {
    const path = newPath()
    const ledgers = await Promise.all(Array.from({ length: 4 }, () => open(path)))
    const payment = createPayment()
    const takes = Array.from({ length: 50 }, () => ledgers.map((ledger) => ledger.take(takeOf(payment)))).flat()
    const kinds = (await Promise.all(takes)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'granted')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(199)
  })
})

/** A statement after which something else happens at once. */
function meddled(statement: StatementSyncInstance, then: () => void): StatementSyncInstance {
  return new Proxy(statement, {
    get: (target, name) => {
      const own: unknown = Reflect.get(target, name)
      if (typeof own !== 'function') return own
      return (...values: unknown[]) => {
        const result: unknown = own.apply(target, values)
        if (name === 'get' || name === 'all') then()
        return result
      }
    },
  })
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** Root may write everywhere, so it steps down for a moment. Anybody else stays who they are. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
