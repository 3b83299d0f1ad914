/** The submissions of the reference ledger. */
import type { RecordedSubmission, Submission, SubmissionOutcome, Submissions } from '../../../src/core/ports/sponsor.ts'
import { checkTx } from '../../../src/ledger/rules/grants.ts'
import {
  checkFee,
  checkSubmission,
  checkTime,
  computePeriods,
  judgeOpening,
} from '../../../src/ledger/rules/submissions.ts'
import { formatKey } from './tables.ts'

export function createReferenceSubmissions(now: () => number): Submissions {
  /** By transaction. */
  const records = new Map<string, RecordedSubmission>()
  const list = () => [...records.values()]
  const count = (outcome: SubmissionOutcome | undefined, isOwn: (submission: Submission) => boolean): number =>
    list().filter((record) => record.outcome === outcome && isOwn(record.submission)).length
  const sum = (outcome: SubmissionOutcome | undefined, since: number): bigint =>
    list()
      .filter((record) => record.outcome === outcome && record.submission.at >= since)
      .reduce((total, { submission }) => total + submission.lamports, 0n)
  const sumSince = (since: number) => ({
    spent: sum('landed', since),
    lost: sum('failed', since),
    open: sum(undefined, Number.NEGATIVE_INFINITY),
  })
  const change = (tx: Uint8Array, changed: (record: RecordedSubmission) => RecordedSubmission): void => {
    now()
    const record = records.get(formatKey(tx))
    if (record) records.set(formatKey(tx), changed(record))
  }
  return {
    async open(given, limits) {
      const submission = checkSubmission(given)
      const { hour, day } = computePeriods(now())
      const { tx, message, request, payer, client } = submission
      const known =
        records.get(formatKey(tx)) ?? list().find((one) => formatKey(one.submission.message) === formatKey(message))
      if (known) return { kind: 'known', ...known }
      const opening = judgeOpening(submission, limits, {
        openOfRequest: count(undefined, (one) => one.request === request),
        openOfPayer: count(undefined, (one) => one.payer === payer),
        failuresOfPayer: count('failed', (one) => one.payer === payer && one.at >= hour),
        failuresOfClient: count('failed', (one) => one.client === client && one.at >= hour),
        sums: sumSince(day),
      })
      if (opening.kind === 'opened') records.set(formatKey(tx), { submission, outcome: undefined })
      return opening
    },
    async find(tx) {
      checkTx(tx)
      now()
      return records.get(formatKey(tx))?.submission
    },
    async hasOpen(payer) {
      now()
      return count(undefined, (one) => one.payer === payer) > 0
    },
    async findMessage(message) {
      now()
      return list().find((one) => formatKey(one.submission.message) === formatKey(message))
    },
    async hold(tx, heldUntil) {
      checkTx(tx)
      const until = checkTime(heldUntil)
      change(tx, (record) => ({ ...record, submission: { ...record.submission, heldUntil: until } }))
    },
    async close(tx, outcome, lamports) {
      checkTx(tx)
      checkFee(lamports)
      change(tx, (record) => (record.outcome ? record : { outcome, submission: { ...record.submission, lamports } }))
    },
    async listOpen(before, most) {
      now()
      const end = checkTime(before)
      const open = list().flatMap(({ submission, outcome }) => (outcome ? [] : [submission]))
      const old = open.filter(({ at }) => at < end)
      return old.sort((one, other) => one.at - other.at || Buffer.compare(one.tx, other.tx)).slice(0, most)
    },
    async sums(since) {
      now()
      return sumSince(checkTime(since))
    },
    async forget(before) {
      now()
      const end = checkTime(before)
      const old = list().filter(({ submission, outcome }) => outcome && submission.at < end)
      for (const { submission } of old) records.delete(formatKey(submission.tx))
      return old.length
    },
  }
}
