/** The journal's contract, over both of its stores, and a file that is not a journal. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { openFileJournal } from '../../src/client/file-journal.ts'
import { createMemoryJournal, type Intent, type Journal } from '../../src/client/journal.ts'

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
  const change = { state: 'signed', tx: `tx ${requestId}`, wire: 'wire', lastValidBlockHeight: 77 } as const
  await journal.reserve(intentOf(requestId, more), {})
  await journal.change(requestId, change)
  await journal.release(requestId)
  return { ...intentOf(requestId, more), ...change }
}

describe.each(stores)('%s', (_name, open) => {
  it('gives back what was signed, to one at a time, with everything that was written down', async () => {
    const journal = open()
    const intent = await signed(journal, 'a', { units: 2n ** 64n - 1n })
    expect(await journal.adopt('key')).toEqual(intent)
    expect(await journal.adopt('key')).toBeUndefined()
    await journal.release('a')
    await journal.change('a', { state: 'landed' })
    expect(await journal.adopt('key')).toEqual({ ...intent, state: 'landed' })
  })

  it('holds what was reserved for whoever reserved it', async () => {
    const journal = open()
    await journal.reserve(intentOf('a'), {})
    await journal.change('a', { state: 'signed', tx: 'tx', wire: 'wire', lastValidBlockHeight: 1 })
    expect(await journal.adopt('key')).toBeUndefined()
    await journal.release('a')
    expect((await journal.adopt('key'))?.requestId).toBe('a')
  })

  it.each(['reserved', 'done', 'dead'] as const)('does not give back what is %s', async (state) => {
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

  it('knows a requestId only once, whatever became of it', async () => {
    const journal = open()
    await signed(journal, 'a')
    for (const state of ['landed', 'done', 'dead'] as const) {
      await journal.change('a', { state })
      expect(await journal.reserve(intentOf('a', { key: 'another' }), {})).toEqual({ kind: 'repeated' })
    }
    expect(await journal.reserve(intentOf('b'), {})).toEqual({ kind: 'reserved' })
  })

  it('counts for a budget what is reserved, signed, landed or done, and not what is dead', async () => {
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

  it('changes only what is named, and nothing that is not there', async () => {
    const journal = open()
    await journal.change('nobody', { state: 'done' })
    await journal.release('nobody')
    const intent = await signed(journal, 'a')
    await journal.change('a', {})
    expect(await journal.adopt('key')).toEqual(intent)
  })
})

describe('a journal in a file', () => {
  it('remembers across processes, as far as one can see from here', async () => {
    const path = newPath()
    const intent = await signed(openFileJournal(path), 'a')
    expect(await openFileJournal(path).adopt('key')).toEqual(intent)
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
      /^The payment journal .* cannot be used \(.*\); move the file away, with .*, or set PAYSTILE_HOME\.$/,
    )
    expect(message).toContain(path)
  })
})
