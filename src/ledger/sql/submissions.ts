/** The submissions of the ledger: transactions that the service sends for others, recorded before they are sent. */
import type {
  RecordedSubmission,
  SponsoredSums,
  Submission,
  SubmissionOpening,
  SubmissionOutcome,
  Submissions,
} from '../../core/ports/sponsor.ts'
import type { Clock } from '../../core/runtime.ts'
import { checkTx, readTime } from '../rules/grants.ts'
import { checkCount } from '../rules/periods.ts'
import type { SubmissionFacts } from '../rules/submissions.ts'
import {
  checkFee,
  checkSubmission,
  checkTime,
  computePeriods,
  computeSumEnd,
  computeSumStart,
  judgeOpening,
} from '../rules/submissions.ts'
import { formatText, parseText } from '../stored-text.ts'
import type { Columns, Dialect, Query, SqlStore, Whole, Work } from './work.ts'
import { all, first, join, raw, sql } from './work.ts'

interface SubmissionRow {
  readonly tx: Uint8Array
  readonly message: Uint8Array
  readonly request: string
  readonly payer: string
  readonly client: string
  readonly sealed: string
  readonly slot: Whole
  readonly lamports: Whole
  readonly held_until: Whole
  readonly at: Whole
  readonly outcome: SubmissionOutcome | null
}

/** The most rows that one statement deletes, so that others need not wait long. */
const forgottenAtOnce = 500

const columns = 'tx, message, request, payer, client, sealed, slot, lamports, held_until, at'
const select = sql`SELECT ${raw(columns)}, outcome FROM {submissions}`
const isOpen = raw('outcome IS NULL')

export function createSubmissions(store: SqlStore, clock: Clock): Submissions {
  return {
    async open(given, limits) {
      const submission = checkSubmission(given)
      return store.transactSubmissions(function* (): Work<SubmissionOpening> {
        const known = yield* findKnown(submission)
        if (known) return { kind: 'known', ...known }
        const opening = judgeOpening(submission, limits, yield* readFacts(submission, readTime(clock)))
        if (opening.kind === 'opened') yield* insert(submission)
        return opening
      })
    },
    async find(tx) {
      checkTx(tx)
      const row = await store.read(() => first<SubmissionRow>(sql`${select} WHERE tx = ${tx}`))
      return row && readSubmission(row)
    },
    async hasOpen(payer) {
      const open = sql`SELECT 1 AS one FROM {submissions} WHERE payer = ${formatText(payer)} AND ${isOpen}`
      return (await store.read(() => first(open))) !== undefined
    },
    async findMessage(message) {
      const row = await store.read(() => first<SubmissionRow>(sql`${select} WHERE message = ${message}`))
      return row && readRecord(row)
    },
    async hold(tx, heldUntil) {
      checkTx(tx)
      const until = checkTime(heldUntil)
      await store.write(() => all(sql`UPDATE {submissions} SET held_until = ${until} WHERE tx = ${tx}`))
    },
    async close(tx, outcome, lamports) {
      checkTx(tx)
      checkFee(lamports)
      await store.transact(function* () {
        const closed = yield* all<FeeRow>(sql`UPDATE {submissions} SET outcome = ${outcome},
          lamports = ${String(lamports)} WHERE tx = ${tx} AND ${isOpen} RETURNING at, outcome, lamports`)
        yield* addFees(store.dialect, closed)
      })
    },
    async listOpen(before, most) {
      const oldest = sql`${select} WHERE ${isOpen} AND at < ${checkTime(before)} ORDER BY at, tx LIMIT ${checkCount(most)}`
      const rows = await store.read(() => all<SubmissionRow>(oldest))
      return rows.map(readSubmission)
    },
    async sums(since) {
      const summed = sql`SELECT ${sumsSince(checkTime(since))}`
      return readSums(await store.read(() => only<SumsRow>(summed)))
    },
    async forget(before) {
      const old = sql`SELECT tx FROM {submissions} WHERE outcome IN ('landed', 'failed', 'expired')
        AND at < ${checkTime(before)} LIMIT ${forgottenAtOnce} ${store.dialect.skipLocked}`
      for (let forgotten = 0; ; ) {
        const gone = await store.transact(function* () {
          const rows = yield* all<FeeRow>(
            sql`DELETE FROM {submissions} WHERE tx IN (${old}) RETURNING at, outcome, lamports`,
          )
          yield* addFees(store.dialect, rows, -1n)
          return rows.length
        })
        forgotten += gone
        if (gone < forgottenAtOnce) return forgotten
      }
    },
  }
}

function* findKnown({ tx, message }: Submission): Work<RecordedSubmission | undefined> {
  const row = yield* first<SubmissionRow>(
    sql`${select} WHERE tx = ${tx} OR message = ${message} ORDER BY tx = ${tx} DESC LIMIT 1`,
  )
  return row && readRecord(row)
}

function readRecord(row: SubmissionRow): RecordedSubmission {
  return { submission: readSubmission(row), outcome: row.outcome ?? undefined }
}

interface FactsRow extends SumsRow {
  readonly open_of_request: Whole
  readonly open_of_payer: Whole
  readonly failures_of_payer: Whole
  readonly failures_of_client: Whole
}

