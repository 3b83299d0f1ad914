/** Who is owed what, in the ledger's SQLite file. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { NumberedAccrual, PayeeName, Rewards, RoleSum, SharedOut } from '../../core/payouts/ports/rewards.ts'
import type { Clock } from '../../core/runtime.ts'
import { checkTx, readTime } from '../rules/grants.ts'
import { accruedBy, checkAccruals, computeHour, computeReach, numbered, spendingSpan } from '../rules/payables.ts'
import { checkCount } from '../rules/periods.ts'
import type { AccrualRow, PayeeRow, RipeningRow, ShareRow, SumsRow, VerificationRow } from '../sql/payables.ts'
import {
  accrualColumns,
  payeeColumns,
  readAccruals,
  readPayee,
  readRipening,
  readSums,
  readVerification,
  ripeningColumns,
} from '../sql/payables.ts'
import { formatText, parseText } from '../stored-text.ts'
import type { SqliteFile } from './file.ts'
import { auditSqlitePayables } from './payables-audit.ts'
import type { TotalRow } from './payee-balances.ts'
import { preparePayeeBalances, readTotal, totalOf } from './payee-balances.ts'

export type Ripen = (tx: Uint8Array, paidAt: number) => void

/** A payment has become final. To be called inside a transaction. */
export function prepareRipening(db: DatabaseSyncInstance): Ripen {
  const insert = db.prepare(`
    INSERT OR IGNORE INTO ripening (tx, paid_at, due) SELECT ?, ?, 0
    WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'rewards')`)
  return (tx, paidAt) => void insert.run(tx, paidAt)
}

export function createSqliteRewards(file: SqliteFile, clock: Clock): Rewards {
  const { db, read, write } = file
  const writing = prepareAccruing(db)
  const sharedOf = prepareShared(db)
  const start = db.prepare("INSERT OR IGNORE INTO meta (key, value) VALUES ('rewards', ?)")
  const last = db.prepare('SELECT coalesce(max(number), 0) AS last FROM accruals')
  // Those that were never postponed are in order by the index; of the others only those are sorted whose time has come.
  const first = (isDue: string) => `
    SELECT tx, paid_at FROM ripening WHERE ${isDue} ORDER BY paid_at, tx LIMIT ?2`
  const ripe = db.prepare(`
    SELECT ${ripeningColumns} FROM (SELECT * FROM (${first('due = 0')}) UNION ALL
      SELECT * FROM (${first('due > 0 AND due <= ?1')})) AS ripe
    JOIN payments AS paid ON paid.tx = ripe.tx WHERE finality = 'finalized' AND state = 'valid'
    ORDER BY ripe.paid_at, ripe.tx LIMIT ?2`)
  const isSpent = "FROM accruals WHERE payer = ?1 AND why = ''"
  const spent = db.prepare(`
    SELECT ${totalOf('worth')} FROM (SELECT worth FROM spendings WHERE payer = ?1 AND at >= ?2 AND at < ?3 UNION ALL
      SELECT worth ${isSpent} AND paid_at >= ?4 AND paid_at < ?5 UNION ALL
      SELECT worth ${isSpent} AND paid_at >= ?6 AND paid_at < ?7)`)
  spent.setReadBigInts(true)
  const postpone = db.prepare('UPDATE ripening SET due = ? WHERE tx = ?')
  const keepRules = db.prepare('INSERT OR IGNORE INTO reward_rules (id, text) VALUES (?, ?)')
  const rules = db.prepare('SELECT text FROM reward_rules WHERE id = ?')
  const accruals = db.prepare('SELECT * FROM accruals WHERE number > ? ORDER BY number LIMIT ?')
  const known = db.prepare('SELECT 1 FROM accruals WHERE tx = ?')
  const sharesOf = db.prepare('SELECT number, role, payee, units FROM shares WHERE number >= ? AND number <= ?')
  const count = db.prepare('SELECT count(*) AS count FROM ripening')
  const readAll = (rows: readonly AccrualRow[]): readonly NumberedAccrual[] => {
    const [begin, end] = [rows[0]?.number ?? 0, rows.at(-1)?.number ?? 0]
    return readAccruals(rows, sharesOf.all(begin as number, end as number) as unknown as ShareRow[])
  }

  return {
    start: () => write(() => void start.run(String(readTime(clock)))),
    accruable: (most) =>
      read(() => {
        // Before the payments: who accrues in between makes the number pass.
        const number = (last.get() as { readonly last: number }).last
        const rows = ripe.all(readTime(clock), checkCount(most)) as unknown as RipeningRow[]
        return { payments: rows.map(readRipening), last: number }
      }),
    spent: (payer, from, to) =>
      read(() => {
        const { hours, ends } = spendingSpan(from, to)
        return readTotal(spent.get(formatText(payer), ...hours, ...ends) as unknown as TotalRow)
      }),
    async accrue(number, given) {
      checkAccruals(given)
      return write(() => {
        if ((last.get() as { readonly last: number }).last !== number) return false
        writing(
          numbered(number, given, (tx) => known.get(tx) !== undefined),
          given,
        )
        return true
      })
    },
    postpone: (txs, until) =>
      write(() => {
        for (const tx of txs) postpone.run(Math.ceil(until), tx)
      }),
    keepRules: (id, text) => write(() => void keepRules.run(formatText(id), formatText(text))),
    rules: (id) =>
      read(() => {
        const row = rules.get(formatText(id)) as { readonly text: string } | undefined
        return row && parseText(row.text)
      }),
    accruals: (after, most) => read(() => readAll(accruals.all(after, checkCount(most)) as unknown as AccrualRow[])),
    async shared(txs) {
      for (const tx of txs) checkTx(tx)
      return read(() => txs.map(sharedOf))
    },
    countAccruable: () => read(() => (count.get() as { readonly count: number }).count),
    ...payeesOf(file, clock),
    ...verificationsOf(file),
    audit: () => auditSqlitePayables(file),
  }
}

