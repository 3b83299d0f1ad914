/** Rewards: final payments that wait for accrual, their accruals, and the verified hosts. */
import type { NumberedAccrual, Rewards } from '../../../core/payouts/ports/rewards.ts'
import type { Clock } from '../../../core/runtime.ts'
import { checkTx, readTime } from '../../rules/grants.ts'
import { accruedBy, checkAccruals, computeHour, numbered, spendingSpan } from '../../rules/payables.ts'
import { checkCount } from '../../rules/periods.ts'
import { formatText, parseText } from '../../stored-text.ts'
import type { Columns, Dialect, Query, SqlStore, Whole, Work } from '../work.ts'
import { all, first, formatHex, isAny, raw, readMoney, sql } from '../work.ts'
import { auditPayables } from './audit.ts'
import { addToPayees } from './payee-balances.ts'
import { createPayees } from './payees.ts'
import type { AccrualRow, RipeningRow, ShareRow, VerificationRow } from './rows.ts'
import { accrualColumns, readAccruals, readRipening, readVerification, ripeningColumns } from './rows.ts'

const txColumn: Columns<Uint8Array> = { tx: ['bytea', (tx) => tx] }

export function createRewards(store: SqlStore, clock: Clock): Rewards {
  const { dialect } = store
  const { given, late, total } = dialect
  return {
    start: () =>
      store.write(function* () {
        yield sql`INSERT INTO {meta} (key, value) VALUES ('rewards', ${String(readTime(clock))})
          ON CONFLICT (key) DO NOTHING`
      }),
    accruable: (most) =>
      store.read(function* () {
        // Read before the payments: an accrual in between then invalidates the number.
        const last = yield* readLast()
        const limit = sql`LIMIT ${checkCount(most)}`
        // Payments that were never postponed are ordered by the index. Of the others, only the due ones are sorted.
        const firstOf = (isDue: Query) =>
          sql`SELECT * FROM (SELECT tx, paid_at FROM {ripening} WHERE ${isDue} ORDER BY paid_at, tx ${limit}) AS one`
        const ripe = sql`${firstOf(raw('due = 0'))} UNION ALL ${firstOf(sql`due > 0 AND due <= ${readTime(clock)}`)}`
        const rows = yield* all<RipeningRow>(sql`SELECT ${raw(ripeningColumns)} FROM (${ripe}) AS ripe
          JOIN {payments} AS paid ON paid.tx = ripe.tx WHERE finality = 'finalized' AND NOT (${late('paid')})
          ORDER BY ripe.paid_at, ripe.tx ${limit}`)
        return { payments: rows.map(readRipening), last }
      }),
    spent: (payer, from, to) =>
      store.read(function* () {
        const { hours, ends } = spendingSpan(from, to)
        const name = formatText(payer)
        const ownFrom = (from: number, to: number) => sql`SELECT worth FROM {accruals}
          WHERE payer = ${name} AND why = '' AND paid_at >= ${from} AND paid_at < ${to}`
        const row = yield* first<{ readonly total: string }>(sql`SELECT ${total('worth')} AS total FROM (
          SELECT worth FROM {spendings} WHERE payer = ${name} AND at >= ${hours[0]} AND at < ${hours[1]} UNION ALL
          ${ownFrom(ends[0], ends[1])} UNION ALL ${ownFrom(ends[2], ends[3])}) AS parts`)
        return readMoney(row?.total ?? '0')
      }),
    async accrue(last, accruals) {
      checkAccruals(accruals)
      return store.transactPayables(function* () {
        if ((yield* readLast()) !== last) return false
        const txs = accruals.map(({ tx }) => tx)
        const known = yield* all<{ readonly tx: Uint8Array }>(
          sql`SELECT tx FROM {accruals} WHERE tx IN (SELECT tx FROM ${given(txs, txColumn)})`,
        )
        const before = new Set(known.map(({ tx }) => formatHex(tx)))
        yield* writeAccruals(
          dialect,
          numbered(last, accruals, (tx) => before.has(formatHex(tx))),
        )
        yield* lockRipening(dialect, txs)
        yield sql`DELETE FROM {ripening} WHERE tx IN (SELECT tx FROM ${given(txs, txColumn)})`
        return true
      })
    },
    postpone: (txs, until) =>
      store.transact(function* () {
        yield* lockRipening(dialect, txs)
        yield sql`UPDATE {ripening} SET due = ${Math.ceil(until)} WHERE tx IN (SELECT tx FROM ${given(txs, txColumn)})`
      }),
    accruals: (after, most) =>
      store.read(function* () {
        const rows = yield* all<AccrualRow>(
          sql`SELECT * FROM {accruals} WHERE number > ${after} ORDER BY number LIMIT ${checkCount(most)}`,
        )
        const shares = yield* all<ShareRow>(sql`SELECT number, role, payee, units FROM {shares}
          WHERE number >= ${rows[0]?.number ?? 0} AND number <= ${rows.at(-1)?.number ?? 0}`)
        return readAccruals(rows, shares)
      }),
    async shared(txs) {
      for (const tx of txs) checkTx(tx)
      type SharedRow = Pick<AccrualRow, 'tx' | 'at' | 'why'> & { readonly total: string }
      const rows = await store.read(() =>
        all<SharedRow>(sql`SELECT kept.tx, at, why, (SELECT ${total('part.units')} FROM {shares} AS part
            WHERE part.number = kept.number) AS total
          FROM {accruals} AS kept WHERE kept.tx IN (SELECT tx FROM ${given(txs, txColumn)})`),
      )
      const byTx = new Map(rows.map((row) => [formatHex(row.tx), row]))
      return txs.map((tx) => {
        const row = byTx.get(formatHex(tx))
        return row && { at: Number(row.at), units: readMoney(row.total), why: row.why }
      })
    },
    countAccruable: () =>
      store.read(function* () {
        const row = yield* first<{ readonly count: Whole }>(sql`SELECT count(*) AS count FROM {ripening}`)
        return Number(row?.count)
      }),
    ...createRules(store),
    ...createPayees(store, clock),
    ...createVerifications(store),
    audit: () => auditPayables(store),
  }
}

