/** The journal's contract, over both of its stores, and a file that is not a journal. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { JournalError } from '../../src/client/errors.ts'
import { openFileJournal, withoutFlush } from '../../src/client/journal/file.ts'
import { createMemoryJournal, type Intent, type Journal } from '../../src/client/journal/journal.ts'
import { processName } from '../../src/host/alive.ts'

const directory = mkdtempSync(join(tmpdir(), 'paystile-journal-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const newPath = () => join(directory, `${crypto.randomUUID()}.sqlite`)

const stores: readonly (readonly [string, () => Journal])[] = [
  ['in memory', () => createMemoryJournal()],
  ['in a file', () => openFileJournal(newPath())],
]

function intentOf(requestId: string, more: Partial<Intent> = {}): Intent {
  return {
    requestId,
    key: 'key',
    url: 'https://a.example/data',
    host: 'a.example',
    day: '2026-01-31',
    network: 'localnet',
    genesis: 'genesis',
    token: 'USDC',
    units: 10n,
    payer: 'payer',
    proof: 'claim',
    claim: 'secret',
    state: 'reserved',
    ...more,
  }
}

/** An intent that was signed, and let go of. */
async function signed(journal: Journal, requestId: string, more: Partial<Intent> = {}): Promise<Intent> {
  const change = { state: 'signed', tx: `tx ${requestId}`, wire: 'wire', slot: 77 } as const
  await journal.reserve(intentOf(requestId, more), {})
  await journal.change(requestId, change)
  await journal.release(requestId)
  return { ...intentOf(requestId, more), ...change }
}

