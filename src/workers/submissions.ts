/** Records the outcome of transactions that were sent for clients who did not wait for it. */
import { encodeBase58 } from '../core/encoding/base58.ts'
import type { Sealer } from '../core/payouts/ports/outgoing.ts'
import { openSubmission } from '../core/ports/sealed-submission.ts'
import type { SentState, Submission, Submissions, Submitter } from '../core/ports/sponsor.ts'
import type { Clock, Log } from '../core/runtime.ts'
import type { Loop } from './loop.ts'
import { startLoop } from './loop.ts'

export interface SubmissionsParts extends Pick<Submitter, 'readState'> {
  readonly submissions: Submissions
  readonly sealer: Sealer
  readonly clock: Clock
  readonly log: Log
}

const everyMs = 5_000
const hourMs = 3_600_000
/** The request that sent a transaction records its outcome itself, if it sees it. */
const patienceMs = 15_000
const most = 200
/** Longer than any payment can be claimed. */
const keptMs = 40 * 24 * hourMs
/** After this time without an outcome, the fee counts as paid. */
const longestOpenMs = 24 * hourMs

export function startSubmissionOutcomes({ submissions, sealer, clock, log, readState }: SubmissionsParts): Loop {
  let forgottenAt = Number.NEGATIVE_INFINITY
  const readOutcome = async ({ tx, sealed }: Submission): Promise<SentState> => {
    const name = encodeBase58(tx)
    const submission = openSubmission(sealer, sealed, name)
    if (submission) return readState(submission)
    log.error('submission.unreadable', { tx: name, why: 'it was recorded under another secret' })
    return 'open'
  }
  const work = async (): Promise<void> => {
    const now = clock.now()
    for (const submission of await submissions.listOpen(now - patienceMs, most)) {
      const { tx, at, lamports } = submission
      const state = await readOutcome(submission)
      if (state !== 'open') await submissions.close(tx, state, state === 'expired' ? 0n : lamports)
      else if (at < now - longestOpenMs) await submissions.close(tx, 'landed', lamports)
    }
    if (clock.monotonic() - forgottenAt < hourMs) return
    forgottenAt = clock.monotonic()
    await submissions.forget(now - keptMs)
  }
  return startLoop({ name: 'submissions', everyMs, work, log })
}
