/** Who is owed what, in the ledger's PostgreSQL database. */
import type { NumberedAccrual, PayeeName, Rewards, RoleSum, SharedOut } from '../../core/payouts/ports/rewards.ts'
import type { Clock } from '../../core/runtime.ts'
import { checkTx, readTime } from '../rules/grants.ts'
import { accruedBy, checkAccruals, computeHour, numbered, spendingSpan } from '../rules/payables.ts'
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
import type { Database } from './database.ts'
import { auditPostgresPayables } from './payables-audit.ts'
import { addToPayees, transactPayables } from './payee-balances.ts'
import { formatHex } from './rows.ts'

const start = "INSERT INTO paystile_meta (key, value) VALUES ('rewards', $1) ON CONFLICT (key) DO NOTHING"
const last = 'SELECT coalesce(max(number), 0) AS last FROM paystile_accruals'
// Those that were never postponed are in order by the index; of the others only those are sorted whose time has come.
const first = (isDue: string) => `
  (SELECT tx, paid_at FROM paystile_ripening WHERE ${isDue} ORDER BY paid_at, tx LIMIT $2)`
const ripe = `SELECT ${ripeningColumns} FROM (${first('due = 0')} UNION ALL ${first('due > 0 AND due <= $1')}) AS ripe
  JOIN paystile_payments AS paid ON paid.tx = ripe.tx WHERE finality = 'finalized' AND NOT late
  ORDER BY ripe.paid_at, ripe.tx LIMIT $2`
const isSpent = "FROM paystile_accruals WHERE payer = $1 AND why = ''"
const spent = `SELECT coalesce(sum(worth), 0) AS total FROM (
  SELECT worth FROM paystile_spendings WHERE payer = $1 AND at >= $2 AND at < $3 UNION ALL
  SELECT worth ${isSpent} AND paid_at >= $4 AND paid_at < $5 UNION ALL
  SELECT worth ${isSpent} AND paid_at >= $6 AND paid_at < $7) AS parts`
const known = 'SELECT tx FROM paystile_accruals WHERE tx = ANY ($1::bytea[])'
const names = Object.keys(accrualColumns)
const types = Object.values(accrualColumns).map(([type]) => type)
const insert = `INSERT INTO paystile_accruals (tx, ${names.join(', ')})
  SELECT * FROM unnest($1::bytea[], ${types.map((type, index) => `$${index + 2}::${type}[]`).join(', ')})`
const insertShares = `INSERT INTO paystile_shares (number, role, payee, units, rate)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::numeric[], $5::numeric[])`
const spend = `INSERT INTO paystile_spendings AS kept (payer, at, worth)
  SELECT payer, at, sum(worth) FROM unnest($1::text[], $2::bigint[], $3::numeric[]) AS given (payer, at, worth)
  GROUP BY payer, at ON CONFLICT (payer, at) DO UPDATE SET worth = kept.worth + excluded.worth`
// In the one order, since others may postpone the same.
const held = 'WITH held AS (SELECT tx FROM paystile_ripening WHERE tx = ANY ($1::bytea[]) ORDER BY tx FOR UPDATE)'
const remove = `${held} DELETE FROM paystile_ripening AS kept USING held WHERE kept.tx = held.tx`
const postpone = `${held} UPDATE paystile_ripening AS kept SET due = $2 FROM held WHERE kept.tx = held.tx`
const keepRules = 'INSERT INTO paystile_reward_rules (id, text) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING'
const accruals = 'SELECT * FROM paystile_accruals WHERE number > $1 ORDER BY number LIMIT $2'
const sharesOf = 'SELECT number, role, payee, units FROM paystile_shares WHERE number >= $1 AND number <= $2'
const shared = `SELECT tx, at, why, (SELECT coalesce(sum(units), 0) FROM paystile_shares AS part
    WHERE part.number = kept.number) AS units FROM paystile_accruals AS kept WHERE tx = ANY ($1::bytea[])`

type Query = Database['query']

async function all<Row>(query: Query, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  return (await query(sql, values)) as unknown as readonly Row[]
}