describe.each(stores)('%s', (_name, open) => {
  it('returns signed payments, to one holder at a time, with all stored fields', async () => {
    const journal = open()
    const intent = await signed(journal, 'a', { units: 2n ** 64n - 1n })
    expect(await journal.adopt('key')).toEqual(intent)
    expect(await journal.adopt('key')).toBeUndefined()
    await journal.release('a')
    await journal.change('a', { state: 'landed' })
    expect(await journal.adopt('key')).toEqual({ ...intent, state: 'landed' })
  })

  it('keeps a reservation for its holder', async () => {
    const journal = open()
    await journal.reserve(intentOf('a'), {})
    await journal.change('a', { state: 'signed', tx: 'tx', wire: 'wire', slot: 1 })
    expect(await journal.adopt('key')).toBeUndefined()
    await journal.release('a')
    expect((await journal.adopt('key'))?.requestId).toBe('a')
  })

  it.each(['reserved', 'done', 'dead'] as const)('does not return a payment that is %s', async (state) => {
    const journal = open()
    await signed(journal, 'a')
    await journal.change('a', { state })
    expect(await journal.adopt('key')).toBeUndefined()
  })

  it('gives back nothing of another purchase', async () => {
    const journal = open()
    await signed(journal, 'a')
    await signed(journal, 'b', { key: 'another' })
    expect((await journal.adopt('another'))?.requestId).toBe('b')
    expect(await journal.adopt('a third')).toBeUndefined()
  })

  it('accepts a requestId only once, regardless of its outcome', async () => {
    const journal = open()
    await signed(journal, 'a')
    for (const state of ['landed', 'done', 'dead'] as const) {
      await journal.change('a', { state })
      expect(await journal.reserve(intentOf('a', { key: 'another' }), {})).toEqual({ kind: 'repeated' })
    }
    expect(await journal.reserve(intentOf('b'), {})).toEqual({ kind: 'reserved' })
  })

  it('counts reserved, signed, landed and done payments for a budget, and not dead ones', async () => {
    const journal = open()
    const limits = { perDay: 40n }
    for (const [index, state] of (['reserved', 'signed', 'landed', 'done', 'dead'] as const).entries()) {
      await journal.reserve(intentOf(`${index}`), {})
      await journal.change(`${index}`, { state })
    }
    const exceeded = { kind: 'exceeded', limit: 'perDay', spent: 40n }
    expect(await journal.reserve(intentOf('x', { units: 1n }), limits)).toEqual(exceeded)
    expect(await journal.reserve(intentOf('x', { units: 2n }), { perDay: 41n })).toEqual(exceeded)
    expect(await journal.reserve(intentOf('x', { units: 1n }), { perDay: 41n })).toEqual({ kind: 'reserved' })
  })

  it.each<[string, Partial<Intent>, bigint, bigint]>([
    ['the same', {}, 10n, 10n],
    ['another host', { host: 'b.example' }, 10n, 0n],
    ['another day', { day: '2026-02-01' }, 0n, 0n],
    ['another token', { token: 'SOL' }, 0n, 0n],
    ['another network', { network: 'devnet' }, 0n, 0n],
    ['another wallet', { payer: 'another' }, 10n, 10n],
  ])('counts for %s', async (_kind, more, perDay, perHost) => {
    const journal = open()
    await journal.reserve(intentOf('a'), {})
    const over = intentOf('b', { ...more, units: 100n })
    const spent = async (limits: object) => (await journal.reserve(over, limits)) as { readonly spent: bigint }
    expect((await spent({ perDay: 99n })).spent).toBe(perDay)
    expect((await spent({ perHost: 99n })).spent).toBe(perHost)
  })

  it('is exact with amounts that a number does not hold', async () => {
    const journal = open()
    const most = 2n ** 63n + 1n
    expect(await journal.reserve(intentOf('a', { units: most - 1n }), { perDay: most })).toEqual({ kind: 'reserved' })
    expect(await journal.reserve(intentOf('b', { units: 2n }), { perDay: most })).toMatchObject({ spent: most - 1n })
    expect(await journal.reserve(intentOf('b', { units: 1n }), { perDay: most })).toEqual({ kind: 'reserved' })
  })

  describe('of shared allowances', () => {
    const now = 1_000_000
    const shared = (requestId: string, more: Partial<Intent> = {}) =>
      intentOf(requestId, { scope: 'scope', unit: 'request', ...more })
    const landed = async (journal: Journal, requestId: string, more: Partial<Intent> = {}) => {
      await signed(journal, requestId, shared(requestId, more))
      await journal.change(requestId, { state: 'landed' })
    }

    it('lets every holder use landed payments, the oldest first, and none adopt them', async () => {
      const journal = open()
      await landed(journal, 'a')
      await landed(journal, 'b')
      const a = { ...shared('a'), state: 'landed', tx: 'tx a', wire: 'wire', slot: 77 }
      expect(await journal.adopt('key')).toBeUndefined()
      expect(await Promise.all([journal.find('scope', now), journal.find('scope', now)])).toEqual([a, a])
      expect(await journal.share('scope', now)).toEqual({ kind: 'landed', intent: a })
      await journal.change('a', { state: 'done' })
      expect((await journal.find('scope', now))?.requestId).toBe('b')
      expect(await journal.find('another', now)).toBeUndefined()
    })

    it('gives the turn to one at a time, for each scope', async () => {
      const journal = open()
      expect(await journal.share('scope', now)).toEqual({ kind: 'turn' })
      expect(await journal.share('scope', now)).toEqual({ kind: 'busy' })
      expect(await journal.share('another', now)).toEqual({ kind: 'turn' })
      await landed(journal, 'a')
      expect([await journal.find('scope', now), await journal.share('scope', now)]).toEqual([
        undefined,
        { kind: 'busy' },
      ])
      await journal.passTurn('scope')
      await journal.passTurn('scope')
      expect((await journal.share('scope', now)).kind).toBe('landed')
    })

    it('gives signed payments to one follower, and mere reservations to none', async () => {
      const journal = open()
      await journal.reserve(shared('a'), {})
      expect(await journal.share('scope', now)).toEqual({ kind: 'turn' })
      await journal.passTurn('scope')
      await signed(journal, 'b', shared('b'))
      expect(await journal.find('scope', now)).toBeUndefined()
      expect(await journal.share('scope', now)).toMatchObject({ kind: 'unfinished', intent: { requestId: 'b' } })
      expect(await journal.share('scope', now)).toEqual({ kind: 'busy' })
    })

    it.each<[string, Parameters<Journal['change']>[1], boolean]>([
      ['nothing is known', {}, true],
      ['one is left', { remaining: 1 }, true],
      ['nothing is left', { remaining: 0 }, false],
      ['it lasts', { until: now + 1 }, true],
      ['it is over', { until: now }, false],
      ['much is left of what is over', { remaining: 100, until: now - 1 }, false],
    ])('of which %s: usable is %s', async (_name, left, isUsable) => {
      const journal = open()
      await landed(journal, 'a')
      await journal.change('a', left)
      expect((await journal.find('scope', now)) !== undefined).toBe(isUsable)
      expect((await journal.share('scope', now)).kind).toBe(isUsable ? 'landed' : 'turn')
    })

    it('takes nothing for used up while something is under way, or was given back', async () => {
      const journal = open()
      await landed(journal, 'a')
      await journal.begin('a')
      await journal.begin('a')
      await journal.end('a', { remaining: 0, until: now + 5 })
      expect(await journal.find('scope', now)).toMatchObject({ remaining: 0, until: now + 5 })
      await journal.end('a', {})
      expect(await journal.find('scope', now)).toBeUndefined()
    })
  })

  it('changes only named entries, and ignores missing ones', async () => {
    const journal = open()
    await journal.change('nobody', { state: 'done' })
    await journal.release('nobody')
    const intent = await signed(journal, 'a')
    await journal.change('a', {})
    expect(await journal.adopt('key')).toEqual(intent)
  })
})

