/**
 * Asks in batches whether missing transactions have appeared.
 *
 * The first question is sent at once. Questions that arrive meanwhile share the next call, and its delay grows with
 * their number. A single customer therefore does not wait, and a flood of invalid proofs costs a node one call every
 * few seconds.
 */

import { isFields } from '../../core/encoding/fields.ts'
import type { Commitment } from '../../core/ports/chain.ts'
import type { Call } from './rpc.ts'

/** The maximum number of signatures per call. */
const mostSignatures = 256

/** The delay of the next question per signature in the last one, and its maximum. */
const pausePerSignatureMs = 20
const longestPauseMs = 2_500
const impatientMs = 500

interface Waiting {
  readonly signature: string
  readonly commitment: Commitment
  readonly tell: (appeared: boolean) => void
}

/** Also true if the node does not answer: then only reading the transaction can tell. */
export type StatusPoller = (signature: string, commitment: Commitment) => Promise<boolean>

export function createStatusPoller(call: Call, pause: (ms: number) => Promise<void> = sleep): StatusPoller {
  let waiting: Waiting[] = []
  let busy = false

  async function run(): Promise<void> {
    busy = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, mostSignatures)
      waiting = waiting.slice(mostSignatures)
      // A slow question delays the next ones only briefly.
      await Promise.race([answer(batch), sleep(impatientMs)])
      if (batch.length > 1) await pause(Math.min(batch.length * pausePerSignatureMs, longestPauseMs))
    }
    busy = false
  }

  async function answer(batch: readonly Waiting[]): Promise<void> {
    const statuses = await ask(batch.map(({ signature }) => signature))
    for (const [index, { tell, commitment }] of batch.entries())
      tell(statuses ? isVisible(statuses[index], commitment) : true)
  }

  async function ask(signatures: readonly string[]): Promise<readonly unknown[] | undefined> {
    // Searches the whole history: a payment can be claimed for a day, but a node caches recent statuses for two minutes
    // only.
    const answer = await call('getSignatureStatuses', [signatures, { searchTransactionHistory: true }])
    const value = answer.kind === 'answered' && isFields(answer.result) ? answer.result['value'] : undefined
    return Array.isArray(value) && value.length === signatures.length ? value : undefined
  }

  return (signature, commitment) =>
    new Promise((tell) => {
      waiting.push({ signature, commitment, tell })
      if (!busy) void run()
    })
}

function isVisible(status: unknown, commitment: Commitment): boolean {
  if (!isFields(status)) return status !== null
  const reached = status['confirmationStatus']
  return reached === 'finalized' || reached === commitment
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref?.())
}