function prepareShared(db: DatabaseSyncInstance): (tx: Uint8Array) => SharedOut | undefined {
  const find = db.prepare(`
    SELECT kept.at, kept.why, ${totalOf('part.units')} FROM accruals AS kept
      LEFT JOIN shares AS part ON part.number = kept.number WHERE tx = ? GROUP BY kept.number`)
  find.setReadBigInts(true)
  type SharedRow = TotalRow & Pick<AccrualRow, 'at' | 'why'>
  return (tx) => {
    const row = find.get(tx) as unknown as SharedRow | undefined
    return row && { at: Number(row.at), units: readTotal(row), why: row.why }
  }
}

/** Writes accruals that are numbered, and takes all that are given off the list of what ripens. */
function prepareAccruing(db: DatabaseSyncInstance) {
  const till = preparePayeeBalances(db)
  const names = Object.keys(accrualColumns)
  const insert = db.prepare(`
    INSERT INTO accruals (tx, ${names.join(', ')}) VALUES (?, ${names.map(() => '?').join(', ')})`)
  const share = db.prepare('INSERT INTO shares (number, role, payee, units, rate) VALUES (?, ?, ?, ?, ?)')
  const spentBefore = db.prepare('SELECT worth FROM spendings WHERE payer = ? AND at = ?')
  const setSpent = db.prepare('INSERT OR REPLACE INTO spendings (payer, at, worth) VALUES (?, ?, ?)')
  const remove = db.prepare('DELETE FROM ripening WHERE tx = ?')
  const spend = ({ payer, paidAt, worth }: NumberedAccrual): void => {
    const [name, hour] = [formatText(payer), computeHour(paidAt)]
    const row = spentBefore.get(name, hour) as { readonly worth: string } | undefined
    setSpent.run(name, hour, String(BigInt(row?.worth ?? 0) + worth))
  }
  return (fresh: readonly NumberedAccrual[], given: readonly { readonly tx: Uint8Array }[]): void => {
    for (const accrual of fresh) {
      insert.run(accrual.tx, ...Object.values(accrualColumns).map(([, read]) => read(accrual)))
      for (const { role, payee, units } of accrual.shares)
        share.run(accrual.number, role, formatText(payee), String(units), String(accrual.rate))
      if (accrual.why === '') spend(accrual)
    }
    till.add(accruedBy(fresh))
    for (const { tx } of given) remove.run(tx)
  }
}

type PayeePart = Pick<Rewards, 'due' | 'payees' | 'payee' | 'owed' | 'park' | 'sums'>