/** As version 0.1 of the journal wrote it, byte for byte. */
function writeVersion1(path: string): void {
  const database = new DatabaseSync(path)
  database.exec(`
  create table intents (
    request_id text primary key,
    key text not null,
    url text not null,
    host text not null,
    day text not null,
    network text not null,
    genesis text not null,
    token text not null,
    units text not null,
    payer text not null,
    proof text not null,
    claim text,
    state text not null,
    tx text,
    wire text,
    last_valid_block_height integer,
    holder text
  ) strict;
  create index intents_by_key on intents (key) where state in ('signed', 'landed');
  create index intents_by_day on intents (day, network, token) where state <> 'dead';
  pragma user_version = 1;`)
  const insert = database.prepare(`insert into intents values (?, 'key', 'https://a.example/data', 'a.example',
    '2026-01-31', 'localnet', 'genesis', 'USDC', '18446744073709551615', 'payer', 'claim', 'secret', ?, 'tx', 'wire', 77, null)`)
  for (const state of ['reserved', 'signed', 'landed', 'done', 'dead']) insert.run(state, state)
  database.close()
}

describe('a journal in a file', () => {
  it('remembers across processes, as far as one can see from here', async () => {
    const path = newPath()
    const intent = await signed(openFileJournal(path), 'a')
    expect(await openFileJournal(path).adopt('key')).toEqual(intent)
  })

  it('lets another process take the turn of one that has died, and of no other', async () => {
    const path = newPath()
    await openFileJournal(path).share('scope', 0)
    const database = new DatabaseSync(path)
    const holdBy = (name: string) => database.prepare('update turns set holder = ?').run(name)
    holdBy(processName(process.ppid))
    expect(await openFileJournal(path).share('scope', 0)).toEqual({ kind: 'busy' })
    expect(await openFileJournal(path).find('scope', 0)).toBeUndefined()
    holdBy('999999999:1')
    const [one, other] = [openFileJournal(path), openFileJournal(path)]
    expect(await one.share('scope', 0)).toEqual({ kind: 'turn' })
    // Who has not got the turn cannot pass it on.
    await other.passTurn('scope')
    expect(await one.share('scope', 0)).toEqual({ kind: 'busy' })
  })

  it('of version 1 is brought up to date, and loses nothing', async () => {
    const path = newPath()
    writeVersion1(path)
    const journal = openFileJournal(path)
    const known = {
      key: 'key',
      tx: 'tx',
      wire: 'wire',
      claim: 'secret',
      units: 2n ** 64n - 1n,
    }
    expect(await journal.adopt('key')).toEqual({ ...intentOf('signed'), ...known, state: 'signed' })
    expect(await journal.adopt('key')).toEqual({ ...intentOf('landed'), ...known, state: 'landed' })
    expect(await journal.adopt('key')).toBeUndefined()
    for (const state of ['reserved', 'signed', 'landed', 'done', 'dead'])
      expect(await journal.reserve(intentOf(state), {})).toEqual({ kind: 'repeated' })
    expect(await journal.reserve(intentOf('new'), { perDay: 1n })).toMatchObject({ spent: 4n * (2n ** 64n - 1n) })
    expect(await journal.reserve(intentOf('new', { scope: 'scope' }), {})).toEqual({ kind: 'reserved' })
    // Again and elsewhere, as by a process that came second.
    expect((await openFileJournal(path).share('scope', 0)).kind).toBe('turn')
  })

  it('can be read by its owner only', () => {
    const path = newPath()
    openFileJournal(path)
    for (const name of [path, `${path}-wal`]) expect(statSync(name).mode & 0o077).toBe(0)
  })

  it.each<[string, (path: string) => void, RegExp]>([
    [
      'is something else',
      (path) => writeFileSync(path, 'this is not a database, however long one reads it '.repeat(40)),
      /not a database/,
    ],
    ['is a directory', (path) => mkdirSync(path), /EISDIR|illegal operation/],
    ['is of the future', (path) => new DatabaseSync(path).exec('pragma user_version = 99'), /another version/],
  ])('that %s is refused in one sentence that names it', (_kind, make, words) => {
    const path = newPath()
    make(path)
    let message = ''
    try {
      openFileJournal(path)
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).toMatch(words)
    expect(message).toMatch(
      /^The payment journal .* cannot be used \(.*\); move the file \(.*\), or set PAYSTILE_HOME\.$/,
    )
    expect(message).toContain(path)
  })
})

