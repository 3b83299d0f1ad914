/**
 * Whether transactions that were missing have appeared, asked for many at a time.
 *
 * The first question goes out at once. Those that come while it is under way go together in the next: so a single
 * customer waits for nobody, and a flood of proofs of nothing costs a node no more than one call after another.
 */
import { isFields } from './json.ts'
import type { Call } from './rpc.ts'

/** The most signatures a node takes in one call. */
const mostSignatures = 256

interface Waiting {
  readonly signature: string
  readonly tell: (appeared: boolean) => void
}

/** True also when the node does not say: then only reading the transaction itself can tell. */
export type Lookout = (signature: string) => Promise<boolean>

export function createLookout(call: Call): Lookout {
  let waiting: Waiting[] = []
  let busy = false

  async function run(): Promise<void> {
    busy = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, mostSignatures)
      waiting = waiting.slice(mostSignatures)
      const statuses = await ask(batch.map(({ signature }) => signature))
      for (const [index, { tell }] of batch.entries()) tell(statuses ? isConfirmed(statuses[index]) : true)
    }
    busy = false
  }

  async function ask(signatures: readonly string[]): Promise<readonly unknown[] | undefined> {
    const answer = await call('getSignatureStatuses', [signatures, { searchTransactionHistory: false }])
    const value = answer.kind === 'answered' && isFields(answer.result) ? answer.result['value'] : undefined
    return Array.isArray(value) && value.length === signatures.length ? value : undefined
  }

  return (signature) =>
    new Promise((tell) => {
      waiting.push({ signature, tell })
      if (!busy) void run()
    })
}

function isConfirmed(status: unknown): boolean {
  if (!isFields(status)) return status !== null
  return status['confirmationStatus'] === 'confirmed' || status['confirmationStatus'] === 'finalized'
}