function* readLast(): Work<number> {
  const row = yield* first<{ readonly last: Whole }>(sql`SELECT coalesce(max(number), 0) AS last FROM {accruals}`)
  return Number(row?.last)
}

/** Locks in one order, because other servers may postpone the same payments. */
function* lockRipening({ given, lock }: Dialect, txs: readonly Uint8Array[]): Work<void> {
  if (lock().sql !== '')
    yield sql`SELECT tx FROM {ripening} WHERE tx IN (SELECT tx FROM ${given(txs, txColumn)}) ORDER BY tx ${lock()}`
}

function* writeAccruals(dialect: Dialect, fresh: readonly NumberedAccrual[]): Work<void> {
  if (fresh.length === 0) return
  const names = raw(Object.keys(accrualColumns).join(', '))
  yield sql`INSERT INTO {accruals} (${names}) SELECT ${names} FROM ${dialect.given(fresh, accrualColumns)}`
  const shares = fresh.flatMap(({ number, rate, shares }) => shares.map((share) => ({ ...share, number, rate })))
  const shareColumns: Columns<(typeof shares)[number]> = {
    number: ['bigint', ({ number }) => number],
    role: ['text', ({ role }) => role],
    payee: ['text', ({ payee }) => formatText(payee)],
    units: ['numeric', ({ units }) => String(units)],
    rate: ['numeric', ({ rate }) => String(rate)],
  }
  yield sql`INSERT INTO {shares} (number, role, payee, units, rate)
    SELECT number, role, payee, units, rate FROM ${dialect.given(shares, shareColumns)}`
  yield* addSpendings(
    dialect,
    fresh.filter(({ why }) => why === ''),
  )
  yield* addToPayees(dialect, accruedBy(fresh))
}