/** One statement, so that a submission that is closed meanwhile counts once: as open, or with its outcome. */
function* readFacts(submission: Submission, now: number): Work<SubmissionFacts> {
  const { hour, day } = computePeriods(now)
  const [request, payer, client] = [submission.request, submission.payer, submission.client].map(formatText)
  const row = yield* only<FactsRow>(sql`SELECT ${count(sql`request = ${request} AND ${isOpen}`)} AS open_of_request,
    ${count(sql`payer = ${payer} AND ${isOpen}`)} AS open_of_payer,
    ${count(sql`payer = ${payer} AND outcome = 'failed' AND at >= ${hour}`)} AS failures_of_payer,
    ${count(sql`client = ${client} AND outcome = 'failed' AND at >= ${hour}`)} AS failures_of_client,
    ${submission.lamports > 0n ? sumsSince(day) : raw('0 AS spent, 0 AS lost, 0 AS reserved')}`)
  return {
    openOfRequest: Number(row.open_of_request),
    openOfPayer: Number(row.open_of_payer),
    failuresOfPayer: Number(row.failures_of_payer),
    failuresOfClient: Number(row.failures_of_client),
    sums: readSums(row),
  }
}

/** Without the row, no limit would apply. */
function* only<Row>(query: Query): Work<Row> {
  const row = yield* first<Row>(query)
  if (!row) throw new Error('Ledger: a statement of sums returned no row.')
  return row
}

function count(isCounted: Query): Query {
  return sql`(SELECT count(*) FROM {submissions} WHERE ${isCounted})`
}

interface SumsRow {
  readonly spent: Whole
  readonly lost: Whole
  readonly reserved: Whole
}

/** An open submission is reserved whenever it was recorded: it may still land. */
function sumsSince(since: number): Query {
  const end = computeSumEnd(since)
  const sum = (isCounted: Query) => sql`(SELECT coalesce(sum(lamports), 0) FROM {submissions} WHERE ${isCounted})`
  const total = (outcome: 'landed' | 'failed', column: 'spent' | 'lost') =>
    sql`${sum(sql`outcome = ${raw(`'${outcome}'`)} AND at >= ${since} AND at < ${end}`)} +
      (SELECT coalesce(sum(${raw(column)}), 0) FROM {submission_sums} WHERE at >= ${end}) AS ${raw(column)}`
  return sql`${total('landed', 'spent')}, ${total('failed', 'lost')}, ${sum(isOpen)} AS reserved`
}

interface FeeRow {
  readonly at: Whole
  readonly outcome: SubmissionOutcome
  readonly lamports: Whole
}

interface FeeSum {
  readonly at: number
  readonly spent: bigint
  readonly lost: bigint
}

const feeColumns: Columns<FeeSum> = {
  at: ['bigint', ({ at }) => at],
  spent: ['bigint', ({ spent }) => String(spent)],
  lost: ['bigint', ({ lost }) => String(lost)],
}

/** Adds the fees of submissions to the stored sums, or subtracts them with the sign -1. */
function* addFees(dialect: Dialect, rows: readonly FeeRow[], sign = 1n): Work<void> {
  const sums = new Map<number, FeeSum>()
  for (const { at, outcome, lamports } of rows) {
    const start = computeSumStart(Number(at))
    const fee = sign * BigInt(lamports)
    const { spent, lost } = sums.get(start) ?? { spent: 0n, lost: 0n }
    if (outcome === 'landed') sums.set(start, { at: start, spent: spent + fee, lost })
    if (outcome === 'failed') sums.set(start, { at: start, spent, lost: lost + fee })
  }
  if (sums.size === 0) return
  yield sql`INSERT INTO {submission_sums} AS kept (at, spent, lost)
    SELECT at, spent, lost FROM ${dialect.given([...sums.values()], feeColumns)} WHERE true ORDER BY at
    ON CONFLICT (at) DO UPDATE SET spent = kept.spent + excluded.spent, lost = kept.lost + excluded.lost`
  if (sign < 0n) yield sql`DELETE FROM {submission_sums} WHERE spent = 0 AND lost = 0`
}

function readSums({ spent, lost, reserved }: SumsRow): SponsoredSums {
  return { spent: BigInt(spent), lost: BigInt(lost), open: BigInt(reserved) }
}

function* insert({ request, payer, client, sealed, ...submission }: Submission): Work<void> {
  const { tx, message, slot, lamports, heldUntil, at } = submission
  const texts = [request, payer, client, sealed].map(formatText)
  const values = [tx, message, ...texts, slot, String(lamports), heldUntil, at].map((value) => sql`${value}`)
  yield sql`INSERT INTO {submissions} (${raw(columns)}) VALUES (${join(values, ', ')})`
}

function readSubmission(row: SubmissionRow): Submission {
  return {
    tx: new Uint8Array(row.tx),
    message: new Uint8Array(row.message),
    request: parseText(row.request),
    payer: parseText(row.payer),
    client: parseText(row.client),
    sealed: parseText(row.sealed),
    slot: Number(row.slot),
    lamports: BigInt(row.lamports),
    heldUntil: Number(row.held_until),
    at: Number(row.at),
  }
}