export function createPostgresRewards(database: Database, clock: Clock): Rewards {
  const { query } = database
  const readAll = async (rows: readonly AccrualRow[]): Promise<readonly NumberedAccrual[]> => {
    const shares = await all<ShareRow>(query, sharesOf, [rows[0]?.number ?? 0, rows.at(-1)?.number ?? 0])
    return readAccruals(rows, shares)
  }
  const lastOf = async (query: Query) => Number((await query(last))[0]?.['last'])

  return {
    async start() {
      await query(start, [String(readTime(clock))])
    },
    async accruable(most) {
      // Before the payments: who accrues in between makes the number pass.
      const number = await lastOf(query)
      const rows = await all<RipeningRow>(query, ripe, [readTime(clock), checkCount(most)])
      return { payments: rows.map(readRipening), last: number }
    },
    async spent(payer, from, to) {
      const { hours, ends } = spendingSpan(from, to)
      const [row] = await query(spent, [formatText(payer), ...hours, ...ends])
      return BigInt(String(row?.['total']))
    },
    async accrue(number, given) {
      checkAccruals(given)
      return transactPayables(database, async (query) => {
        if ((await lastOf(query)) !== number) return false
        const keys = given.map(({ tx }) => formatHex(tx))
        const before = new Set((await all<AccrualRow>(query, known, [keys])).map(({ tx }) => formatHex(tx)))
        await write(
          query,
          numbered(number, given, (tx) => before.has(formatHex(tx))),
        )
        await query(remove, [keys])
        return true
      })
    },
    async postpone(txs, until) {
      await query(postpone, [txs.map(formatHex), Math.ceil(until)])
    },
    async keepRules(id, text) {
      await query(keepRules, [formatText(id), formatText(text)])
    },
    async rules(id) {
      const [row] = await query('SELECT text FROM paystile_reward_rules WHERE id = $1', [formatText(id)])
      return row && parseText(String(row['text']))
    },
    accruals: async (after, most) => readAll(await all<AccrualRow>(query, accruals, [after, checkCount(most)])),
    async shared(txs) {
      for (const tx of txs) checkTx(tx)
      const keys = txs.map(formatHex)
      const rows = await all<AccrualRow>(query, shared, [keys])
      const byTx = new Map(rows.map((row) => [formatHex(row.tx), row]))
      return keys.map((key): SharedOut | undefined => {
        const row = byTx.get(key)
        return row && { at: Number(row.at), units: BigInt(row.units), why: row.why }
      })
    },
    async countAccruable() {
      return Number((await query('SELECT count(*) AS count FROM paystile_ripening'))[0]?.['count'])
    },
    ...payeesOf(database, clock),
    ...verificationsOf(database),
    audit: () => auditPostgresPayables(database),
  }
}

async function write(query: Query, fresh: readonly NumberedAccrual[]): Promise<void> {
  if (fresh.length === 0) return
  const columns = Object.values(accrualColumns).map(([, read]) => fresh.map(read))
  await query(insert, [fresh.map(({ tx }) => formatHex(tx)), ...columns])
  const shares = fresh.flatMap(({ number, rate, shares }) => shares.map((share) => ({ ...share, number, rate })))
  await query(insertShares, [
    shares.map(({ number }) => number),
    shares.map(({ role }) => role),
    shares.map(({ payee }) => formatText(payee)),
    shares.map(({ units }) => String(units)),
    shares.map(({ rate }) => String(rate)),
  ])
  const shared = fresh.filter(({ why }) => why === '')
  await query(spend, [
    shared.map(({ payer }) => formatText(payer)),
    shared.map(({ paidAt }) => computeHour(paidAt)),
    shared.map(({ worth }) => String(worth)),
  ])
  await addToPayees(query, accruedBy(fresh), true)
}

const isFree = (parked: string) => `(SELECT ${payeeColumns} FROM paystile_payees
  WHERE reserved = 0 AND owed > 0 AND ${parked} AND owed >= $1 ORDER BY owed DESC, role, payee LIMIT $3)`
const due = `SELECT * FROM (${isFree('parked_until = 0')} UNION ALL ${isFree('parked_until > 0 AND parked_until <= $2')})
  AS free ORDER BY owed DESC, role, payee LIMIT $3`
const list = (isOwn: string) => `SELECT ${payeeColumns} FROM paystile_payees WHERE ${isOwn}(role, payee) > ($1, $2)
  ORDER BY role, payee LIMIT $3`
const one = `SELECT ${payeeColumns} FROM paystile_payees WHERE role = $1 AND payee = $2`
const owed = `SELECT rate, kept.upto AS after, max(number) AS last, sum(units) AS units FROM paystile_payees AS kept
    JOIN paystile_shares AS shared ON shared.role = kept.role AND shared.payee = kept.payee AND number > kept.upto
  WHERE kept.role = $1 AND kept.payee = $2 AND number <= $3 GROUP BY rate, kept.upto ORDER BY rate`
