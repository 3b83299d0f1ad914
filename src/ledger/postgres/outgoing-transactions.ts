/** What goes out, in the ledger's PostgreSQL database. */
import type {
  OutgoingTransaction,
  OutgoingTransactions,
  PayoutLine,
  PlannedTransaction,
  Planning,
} from '../../core/payouts/ports/outgoing.ts'
import type { Clock } from '../../core/runtime.ts'
import { createLandingEvent } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import type { StateChange } from '../rules/payables.ts'
import {
  checkGross,
  checkPlan,
  computePlanned,
  computeSent,
  dropping,
  isCounted,
  isReady,
  keyOfPayee,
  landing,
  paidBy,
  releasedBy,
  reservedBy,
  sentBy,
  signing,
  stepTo,
  unsigning,
} from '../rules/payables.ts'
import { checkCount } from '../rules/periods.ts'
import { listLines as linesOfBooks, refundChange } from '../rules/totals.ts'
import type { LineRow, OutgoingTransactionRow, PayeeRow } from '../sql/payables.ts'
import {
  dispatchColumns,
  lineColumns,
  readLine,
  readOutgoingTransaction,
  readPayee,
  steppedColumns,
  steppedValues,
} from '../sql/payables.ts'
import { formatText } from '../stored-text.ts'
import type { Database } from './database.ts'
import { writeEvents } from './effects.ts'
import { addToPayees, transactPayables } from './payee-balances.ts'
import { findRefund } from './refunds.ts'
import { formatHex, isHeldAt } from './rows.ts'
import { addLines } from './totals.ts'

type Query = Database['query']

/** Registrations wait so long at the most: behind one that takes longer, a refund is given up for now. */
const lockMs = 1_000

const isOpen = "state IN ('planned', 'signed')"
const select = `SELECT ${dispatchColumns} FROM paystile_dispatches`
const find = `${select} WHERE id = $1`
const open = `${select} WHERE ${isOpen} ORDER BY at, id`
const inLane = `${select} WHERE lane = $1 AND lane <> '' AND state <> 'dropped' ORDER BY at DESC, id DESC LIMIT 1`
const inLanes = `SELECT found.* FROM unnest($1::text[]) AS asked (name) CROSS JOIN LATERAL (${select}
  WHERE lane = asked.name AND lane <> '' AND state <> 'dropped' ORDER BY at DESC, id DESC LIMIT 1) AS found`
const list = (isOwn: string) => `${select} WHERE ${isOwn}(at, id) < ($1, $2) ORDER BY at DESC, id DESC LIMIT $3`
const taken = `SELECT 1 FROM paystile_dispatches WHERE id = $1 UNION ALL
  SELECT 1 FROM paystile_dispatches WHERE lane = $2 AND lane <> '' AND ${isOpen} UNION ALL
  SELECT 1 FROM paystile_dispatches WHERE lane = $2 AND $3 = 'refund' AND kind = 'refund' AND state <> 'dropped'`
const places = ['id', 'kind', 'lane', 'at', 'sent', 'voids', 'payment', ...steppedColumns]
const insert = `INSERT INTO paystile_dispatches (${places.join(', ')})
  VALUES (${places.map((_, index) => `$${index + 1}`).join(', ')})`
const update = `UPDATE paystile_dispatches SET ${steppedColumns.map((name, index) => `${name} = $${index + 2}`).join(', ')}
  WHERE id = $1 RETURNING voids`
const insertLines = `INSERT INTO paystile_payout_lines (dispatch, place, at, ${lineColumns})
  SELECT $1, place - 1, $2, ${lineColumns} FROM unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::numeric[],
    $8::numeric[], $9::numeric[]) WITH ORDINALITY AS given (${lineColumns}, place)`
const lines = `SELECT ${lineColumns} FROM paystile_payout_lines WHERE dispatch = $1 ORDER BY place`
const linesOf = `SELECT ${lineColumns}, dispatch FROM paystile_payout_lines WHERE role = $1 AND payee = $2
  ORDER BY at DESC, dispatch DESC LIMIT $3`