it('names the file and the reason in one sentence if a write fails later, and works again after that', async () => {
  const path = newPath()
  const journal = openFileJournal(path)
  await signed(journal, 'a')
  const other = new DatabaseSync(path)
  // SQLite also rolls a transaction back itself if the disk is full.
  for (const event of ['insert', 'update'])
    other.exec(
      `create trigger full_${event} before ${event} on intents begin select raise(rollback, 'disk is full'); end`,
    )
  const sentence = /^The payment journal .* cannot be used now \(disk is full\)\. Free disk space .*\.$/
  const failing = [
    () => journal.reserve(intentOf('b'), {}),
    () => journal.change('a', { state: 'signed' }),
    () => journal.change('a', { state: 'landed' }),
    () => journal.adopt('key'),
    () => journal.release('a'),
    () => journal.begin('a'),
    () => journal.end('a', {}),
  ]
  for (const call of failing) {
    const error = await call().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(JournalError)
    expect((error as JournalError).message).toMatch(sentence)
    expect((error as JournalError).message).toContain(path)
  }
  other.exec('drop trigger full_insert; drop trigger full_update')
  expect((await journal.adopt('key'))?.requestId).toBe('a')
  expect(await journal.reserve(intentOf('b'), {})).toEqual({ kind: 'reserved' })
})

it('writes reservations without a flush of the disk, and flushes again after that, whatever happens', () => {
  const database = new DatabaseSync(newPath())
  const readMode = () => database.prepare('pragma synchronous').get()
  expect(withoutFlush(database, readMode)).toEqual({ synchronous: 1 })
  expect(readMode()).toEqual({ synchronous: 2 })
  const fail = () => {
    throw new Error('the disk is full')
  }
  expect(() => withoutFlush(database, fail)).toThrow('the disk is full')
  expect(readMode()).toEqual({ synchronous: 2 })
  database.close()
})