/** The first that makes it more than that. In the order of the index, and no further than it goes. */
const beyond = `SELECT number, place FROM (
    SELECT number, sum(units) OVER own AS total, row_number() OVER own AS place FROM paystile_payees AS kept
      JOIN paystile_shares AS shared ON shared.role = kept.role AND shared.payee = kept.payee AND number > kept.upto
    WHERE kept.role = $1 AND kept.payee = $2 WINDOW own AS (ORDER BY number)) AS counted
  WHERE total > $3 ORDER BY number LIMIT 1`
const park = 'UPDATE paystile_payees SET why = $3, parked_until = $4 WHERE role = $1 AND payee = $2'
const sums = 'SELECT role, payees, accrued, owed, reserved, paid FROM paystile_role_sums ORDER BY role'

type PayeePart = Pick<Rewards, 'due' | 'payees' | 'payee' | 'owed' | 'park' | 'sums'>

function payeesOf({ query }: Database, clock: Clock): PayeePart {
  type OwedRow = Record<'rate' | 'after' | 'last' | 'units', string>
  const named = ({ role, payee }: PayeeName) => [role, formatText(payee)]
  return {
    async due(least, most) {
      const now = readTime(clock)
      const rows = await all<PayeeRow>(query, due, [String(least), now, checkCount(most)])
      return rows.map((row) => readPayee(row, now))
    },
    async payees({ role, after, most }) {
      const place = [...(after ? named(after) : ['', '']), checkCount(most)]
      const rows = role
        ? await all<PayeeRow>(query, list('role = $4 AND '), [...place, role])
        : await all<PayeeRow>(query, list(''), place)
      const now = readTime(clock)
      return rows.map((row) => readPayee(row, now))
    },
    async payee(name) {
      const [row] = await all<PayeeRow>(query, one, named(name))
      return row && readPayee(row, readTime(clock))
    },
    async owed(name, most) {
      const asked = most === undefined ? [] : [...named(name), String(most)]
      const [over] = asked.length === 0 ? [] : await all<Record<'number' | 'place', string>>(query, beyond, asked)
      // Whoever pays in between leaves less, of which all is told that follows: it comes to what its accruals say.
      const reach = over ? Number(over.number) - (over.place === '1' ? 0 : 1) : Number.MAX_SAFE_INTEGER
      const rows = await all<OwedRow>(query, owed, [...named(name), reach])
      if (rows.length === 0) return undefined
      const upto = rows.reduce((most, { last }) => Math.max(most, Number(last)), 0)
      const [accrual] = await all<Pick<AccrualRow, 'tx'>>(query, 'SELECT tx FROM paystile_accruals WHERE number = $1', [
        upto,
      ])
      const atRates = rows.map(({ rate, units }) => ({ rate: BigInt(rate), units: BigInt(units) }))
      const units = atRates.reduce((sum, one) => sum + one.units, 0n)
      return { from: Number(rows[0]?.after), upto, units, atRates, tx: new Uint8Array(accrual?.tx ?? []) }
    },
    async park(name, why, until) {
      await query(park, [...named(name), formatText(why), Math.ceil(until)])
    },
    async sums() {
      const rows = await all<SumsRow & Record<'payees', string>>(query, sums)
      return rows.map((row): RoleSum => ({ ...readSums(row), payees: Number(row.payees) }))
    },
  }
}

// As `nextVerifications` and `revoked` have it.
const forget = 'DELETE FROM paystile_verifications WHERE host = $1 AND begins >= $2'
const end = 'UPDATE paystile_verifications SET ends = $2 WHERE host = $1 AND ends > $2'
const verify = `INSERT INTO paystile_verifications (host, begins, ends, wallet, revoked) VALUES ($1, $2, $3, $4, false)`
const revoke = `UPDATE paystile_verifications SET ends = greatest(begins, $2), revoked = true
  WHERE host = $1 AND ends > $2 RETURNING host`
const verifications = (isOwn: string) =>
  `SELECT host, wallet, begins, ends, revoked FROM paystile_verifications ${isOwn} ORDER BY begins, host`

function verificationsOf(database: Database): Pick<Rewards, 'verify' | 'revoke' | 'verifications'> {
  return {
    verify: ({ host, wallet, from, until }) =>
      transactPayables(database, async (query) => {
        await query(forget, [formatText(host), from])
        await query(end, [formatText(host), from])
        await query(verify, [formatText(host), from, until, formatText(wallet)])
      }),
    revoke: (host, at) =>
      transactPayables(database, async (query) => (await query(revoke, [formatText(host), at])).length > 0),
    async verifications(host) {
      const rows =
        host === undefined
          ? await all<VerificationRow>(database.query, verifications(''))
          : await all<VerificationRow>(database.query, verifications('WHERE host = $1'), [formatText(host)])
      return rows.map(readVerification)
    },
  }
}
