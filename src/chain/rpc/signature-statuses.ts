/**
 * Whether transactions that were missing have appeared, asked for many at a time.
 *
 * The first question goes out at once. Those that come while it is under way go together in the next, and the more
 * there are of them, the longer the next waits: so a single customer waits for nobody, and a flood of proofs of nothing
 * costs a node a call every few seconds.
 */
import type { Commitment } from '../../core/ports/chain.ts'
import { isFields } from './json.ts'
import type { Call } from './rpc.ts'

/** The most signatures a node takes in one call. */
const mostSignatures = 256

/** How long the next question waits for each signature in the last, and at the most. */
const pausePerSignatureMs = 20
const longestPauseMs = 2_500
const impatientMs = 500

interface Waiting {
  readonly signature: string
  readonly commitment: Commitment
  readonly tell: (appeared: boolean) => void
}

/** True also when the node does not say: then only reading the transaction itself can tell. */
export type StatusPoller = (signature: string, commitment: Commitment) => Promise<boolean>

export function createStatusPoller(call: Call, pause: (ms: number) => Promise<void> = sleep): StatusPoller {
  let waiting: Waiting[] = []
  let busy = false

  async function run(): Promise<void> {
    busy = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, mostSignatures)
      waiting = waiting.slice(mostSignatures)
      // A question that hangs does not hold up those behind it for long.
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
    // In all of history: a payment may be claimed for a day, and a node keeps the last statuses for two minutes.
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
