/** Records the outcome of transactions that were sent for clients who did not wait for it. */
import { encodeBase58 } from '../core/encoding/base58.ts'
import type { Sealer } from '../core/payouts/ports/outgoing.ts'
import { openSubmission, type SealedSubmission } from '../core/ports/sealed-submission.ts'
import type { Submission, Submissions, Submitter } from '../core/ports/sponsor.ts'
import type { Clock, Log } from '../core/runtime.ts'
import { type Loop, type LoopParts, startLoop } from './loop.ts'

export interface SubmissionsParts extends Pick<Submitter, 'readStates'>, Pick<LoopParts, 'leads' | 'clockCheck'> {
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

export function startSubmissionOutcomes({
  submissions,
  sealer,
  clock,
  log,
  readStates,
  leads,
  clockCheck,
}: SubmissionsParts): Loop {
  let forgottenAt = Number.NEGATIVE_INFINITY
  const openSealed = ({ tx, sealed }: Submission): SealedSubmission | undefined => {
    const name = encodeBase58(tx)
    const submission = openSubmission(sealer, sealed, name)
    if (!submission) log.error('submission.unreadable', { tx: name, why: 'it was recorded under another secret' })
    return submission
  }
  const work = async (): Promise<void> => {
    const now = clock.now()
    const open = (await submissions.listOpen(now - patienceMs, most)).map((one) => ({
      ...one,
      signed: openSealed(one),
    }))
    const readable = open.flatMap(({ signed }) => signed ?? [])
    const states = await readStates(readable)
    for (const { tx, at, lamports, signed } of open) {
      const state = (signed && states[readable.indexOf(signed)]) ?? 'open'
      if (state !== 'open') await submissions.close(tx, state, state === 'expired' ? 0n : lamports)
      else if (at < now - longestOpenMs) await submissions.close(tx, 'landed', lamports)
    }
    if (clock.monotonic() - forgottenAt < hourMs) return
    forgottenAt = clock.monotonic()
    await submissions.forget(now - keptMs)
  }
  return startLoop({ name: 'submissions', everyMs, work, log, leads, clockCheck })
}
