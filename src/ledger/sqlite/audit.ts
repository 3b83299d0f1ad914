/** The books in SQLite, counted again and, if so asked, written anew. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Discrepancy } from '../../core/payouts/discrepancy.ts'
import type { PaymentListMark } from '../../core/ports/reports.ts'
import type { AuditPage } from '../rules/audit.ts'
import { compareBooks } from '../rules/audit.ts'
import { revalued } from '../rules/revaluation.ts'
import type { Grain, Line, TotalsChange } from '../rules/totals.ts'
import { computeChange, isCounted, refundChange } from '../rules/totals.ts'
import { parseRates, parseText } from '../stored-text.ts'
import type { SqliteFile } from './file.ts'
import { prepareRefunds } from './refunds.ts'
import type { BookedRow } from './rows.ts'
import { bookedColumns, readBooked } from './rows.ts'
import type { CountsRow } from './totals.ts'
import { prepareRollups, readCounts } from './totals.ts'

const pageSize = 2_000
const columns = `tx, ${bookedColumns}`

type LineRow = CountsRow & {
  readonly grain: Grain
  readonly at: bigint
  readonly endpoint: string
  readonly token: TokenCode
}

/** Between two pages the process does what else it has to do. */
export function auditSqlite({ readSnapshot }: SqliteFile): Promise<readonly Discrepancy[]> {
  return readSnapshot((db) => {
    const [page, lines, refunds] = [preparePage(db), prepareLines(db), prepareRefunds(db)]
    return compareBooks(
      async (after) => {
        await new Promise((resolve) => setImmediate(resolve))
        return page(after)
      },
      (span) => lines(span),
      (span) => refunds(span),
    )
  })
}

function preparePage(db: DatabaseSyncInstance) {
  const order = `ORDER BY paid_at, tx LIMIT ${pageSize}`
  const first = db.prepare(`SELECT ${columns} FROM payments ${order}`)
  const next = db.prepare(`SELECT ${columns} FROM payments WHERE (paid_at, tx) > (?, ?) ${order}`)
  for (const statement of [first, next]) statement.setReadBigInts(true)
  return (after: PaymentListMark | undefined): AuditPage => {
    const rows = after ? next.all(after.at, after.tx) : first.all()
    return (rows as unknown as (BookedRow & { readonly tx: Uint8Array })[]).map((row) => ({
      ...readBooked(row),
      tx: new Uint8Array(row.tx),
    }))
  }
}

function prepareLines(db: DatabaseSyncInstance) {
  const timed = db.prepare(`SELECT * FROM rollups
    WHERE grain IN ('hour', 'hour_endpoint', 'day_endpoint') AND at >= ? AND at < ?`)
  const timeless = db.prepare("SELECT * FROM rollups WHERE grain IN ('all', 'endpoint')")
  const payers = db.prepare("SELECT *, 'day_payer' AS grain FROM payers WHERE at >= ? AND at < ?")
  for (const statement of [timed, timeless, payers]) statement.setReadBigInts(true)
  return (span: readonly [from: number, to: number] | 'timeless'): readonly Line[] => {
    if (span === 'timeless') return (timeless.all() as unknown as LineRow[]).map(readLine)
    const own = (payers.all(...span) as unknown as PayerRow[]).map((row) => readLine({ ...row, endpoint: row.payer }))
    return [...(timed.all(...span) as unknown as LineRow[]).map(readLine), ...own]
  }
}

type PayerRow = LineRow & { readonly payer: string }

function readLine(row: LineRow): Line {
  const { grain, token } = row
  const endpoint = grain === 'day_payer' ? row.endpoint : parseText(row.endpoint)
  return { grain, at: Number(row.at), endpoint, token, ...readCounts(row) }
}

type ValueRow = BookedRow & { readonly id: bigint; readonly rates: string | null }

/**
 * Under the write lock, and in one go: other processes on the file wait that long, and this one does nothing else. About
 * ten seconds for a million payments: to be done while nobody pays.
 */
export async function rebuildSqlite({ db, writeAlone }: SqliteFile, reportToken: TokenCode): Promise<void> {
  await writeAlone(() => {
    const remembered = db.prepare("SELECT value FROM meta WHERE key = 'reportToken'").get()
    const before = (remembered as { readonly value: TokenCode } | undefined)?.value
    const page = db.prepare(`SELECT id, rates, ${columns} FROM payments WHERE id > ? ORDER BY id LIMIT ${pageSize}`)
    page.setReadBigInts(true)
    const setWorth = db.prepare('UPDATE payments SET worth = ? WHERE id = ?')
    const add = prepareRollups(db)
    db.exec('DELETE FROM rollups; DELETE FROM payers')
    for (let after = -1n; ; ) {
      const rows = page.all(after) as unknown as ValueRow[]
      const changes: TotalsChange[] = []
      for (const row of rows) {
        const booked = readBooked(row)
        const worth = revalued({ ...booked, rates: parseRates(row.rates) }, before, reportToken)
        if (worth !== booked.worth) setWorth.run(worth === undefined ? null : String(worth), row.id)
        const value = { ...booked, worth }
        if (isCounted(value)) changes.push(computeChange(value))
      }
      add(changes)
      const last = rows.at(-1)
      if (!last) break
      after = last.id
    }
    const refunds = prepareRefunds(db)([Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])
    add(refunds.map(({ booked, refund }) => refundChange(booked, refund)))
    db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('reportToken', ?)").run(reportToken)
  })
}