function payeesOf({ db, read, write }: SqliteFile, clock: Clock): PayeePart {
  const isFree = (
    parked: string,
  ) => `SELECT ${payeeColumns} FROM payees WHERE reserved = '0' AND owed <> '0' AND ${parked}
    AND length(owed) >= length(?1) AND (length(owed) > length(?1) OR owed >= ?1)
    ORDER BY length(owed) DESC, owed DESC, role, payee LIMIT ?3`
  const due = db.prepare(`SELECT * FROM (SELECT * FROM (${isFree('parked_until = 0')}) UNION ALL
      SELECT * FROM (${isFree('parked_until > 0 AND parked_until <= ?2')}))
    ORDER BY length(owed) DESC, owed DESC, role, payee LIMIT ?3`)
  const list = db.prepare(
    `SELECT ${payeeColumns} FROM payees WHERE (role, payee) > (?, ?) ORDER BY role, payee LIMIT ?`,
  )
  const listOf = db.prepare(`
    SELECT ${payeeColumns} FROM payees WHERE role = ? AND (role, payee) > (?, ?) ORDER BY payee LIMIT ?`)
  const owed = db.prepare(`
    SELECT rate, kept.upto AS after, max(number) AS last, ${totalOf('units')} FROM payees AS kept
      JOIN shares AS shared ON shared.role = kept.role AND shared.payee = kept.payee AND number > kept.upto
    WHERE kept.role = ? AND kept.payee = ? AND number <= ? GROUP BY rate`)
  owed.setReadBigInts(true)
  const unpaid = db.prepare(`
    SELECT number, units FROM payees AS kept
      JOIN shares AS shared ON shared.role = kept.role AND shared.payee = kept.payee AND number > kept.upto
    WHERE kept.role = ? AND kept.payee = ? ORDER BY number`)
  /** Read one by one, and no further than it goes. */
  const sharesOf = function* (name: PayeeName) {
    for (const row of unpaid.iterate(...named(name))) {
      const { number, units } = row as unknown as Pick<ShareRow, 'units'> & { readonly number: number }
      yield { number, units: BigInt(units) }
    }
  }
  const txOf = db.prepare('SELECT tx FROM accruals WHERE number = ?')
  const one = db.prepare(`SELECT ${payeeColumns} FROM payees WHERE role = ? AND payee = ?`)
  const park = db.prepare('UPDATE payees SET why = ?, parked_until = ? WHERE role = ? AND payee = ?')
  const sums = db.prepare('SELECT role, payees, accrued, owed, reserved, paid FROM role_sums ORDER BY role')
  type OwedRow = TotalRow & { readonly rate: string; readonly after: bigint; readonly last: bigint }
  const named = ({ role, payee }: PayeeName) => [role, formatText(payee)] as const

  return {
    due: (least, most) =>
      read(() => {
        const now = readTime(clock)
        const rows = due.all(String(least > 0n ? least : 0n), now, checkCount(most)) as unknown as PayeeRow[]
        return rows.map((row) => readPayee(row, now))
      }),
    payees: ({ role, after, most }) =>
      read(() => {
        const place = after ? named(after) : (['', ''] as const)
        const rows = role ? listOf.all(role, ...place, checkCount(most)) : list.all(...place, checkCount(most))
        const now = readTime(clock)
        return (rows as unknown as PayeeRow[]).map((row) => readPayee(row, now))
      }),
    payee: (name) =>
      read(() => {
        const row = one.get(...named(name)) as unknown as PayeeRow | undefined
        return row && readPayee(row, readTime(clock))
      }),
    owed: (name, most) =>
      read(() => {
        // Whoever pays in between leaves less, of which all is told that follows: it comes to what its accruals say.
        const reach = most === undefined ? undefined : computeReach(sharesOf(name), most)
        const rows = owed.all(...named(name), reach ?? Number.MAX_SAFE_INTEGER) as unknown as OwedRow[]
        if (rows.length === 0) return undefined
        const upto = rows.reduce((most, { last }) => Math.max(most, Number(last)), 0)
        const from = Number(rows[0]?.after)
        const { tx } = txOf.get(upto) as { readonly tx: Uint8Array }
        const atRates = rows.map((row) => ({ rate: BigInt(row.rate), units: readTotal(row) }))
        const units = atRates.reduce((sum, one) => sum + one.units, 0n)
        return {
          from,
          upto,
          units,
          atRates: atRates.sort((one, other) => (one.rate < other.rate ? -1 : 1)),
          tx: new Uint8Array(tx),
        }
      }),
    park: (name, why, until) => write(() => void park.run(formatText(why), Math.ceil(until), ...named(name))),
    sums: () =>
      read(() =>
        (sums.all() as unknown as (SumsRow & Pick<RoleSum, 'payees'>)[]).map((row) => ({
          ...readSums(row),
          payees: row.payees,
        })),
      ),
  }
}

function verificationsOf({ db, read, write }: SqliteFile): Pick<Rewards, 'verify' | 'revoke' | 'verifications'> {
  // As `nextVerifications` and `revoked` have it.
  const forget = db.prepare('DELETE FROM verifications WHERE host = ? AND begins >= ?')
  const end = db.prepare('UPDATE verifications SET ends = ?2 WHERE host = ?1 AND ends > ?2')
  const insert = db.prepare('INSERT INTO verifications (host, begins, ends, wallet, revoked) VALUES (?, ?, ?, ?, 0)')
  const revoke = db.prepare(
    'UPDATE verifications SET ends = max(begins, ?2), revoked = 1 WHERE host = ?1 AND ends > ?2',
  )
  const all = db.prepare('SELECT host, wallet, begins, ends, revoked FROM verifications ORDER BY begins, host')
  const own = db.prepare('SELECT host, wallet, begins, ends, revoked FROM verifications WHERE host = ? ORDER BY begins')
  return {
    verify: ({ host, wallet, from, until }) =>
      write(() => {
        forget.run(formatText(host), from)
        end.run(formatText(host), from)
        insert.run(formatText(host), from, until, formatText(wallet))
      }),
    revoke: (host, at) => write(() => Number(revoke.run(formatText(host), at).changes) > 0),
    verifications: (host) =>
      read(() => {
        const rows = host === undefined ? all.all() : own.all(formatText(host))
        return (rows as unknown as VerificationRow[]).map(readVerification)
      }),
  }
}