const planned = `SELECT coalesce(sum(sent), 0) AS total FROM (
    SELECT sent FROM paystile_dispatches WHERE kind = 'payout' AND state = 'landed' AND changed_at >= $1 UNION ALL
    SELECT sent FROM paystile_dispatches WHERE kind = 'payout' AND ${isOpen}) AS counted`
const signings = 'SELECT count(*) AS total FROM paystile_signings WHERE at >= $1'
const count = 'INSERT INTO paystile_signings (at, dispatch, attempt) VALUES ($1, $2, $3)'
const isNamed = 'kept.role = given.role AND kept.payee = given.payee'
/** As they stand, each with what its accruals of a line come to. */
const standing = `SELECT kept.*, (SELECT coalesce(sum(units), 0) FROM paystile_shares AS shared WHERE shared.role = given.role
    AND shared.payee = given.payee AND number > given.after AND number <= given.upto) AS gross
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS given (role, payee, after, upto)
  JOIN paystile_payees AS kept ON ${isNamed}`
const move = (more: string) => `UPDATE paystile_payees AS kept SET upto = given.upto${more}
  FROM unnest($1::text[], $2::text[], $3::bigint[]) AS given (role, payee, upto) WHERE ${isNamed}`
const [reach, fallBack] = [move(", why = '', parked_until = 0"), move('')]
// Nothing of it was delivered, is being delivered, or goes back already. With a new version nobody writes back the row as it
// was, and who let its lease lapse does not come back to it.
const setVoid = `UPDATE paystile_payments SET refunded_at = $2, leases = '', version = version + 1
  WHERE tx = $1 AND finality <> 'reverted' AND refunded_at IS NULL
    AND (late OR unit <> 'second' AND used = 0 AND deliveries = 0 AND positions = '') AND NOT ${isHeldAt('$2')}
  RETURNING tx`
const known = `SELECT 1 FROM paystile_payments WHERE tx = $1 UNION ALL
  SELECT 1 FROM paystile_dispatches WHERE voids = $1 AND state <> 'dropped'`
const unvoid = 'UPDATE paystile_payments SET refunded_at = NULL, version = version + 1 WHERE tx = $1'

