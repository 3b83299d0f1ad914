/**
 * The outcome of a signed transaction, for callers that would replace it.
 *
 * A transaction has landed if it is finalized on one node of the right chain. If two nodes are configured, both must
 * report that it failed or can no longer land.
 */
import type { Outcome } from '../../core/payouts/outgoing-wallet.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { SignedPayment } from './message.ts'
import { readSignatureState, type SignatureState } from './signature-state.ts'

export interface OutcomeParts {
  readonly rpc: Pick<Rpc, 'nodes'>
  readonly genesis: string
}

export async function readOutcome({ rpc, genesis }: OutcomeParts, signed: SignedPayment): Promise<Outcome> {
  const needed = Math.min(2, rpc.nodes.length)
  const sights = await Promise.all(rpc.nodes.map(({ call }) => readSignatureState(call, genesis, signed)))
  const of = <Kind extends SignatureState['kind']>(kind: Kind) =>
    sights.filter((sight): sight is Extract<SignatureState, { kind: Kind }> => sight.kind === kind)
  const [landed] = of('landed').filter(({ finalized }) => finalized)
  const failed = of('failed').filter(({ finalized }) => finalized)
  if (landed && failed.length === 0) return { kind: 'landed', slot: landed.slot }
  if (landed) return open('one node reports that it landed, another that it failed')
  const gone = of('gone')
  const waiting = of('open')
  const pending = sights.length - failed.length - gone.length - waiting.length
  if (pending > 0) return open('it is in a block that is not final yet', pending === sights.length)
  if (failed[0]) {
    if (failed.length >= needed) return { kind: 'failed', slot: failed[0].slot, why: failed[0].error }
    return open('only one node reports that it failed')
  }
  if (gone.length >= needed) return { kind: 'expired' }
  return open(waiting[0]?.why ?? 'only one node reports that it can no longer land')
}

function open(why: string, isThere = false): Outcome {
  return { kind: 'open', why, isThere }
}
