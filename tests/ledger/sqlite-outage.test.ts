/** Outages of a SQLite ledger: nothing is half done, nothing is acknowledged that is not kept, and they pass. */
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { PaymentRecord } from '../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { inspectLedger } from '../../src/ledger/inspect.ts'
import { openSqliteFile } from '../../src/ledger/sqlite/file.ts'
import { createSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { clock, newPath, open } from './files.ts'
import { granted } from './grants-fixture.ts'
import { createPayment, identity, takeOf } from './payments.ts'

describe('an outage', () => {
  it('T119: of the lock passes when the rival lets go, and readers never notice', async () => {
    const path = newPath()
    const ledger = await open(path)
    const payment = createPayment()
    const { grant } = granted(await ledger.take(takeOf(payment)))
    const rival = new DatabaseSync(path)
    rival.exec('BEGIN IMMEDIATE')
    await expect(ledger.take(takeOf(payment))).rejects.toThrow(LedgerUnavailable)
    await expect(ledger.end(grant, 'delivered', 1n)).rejects.toThrow(/ledger\.db cannot be used at the moment/)
    expect(await ledger.peek(payment.tx)).toMatchObject({ state: 'busy' })
    rival.close()
    expect(await ledger.end(grant, 'delivered', 1n)).toBe(true)
  })

  it('T119: of the disk leaves nothing half done, and passes when there is room', async () => {
    const path = newPath()
    const file = await openSqliteFile(path, 20, () => {})
    onTestFinished(file.close)
    const ledger = createSqliteLedger(file, clock)
    file.db.exec('PRAGMA max_page_count = 1')
    const payments = Array.from({ length: 200 }, () => createPayment({ scope: 'x'.repeat(500) }))
    const refused: PaymentRecord[] = []
    for (let at = 0; at < payments.length; at += 20) {
      const calls = payments.slice(at, at + 20).map(async (payment) => {
        const error: unknown = await ledger.take(takeOf(payment)).then(
          () => undefined,
          (reason) => reason,
        )
        if (error) refused.push(payment)
        if (error) expect(error).toBeInstanceOf(LedgerUnavailable)
        if (error) expect(error).toMatchObject({ message: expect.stringMatching(/disk is full/) })
      })
      await Promise.all(calls)
    }
    expect(refused.length).toBeGreaterThan(0)
    for (const payment of refused) expect(await ledger.peek(payment.tx)).toBeUndefined()
    file.db.exec('PRAGMA max_page_count = 1000000')
    for (const payment of refused) expect((await ledger.take(takeOf(payment))).kind).toBe('granted')
  })

  it('of a file that was moved away passes when it is back', async () => {
    const path = newPath()
    const ledger = await open(path)
    const payment = createPayment()
    renameSync(path, `${path}.away`)
    await expect(ledger.take(takeOf(payment))).rejects.toThrow(LedgerUnavailable)
    await expect(ledger.peek(payment.tx)).rejects.toThrow(/no longer exists/)
    writeFileSync(path, '')
    await expect(ledger.take(takeOf(payment))).rejects.toThrow(LedgerUnavailable)
    renameSync(`${path}.away`, path)
    expect(await ledger.peek(payment.tx)).toBeDefined()
  })

  it.each<[string, (path: string) => void]>([
    ['log that was removed', (path) => rmSync(`${path}-wal`)],
    ['log that was replaced', (path) => writeFileSync(`${path}-new`, '') ?? renameSync(`${path}-new`, `${path}-wal`)],
    ['log whose index was removed', (path) => rmSync(`${path}-shm`)],
  ])('T247: of a write-ahead %s acknowledges nothing that the next start may not find', async (_, act) => {
    const path = newPath()
    const ledger = await open(path)
    const [before, after] = [createPayment(), createPayment()]
    granted(await ledger.take(takeOf(before)))
    act(path)
    await expect(ledger.take(takeOf(after))).rejects.toThrow(LedgerUnavailable)
    await expect(ledger.peek(before.tx)).rejects.toThrow(/no longer exists/)
  })

  it('of a file that was moved away is noticed by readers, of which those of one moment share a check', async () => {
    const path = newPath()
    const ledger = await open(path)
    const payment = createPayment()
    granted(await ledger.take(takeOf(payment)))
    const moment = performance.now()
    const now = vi.spyOn(performance, 'now').mockReturnValue(moment)
    onTestFinished(() => now.mockRestore())
    renameSync(path, `${path}.away`)
    now.mockReturnValue(moment + 50)
    await expect(ledger.peek(payment.tx)).rejects.toThrow(/no longer exists/)
    renameSync(`${path}.away`, path)
    expect(await ledger.peek(payment.tx)).toBeDefined()
    renameSync(path, `${path}.away`)
    expect(await ledger.peek(payment.tx)).toBeDefined()
    await expect(ledger.take(takeOf(createPayment()))).rejects.toThrow(/no longer exists/)
    await expect(ledger.peek(payment.tx)).rejects.toThrow(/no longer exists/)
  })

  it('is none where the file is behind a link', async () => {
    const path = newPath()
    await (await open(path)).close()
    symlinkSync(path, `${path}.link`)
    const ledger = await open(`${path}.link`)
    granted(await ledger.take(takeOf(createPayment())))
    const inspection = await inspectLedger(`sqlite:${path}.link`, identity, clock.now())
    expect(inspection).toMatchObject({ kind: 'good', facts: { payments: 1 } })
  })

  it('leaves the books with the committed changes if one of several jobs fails', async () => {
    const file = await openSqliteFile(newPath(), 20, () => {})
    onTestFinished(file.close)
    const counts = { payments: 1, received: 1n, worth: 0n, unvalued: 1, refunded: 0n, refundedWorth: 0n }
    const change = { keys: [{ grain: 'all', at: 0, endpoint: '', token: 'SOL' }], counts } as const
    const payments = () => file.db.prepare('SELECT sum(payments) AS payments FROM rollups').get()?.['payments']
    let runs = 0
    const calls = [1, 2, 3].map((number) =>
      file.write((enter) => {
        runs += 1
        enter([change])
        if (number === 2) throw new Error('a fault of the program')
      }),
    )
    // By itself, after what was asked before it is in the books, and before what is asked after it.
    const alone = file.writeAlone(payments)
    const last = file.write((enter) => enter([change]))
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(runs).toBe(5)
    expect(await alone).toBe(2)
    await last
    expect(await file.read(payments)).toBe(3)
  })

  it('does not cover a defect of the program, which affects no other job of the commit', async () => {
    const path = newPath()
    const file = await openSqliteFile(path, 20, () => {})
    onTestFinished(file.close)
    const insert = (key: string, value: string) => () => {
      file.db.exec(`INSERT INTO meta VALUES ('${key} 1', 'x')`)
      file.db.exec(`INSERT INTO meta VALUES ('${key} 2', ${value})`)
    }
    const calls = [file.write(insert('a', "'x'")), file.write(insert('b', 'NULL')), file.write(insert('c', "'x'"))]
    const [, fault] = await Promise.allSettled(calls)
    expect(fault).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/NOT NULL/) } })
    expect(fault).not.toMatchObject({ reason: expect.any(LedgerUnavailable) })
    const keys = await file.read(() => file.db.prepare('SELECT key FROM meta ORDER BY key').all())
    expect(keys.map(({ key }) => key)).toEqual(['a 1', 'a 2', 'c 1', 'c 2'])
  })

  it('of the disk fails all jobs of the commit', async () => {
    const path = newPath()
    const file = await openSqliteFile(path, 20, () => {})
    onTestFinished(file.close)
    const insert = (key: string, bytes: number) =>
      file.write(() => file.db.prepare('INSERT INTO meta VALUES (?, ?)').run(key, 'x'.repeat(bytes)))
    file.db.exec('PRAGMA max_page_count = 1')
    for (const answer of await Promise.allSettled([insert('a', 1), insert('b', 100_000), insert('c', 1)])) {
      expect(answer).toMatchObject({
        reason: { name: 'LedgerUnavailable', message: expect.stringMatching(/disk is full/) },
      })
    }
    file.db.exec('PRAGMA max_page_count = 1000000')
    await Promise.all([insert('a', 1), insert('b', 100_000), insert('c', 1)])
  })

  it('at the very end of a commit does not last', async () => {
    const path = newPath()
    const file = await openSqliteFile(path, 20, () => {})
    onTestFinished(file.close)
    const orphan = 'PRAGMA defer_foreign_keys = ON; INSERT INTO grants VALUES (999, 1, 1, 1, 0)'
    await expect(file.write(() => file.db.exec(orphan))).rejects.toThrow(/FOREIGN KEY/)
    await file.write(() => file.db.exec("INSERT INTO meta VALUES ('a', 'b')"))
  })

  it('of the lock fails all waiting jobs at once', async () => {
    const path = newPath()
    const ledger = await open(path, identity, 100)
    const rival = new DatabaseSync(path)
    rival.exec('BEGIN IMMEDIATE')
    const before = performance.now()
    const takes = Array.from({ length: 1000 }, () => ledger.take(takeOf(createPayment())))
    const answers = await Promise.allSettled(takes)
    rival.close()
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true)
    expect(performance.now() - before).toBeLessThan(10_000)
  })
})