/** `lane` is where this server adds to the books. */
export function createPostgresOutgoing(database: Database, clock: Clock, lane: number): OutgoingTransactions {
  const readAll = async (sql: string, values: readonly unknown[]): Promise<readonly OutgoingTransaction[]> =>
    ((await database.query(sql, values)) as unknown as OutgoingTransactionRow[]).map(readOutgoingTransaction)
  const next = async (
    query: Query,
    id: string,
    version: number,
    to: StateChange,
  ): Promise<OutgoingTransaction | undefined> => {
    const [row] = (await query(`${find} FOR UPDATE`, [formatText(id)])) as unknown as OutgoingTransactionRow[]
    return stepTo(row && readOutgoingTransaction(row), version, to, readTime(clock))
  }
  const write = async (query: Query, dispatch: OutgoingTransaction): Promise<Uint8Array | null> => {
    const [kept] = await query(update, [formatText(dispatch.id), ...steppedValues(dispatch)])
    return kept?.['voids'] as Uint8Array | null
  }
  /** `then` follows in the same transaction, which waits for all others that change what is owed. */
  const step = (
    id: string,
    version: number,
    to: StateChange,
    then?: (query: Query, voids: Uint8Array | null, dispatch: OutgoingTransaction) => Promise<void>,
  ) => {
    const work = async (query: Query): Promise<OutgoingTransaction | undefined> => {
      const dispatch = await next(query, id, version, to)
      if (!dispatch) return undefined
      const voids = await write(query, dispatch)
      await then?.(query, voids, dispatch)
      return dispatch
    }
    return then ? transactPayables(database, work) : database.transact(work)
  }

  return {
    async plan(plan) {
      checkPlan(plan)
      const planning = await transactPayables(database, (query) => planWith(query, plan, readTime(clock)))
      // Not inside: there it would be taken for a failure of the database.
      if (planning.kind === 'wrong') checkGross(planning.line, planning.gross)
      return planning as Planning
    },
    sign: (id, version, signed, about, budget) => {
      const work = async (query: Query): Promise<OutgoingTransaction | 'spent' | undefined> => {
        const dispatch = await next(query, id, version, signing(signed, about))
        if (!dispatch) return undefined
        if (isCounted(dispatch)) {
          if (budget && (await countSignings(query, budget.since)) >= budget.most) return 'spent'
          await query(count, [dispatch.changedAt, formatText(id), dispatch.attempts])
        }
        await write(query, dispatch)
        return dispatch
      }
      return budget ? transactPayables(database, work) : database.transact(work)
    },
    unsign: (id, version, why, hasFailed) => step(id, version, unsigning(why, hasFailed)),
    land: (id, version, slot, about) =>
      step(id, version, landing(slot, about), async (query, _voids, dispatch) => {
        await addToPayees(query, paidBy(await readLines(query, id)))
        const refunded = dispatch.kind === 'refund' ? await findRefund(query, id) : undefined
        if (refunded) await addLines(query, linesOfBooks([refundChange(refunded.booked, refunded.refund)]), lane)
        const notice = createLandingEvent(dispatch)
        await query(writeEvents, [[formatHex(notice.tx)], [notice.kind], dispatch.changedAt])
      }),
    drop: (id, version, why) =>
      step(id, version, dropping(why), async (query, voids) => {
        const given = await readLines(query, id)
        await addToPayees(query, releasedBy(given))
        await query(fallBack, [...namesOf(given), given.map(({ from }) => from)])
        if (voids) await query(unvoid, [formatHex(voids)])
      }),
    open: () => readAll(open, []),
    get: async (id) => (await readAll(find, [formatText(id)]))[0],
    inLane: async (lane) => (await readAll(inLane, [formatText(lane)]))[0],
    async inLanes(lanes) {
      const found = await readAll(inLanes, [lanes.map(formatText)])
      const byLane = new Map(found.map((dispatch) => [dispatch.lane, dispatch]))
      return lanes.map((lane) => byLane.get(lane))
    },
    lines: (id) => readLines(database.query, id),
    list({ kind, state, after, most }) {
      const values: unknown[] = [after?.at ?? Number.MAX_SAFE_INTEGER, formatText(after?.id ?? ''), checkCount(most)]
      const isKind = kind ? `kind = $${values.push(kind)} AND ` : ''
      const isState = state ? `state = $${values.push(state)} AND ` : ''
      return readAll(list(`${isKind}${isState}`), values)
    },
    async linesOf({ role, payee }, most) {
      const found = await database.query(linesOf, [role, formatText(payee), checkCount(most)])
      const rows = found as unknown as (LineRow & { readonly dispatch: string })[]
      const named = await readAll(`${select} WHERE id = ANY ($1::text[])`, [rows.map(({ dispatch }) => dispatch)])
      const byId = new Map(named.map((dispatch) => [formatText(dispatch.id), dispatch]))
      return rows.flatMap((row) => {
        const dispatch = byId.get(row.dispatch)
        return dispatch ? [{ ...readLine(row), dispatch }] : []
      })
    },
    planned: (since) => sumPlanned(database.query, since),
    signings: (since) => countSignings(database.query, since),
  }
}

/** A line settles something else than it says. */
interface Wrong {
  readonly kind: 'wrong'
  readonly line: PayoutLine
  readonly gross: bigint
}

