/**
 * What became of a signed transaction, for those who would sign another in its place.
 *
 * Landed is what is finalized on a node of the right chain. That it failed, or can no longer land, two nodes have to say
 * where there are two, and a node that may have forgotten it, or is behind, cannot say that it never landed.
 */
import type { Outcome } from '../core/courier.ts'
import { readGenesis } from './genesis.ts'
import { isGone, lookAt, readNumber, readStatus, type Status } from './look.ts'
import type { SignedPayment } from './payment.ts'
import type { Call, Rpc } from './rpc.ts'

export interface OutcomeParts {
  readonly rpc: Pick<Rpc, 'nodes'>
  readonly genesis: string
}

/** What was signed, and the slot at which its block was told. */
export interface SignedAt extends SignedPayment {
  readonly slot: number
}

/** What one node says. */
type Word =
  | { readonly kind: 'landed'; readonly slot: number }
  | { readonly kind: 'failed'; readonly slot: number; readonly why: string }
  /** It is not there, cannot come any more, and this node would know. */
  | { readonly kind: 'gone' }
  /** It is there, and may still be taken back. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'waiting'; readonly why: string }

const mayLand: Word = { kind: 'waiting', why: 'it may still land' }
const stranger: Word = { kind: 'waiting', why: 'a node does not speak for the chain of the transaction' }

export async function outcomeOf({ rpc, genesis }: OutcomeParts, signed: SignedAt): Promise<Outcome> {
  const needed = Math.min(2, rpc.nodes.length)
  const words = await Promise.all(rpc.nodes.map(({ call }) => hear(call, genesis, signed)))
  const of = <Kind extends Word['kind']>(kind: Kind) =>
    words.filter((word): word is Extract<Word, { kind: Kind }> => word.kind === kind)
  const [landed, failed, gone, waiting] = [of('landed'), of('failed'), of('gone'), of('waiting')]
  if (landed[0] && failed.length === 0) return { kind: 'landed', slot: landed[0].slot }
  if (landed[0]) return open('one node says that it landed, another that it failed')
  const pending = of('pending').length
  if (pending > 0) return open('it is in a block that is not final yet', pending === words.length)
  if (failed[0]) {
    if (failed.length >= needed) return { kind: 'failed', slot: failed[0].slot, why: failed[0].why }
    return open('only one node says that it failed')
  }
  if (gone.length >= needed) return { kind: 'expired' }
  return open(waiting[0]?.why ?? 'only one node says that it can no longer land')
}

/** Most of the time one small question is enough; only what would settle it is asked for in full. */
async function hear(call: Call, genesis: string, signed: SignedAt): Promise<Word> {
  const { status } = await readStatus(call, signed.signature, false)
  const first = wordOf(status)
  if (first?.kind === 'waiting' || first?.kind === 'pending') return first
  if (!first) {
    const height = await readNumber(call, 'getBlockHeight', [{ commitment: 'finalized' }])
    if (height === undefined) return { kind: 'waiting', why: 'the height of the chain is not known' }
    if (height <= signed.lastValidBlockHeight) return mayLand
  }
  // Behind one address another node may answer from one question to the next: the right chain before and after.
  if ((await readGenesis(call)) !== genesis) return stranger
  // What is there needs no more than to be told again; that it can no longer come needs all the rest.
  const word =
    first === undefined
      ? await recall(call, signed)
      : (wordOf((await readStatus(call, signed.signature, true)).status) ?? mayLand)
  return (await readGenesis(call)) === genesis ? word : stranger
}

/** What a status says by itself; undefined where it is absent. */
function wordOf(status: Status): Word | undefined {
  if (status.kind === 'absent') return undefined
  if (status.kind === 'unknown') return { kind: 'waiting', why: status.why }
  if (status.kind === 'processed' || !status.finalized) return { kind: 'pending' }
  if (status.kind === 'landed') return { kind: 'landed', slot: status.slot }
  return { kind: 'failed', slot: status.slot, why: status.error }
}

async function recall(call: Call, signed: SignedAt): Promise<Word> {
  const finalized = await readNumber(call, 'getSlot', [{ commitment: 'finalized' }])
  const sight = await lookAt(call, signed)
  const { status, slot } = sight
  const word = wordOf(status)
  if (word) return word
  if (!isGone(sight, signed)) return mayLand
  if (finalized === undefined || slot === undefined || slot < finalized || finalized < signed.slot) {
    return { kind: 'waiting', why: 'a node is behind' }
  }
  // The last question: what it had forgotten by now, it may have forgotten before.
  const first = await readNumber(call, 'getFirstAvailableBlock', [])
  if (first === undefined || first > signed.slot) {
    return { kind: 'waiting', why: 'a node does not remember so far back' }
  }
  return { kind: 'gone' }
}

function open(why: string, isThere = false): Outcome {
  return { kind: 'open', why, isThere }
}
