/** Several processes on one ledger, and their sudden deaths. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { openLedger } from '../../src/ledger/open.ts'
import { size } from '../harness/length.ts'
import { type Postgres, startPostgres } from '../harness/postgres.mjs'
import { granted } from './grants-fixture.ts'
import { createPayment, createTestClock, identity, takeOf } from './payments.ts'
import { createFolder } from './stores.ts'

const script = fileURLToPath(new URL('./child.mjs', import.meta.url))
interface Child {
  readonly lines: readonly string[]
  /** Resolves when the child has said so many lines, and fails when it ends before. */
  said(count: number): Promise<void>
  kill(): Promise<void>
}

function start(path: string, first: number, signal: string): Child {
  const child: ChildProcess = spawn(process.execPath, [script, path, String(first), signal])
  const lines: string[] = []
  let rest = ''
  let complaint = ''
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const listeners = new Set<() => void>()
  child.stdout?.on('data', (bytes) => {
    const parts = `${rest}${bytes}`.split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    for (const listener of listeners) listener()
  })
  child.stderr?.on('data', (bytes) => {
    complaint += bytes
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    lines,
    said: (count) =>
      new Promise((resolve, reject) => {
        const look = () => lines.length >= count && resolve()
        listeners.add(look)
        look()
        void ended.then(() => reject(new Error(`the child ended early: ${complaint}`)))
      }),
    kill: () => {
      child.kill('SIGKILL')
      return ended
    },
  }
}

/** All are at work, and together they have said so many lines: one that comes late finds all served for a while. */
async function haveSaid(children: readonly Child[], count: number): Promise<void> {
  for (const child of children) await child.said(2)
  await expect.poll(() => children.flatMap(({ lines }) => lines).length).toBeGreaterThanOrEqual(count)
}

function newFolder(): string {
  const folder = createFolder()
  onTestFinished(folder.remove)
  return folder.path
}

const numbersOf = (lines: readonly string[], word: string) =>
  lines.filter((line) => line.startsWith(word)).map((line) => Number(line.slice(word.length + 1)))

/** These tests kill the server, so it is theirs alone. */
let server: Promise<Postgres> | undefined
function ownServer(): Promise<Postgres> {
  server ??= startPostgres()
  return server
}
afterAll(async () => (await server)?.close())

/** In each, two processes are killed; in every fourth, the database too. */
const rounds = size(2, 12)

const places: readonly (readonly [name: string, place: () => Promise<string>])[] = [
  ['file', async () => join(newFolder(), 'ledger.db')],
  ['database', async () => (await ownServer()).place()],
]

describe.each(places)('processes that share a %s', (kind, newPlace) => {
  it('T92: may all open a new one at the same moment, and never both serve a payment', async () => {
    for (let round = 0; round < size(1, 3); round++) {
      const [path, signal] = [await newPlace(), join(newFolder(), 'go')]
      const children = Array.from({ length: size(2, 4) }, () => start(path, 0, signal))
      for (const child of children) await child.said(1)
      writeFileSync(signal, '')
      await haveSaid(children, size(40, 80))
      for (const child of children) await child.kill()
      const all = children.flatMap((child) => numbersOf(child.lines, 'granted'))
      expect(new Set(all).size).toBe(all.length)
      await checkBooks(path, all.length)
    }
  })

  it('T115, T116: lose no acknowledged grant and make no double when they are killed', async () => {
    const [path, signal] = [await newPlace(), join(newFolder(), 'go')]
    writeFileSync(signal, '')
    const lines: string[] = []
    for (let round = 0; round < rounds; round++) {
      const next = Math.max(-1, ...numbersOf(lines, 'granted')) - 3
      const children = [start(path, Math.max(next, 0), signal), start(path, Math.max(next, 0), signal)]
      await haveSaid(children, 6 + ((round * 17) % 60))
      await Promise.all(children.map((child) => child.kill()))
      if (kind === 'database' && round % 4 === 1) {
        const server = await ownServer()
        await server.kill()
        await server.start()
      }
      lines.push(...children.flatMap((child) => child.lines))
    }
    const [served, settled] = [numbersOf(lines, 'granted'), new Set(numbersOf(lines, 'settled'))]
    expect(served.length).toBeGreaterThan(rounds * 5)
    expect(new Set(served).size).toBe(served.length)
    await checkBooks(path, served.length)
    await audit(path, served, settled)
  })
})

/** Whatever was under way when they died: the books have each payment that the ledger has, once. */
async function checkBooks(path: string, least: number): Promise<void> {
  const ledger = await openLedger(path, { clock: createTestClock(), identity })
  try {
    expect(await ledger.books.audit()).toEqual([])
    const payments = (await ledger.books.sums({}))?.map((sum) => sum.payments) ?? []
    expect(payments.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(least)
  } finally {
    await ledger.close()
  }
}

/** Every grant that was acknowledged is known; what was settled stays spent; all the rest can still be used, once. */
async function audit(path: string, served: readonly number[], settled: ReadonlySet<number>): Promise<void> {
  const clock = createTestClock()
  const ledger = await openLedger(path, { clock, identity })
  onTestFinished(() => ledger.close())
  const left = []
  for (const number of served) {
    const tx = new Uint8Array(createHash('sha512').update(String(number)).digest())
    const state = (await ledger.peek(tx))?.state
    expect([number, state]).toEqual([number, settled.has(number) ? 'spent' : expect.stringMatching(/^(busy|spent)$/)])
    if (state === 'busy') left.push(createPayment({ tx }))
  }
  expect(left.length).toBeGreaterThan(0)
  clock.advance(60_000)
  for (const payment of left) {
    expect(await ledger.end(granted(await ledger.take(takeOf(payment))).grant, 'delivered', 1n)).toBe(true)
    expect((await ledger.take(takeOf(payment))).kind).toBe('spent')
  }
}