async function planWith(query: Query, plan: PlannedTransaction, now: number): Promise<Planning | Wrong> {
  const { id, kind, lane, lines, cap, voids, refunds } = plan
  if ((await query(taken, [formatText(id), formatText(lane), kind])).length > 0) return { kind: 'taken' }
  if (voids && !(await makeVoid(query, voids, now))) return { kind: 'in_use' }
  const refusal = lines.length === 0 ? undefined : await refuse(query, lines, now)
  if (refusal) return refusal
  if (cap && kind === 'payout' && (await sumPlanned(query, cap.since)) + sentBy(lines) > cap.units)
    return { kind: 'capped' }
  const dispatch = computePlanned(plan, now)
  const about = [voids, refunds?.tx].map((tx) => (tx ? formatHex(tx) : null))
  const facts = [kind, formatText(lane), now, String(computeSent(plan)), ...about]
  await query(insert, [formatText(id), ...facts, ...steppedValues(dispatch)])
  if (lines.length > 0) await reserve(query, dispatch, lines)
  return { kind: 'planned', dispatch }
}

/**
 * False where something was had for it, or might be. What nobody has registered has no row that one could wait for: so for
 * this moment nobody registers anything, and whoever does then sees that this one goes back. The gate is a table of its own:
 * the table of payments would be held by whoever vacuums it, for as long as that takes.
 */
async function makeVoid(query: Query, tx: Uint8Array, now: number): Promise<boolean> {
  const key = formatHex(tx)
  if ((await query(setVoid, [key, now])).length > 0) return true
  if ((await query(known, [key])).length > 0) return false
  await query(`SET LOCAL lock_timeout = ${lockMs}`)
  await query('LOCK TABLE paystile_gate IN EXCLUSIVE MODE')
  return (await query(known, [key])).length === 0
}

/** Undefined where every payee stands as its line has it. */
async function refuse(
  query: Query,
  lines: readonly PayoutLine[],
  now: number,
): Promise<Wrong | { readonly kind: 'taken' } | undefined> {
  const span = [lines.map(({ from }) => from), lines.map(({ upto }) => upto)]
  const found = await query(standing, [...namesOf(lines), ...span])
  const rows = found as unknown as (PayeeRow & { readonly gross: string })[]
  const payees = new Map(rows.map((row) => [keyOfPayee(readPayee(row, now)), { row, payee: readPayee(row, now) }]))
  if (!lines.every((line) => isReady(payees.get(keyOfPayee(line))?.payee, line))) return { kind: 'taken' }
  const counted = lines.map((line) => ({ line, gross: BigInt(payees.get(keyOfPayee(line))?.row.gross ?? 0) }))
  const wrong = counted.find(({ line, gross }) => line.gross !== gross)
  return wrong && { kind: 'wrong', ...wrong }
}

async function reserve(query: Query, { id, at }: OutgoingTransaction, lines: readonly PayoutLine[]): Promise<void> {
  await query(insertLines, [
    formatText(id),
    at,
    ...namesOf(lines),
    lines.map(({ from }) => from),
    lines.map(({ upto }) => upto),
    lines.map(({ gross }) => String(gross)),
    lines.map(({ units }) => String(units)),
    lines.map(({ opening }) => String(opening)),
  ])
  await addToPayees(query, reservedBy(lines))
  await query(reach, [...namesOf(lines), lines.map(({ upto }) => upto)])
}

async function readLines(query: Query, id: string): Promise<readonly PayoutLine[]> {
  return ((await query(lines, [formatText(id)])) as unknown as LineRow[]).map(readLine)
}

async function sumPlanned(query: Query, since: number): Promise<bigint> {
  return BigInt(String((await query(planned, [since]))[0]?.['total']))
}

async function countSignings(query: Query, since: number): Promise<bigint> {
  return BigInt(String((await query(signings, [since]))[0]?.['total']))
}

function namesOf(lines: readonly PayoutLine[]): readonly (readonly string[])[] {
  return [lines.map(({ role }) => role), lines.map(({ payee }) => formatText(payee))]
}