/** Adds the spending of payers, by the hour. */
function* addSpendings(dialect: Dialect, accruals: readonly NumberedAccrual[]): Work<void> {
  const sums = new Map<string, { readonly payer: string; readonly at: number; readonly worth: bigint }>()
  const add = (payer: string, at: number, worth: bigint): void => {
    const name = `${at} ${payer}`
    sums.set(name, { payer, at, worth: worth + (sums.get(name)?.worth ?? 0n) })
  }
  for (const { payer, paidAt, worth } of accruals) add(formatText(payer), computeHour(paidAt), worth)
  if (sums.size === 0) return
  const columns: Columns<{ readonly payer: string; readonly at: number; readonly worth: bigint }> = {
    payer: ['text', ({ payer }) => payer],
    at: ['bigint', ({ at }) => at],
    worth: ['numeric', ({ worth }) => String(worth)],
  }
  type Row = { readonly payer: string; readonly at: Whole; readonly worth: string }
  const before = yield* all<Row>(sql`SELECT kept.payer, kept.at, kept.worth
    FROM ${dialect.given([...sums.values()], columns)}
    JOIN {spendings} AS kept ON kept.payer = given.payer AND kept.at = given.at`)
  for (const { payer, at, worth } of before) add(payer, Number(at), BigInt(worth))
  yield sql`INSERT INTO {spendings} (payer, at, worth)
    SELECT payer, at, worth FROM ${dialect.given([...sums.values()], columns)} WHERE true
    ON CONFLICT (payer, at) DO UPDATE SET worth = excluded.worth`
}

function createRules(store: SqlStore): Pick<Rewards, 'keepRules' | 'rules'> {
  return {
    keepRules: (id, text) =>
      store.write(function* () {
        yield sql`INSERT INTO {reward_rules} (id, text) VALUES (${formatText(id)}, ${formatText(text)})
          ON CONFLICT (id) DO NOTHING`
      }),
    rules: (id) =>
      store.read(function* () {
        const row = yield* first<{ readonly text: string }>(
          sql`SELECT text FROM {reward_rules} WHERE id = ${formatText(id)}`,
        )
        return row && parseText(row.text)
      }),
  }
}

function createVerifications(store: SqlStore): Pick<Rewards, 'verify' | 'revoke' | 'verifications'> {
  return {
    /**
     * A verification that is valid at `from` ends there. One that would begin at `from` or later never becomes valid.
     */
    verify: ({ host, wallet, ...times }) =>
      store.transactPayables(function* () {
        const name = formatText(host)
        const [from, until] = [Math.floor(times.from), Math.floor(times.until)]
        yield sql`DELETE FROM {verifications} WHERE host = ${name} AND begins >= ${from}`
        yield sql`UPDATE {verifications} SET ends = ${from} WHERE host = ${name} AND ends > ${from}`
        yield sql`INSERT INTO {verifications} (host, begins, ends, wallet, revoked)
          VALUES (${name}, ${from}, ${until}, ${formatText(wallet)}, false)`
      }),
    revoke: (host, time) =>
      store.transactPayables(() => {
        const at = Math.floor(time)
        return isAny(sql`UPDATE {verifications}
          SET ends = CASE WHEN begins > ${at} THEN begins ELSE CAST(${at} AS bigint) END, revoked = true
          WHERE host = ${formatText(host)} AND ends > ${at} RETURNING host`)
      }),
    verifications: (host) =>
      store.read(function* () {
        const isOwn = host === undefined ? raw('') : sql`WHERE host = ${formatText(host)}`
        const rows = yield* all<VerificationRow>(
          sql`SELECT host, wallet, begins, ends, revoked FROM {verifications} ${isOwn} ORDER BY begins, host`,
        )
        return rows.map(readVerification)
      }),
  }
}
