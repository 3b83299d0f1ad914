/** Reads the payments to a watched address that the nodes list, from the mark in the journal to the newest. */
import type { Reading } from '../../core/ports/chain.ts'
import type { Mark } from '../../core/ports/journal.ts'
import { type Listed, listPayments, readFinalizedSlot } from './address-signatures.ts'
import type { NodeReader } from './node-reader.ts'
import type { WatchedAddress, WatchedPayments, WatchJournal } from './watched-payments.ts'

export interface CatchUpParts {
  readonly nodeReaders: readonly NodeReader[]
  readonly journal: WatchJournal
  readonly payments: WatchedPayments
  readonly read: (signature: string) => Promise<Reading>
  readonly isClosed: () => boolean
}

const mostAtOnce = 8
const mostPerPiece = 1_000
/** The number of times that a payment which only one node lists can block the mark. */
const mostMisses = 5

/** False if no node lists the payments, or if the watcher was closed meanwhile. */
export async function catchUp(watched: WatchedAddress, parts: CatchUpParts): Promise<boolean> {
  const { nodeReaders, journal, payments } = parts
  watched.mark ??= (await journal.mark(watched.address)) ?? (await begin(watched, parts))
  if (!watched.mark) return false
  watched.isHeldUp = false
  const listed = await listPayments(nodeReaders, watched.address, watched.mark, payments.highestSlot())
  if (!listed) return false
  // Works in batches, so that a failure does not restart a long list.
  for (let start = 0; start < listed.length; start += mostPerPiece) {
    if (!(await readPiece(watched, listed.slice(start, start + mostPerPiece), parts))) return false
  }
  return true
}

/** Starts at a new address. Payments before the start are not reported. */
async function begin({ address }: WatchedAddress, { nodeReaders, journal }: CatchUpParts): Promise<Mark | undefined> {
  const slot = await readFinalizedSlot(nodeReaders)
  if (slot === undefined) return undefined
  const mark = { signature: '', slot }
  await journal.note([], { address, mark })
  return mark
}

async function readPiece(watched: WatchedAddress, listed: readonly Listed[], parts: CatchUpParts): Promise<boolean> {
  const { payments, isClosed } = parts
  const isRead = ({ signature }: Listed) => payments.readSlot(signature) !== undefined
  const unread = listed.filter((one) => !isRead(one))
  for (let start = 0; start < unread.length; start += mostAtOnce) {
    await Promise.all(unread.slice(start, start + mostAtOnce).map((one) => readListed(watched, one, parts)))
    if (isClosed()) return false
  }
  const isWorthWaiting = ({ signature }: Listed) => (watched.misses.get(signature) ?? 0) < mostMisses
  const unresolved = listed.findIndex((one) => !isRead(one) && isWorthWaiting(one))
  const done = unresolved < 0 ? listed : listed.slice(0, unresolved)
  const last = done.findLast((one) => one.isFinal && isRead(one))
  const slot = last && payments.readSlot(last.signature)
  if (!last || slot === undefined || watched.isHeldUp) {
    watched.isHeldUp ||= unresolved >= 0
    await payments.flush()
    return true
  }
  watched.isHeldUp = unresolved >= 0
  const mark = { signature: last.signature, slot }
  await payments.flush({ address: watched.address, mark })
  watched.mark = mark
  for (const { signature } of done) watched.misses.delete(signature)
  return true
}

async function readListed({ misses }: WatchedAddress, { signature }: Listed, parts: CatchUpParts): Promise<void> {
  const { payments, read } = parts
  // The socket may have reported it first.
  if (payments.readSlot(signature) !== undefined) return
  const reading = await read(signature)
  // It is listed as successful. If it failed, the node that was read is on another fork.
  if (reading.kind === 'found' && !reading.effect.failed) payments.markRead(signature, reading.effect.slot)
  else misses.set(signature, 1 + (misses.get(signature) ?? 0))
}
