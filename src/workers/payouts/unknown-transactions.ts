/**
 * Finds transactions that a wallet sent and that the ledger does not know. They exist after the ledger was restored
 * from a backup: the lost ledger recorded them later. While there are any, nothing is signed, because it could be paid
 * a second time.
 *
 * The ledger stores the slot up to which the wallet was checked. A restored ledger has the slot of its backup, and each
 * unknown transaction landed later. A process waits at its start until transactions that were signed before can no
 * longer land, because the lost ledger may have sent one a moment ago.
 */
import type { Meter } from '../../core/observability/metrics.ts'
import { readOwnIds } from '../../core/payouts/outgoing-memo.ts'
import type {
  ListedTransaction,
  OutgoingWallet,
  RecentBlockhash,
  WalletHistory,
} from '../../core/payouts/outgoing-wallet.ts'
import type { OutgoingTransactions, Sealer } from '../../core/payouts/ports/outgoing.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import { createThrottledLog } from '../throttled-log.ts'

export interface WalletCheckParts {
  readonly history: WalletHistory
  readonly outgoing: Pick<OutgoingTransactions, 'get' | 'list'>
  readonly kv: KeyValueStore
  readonly sealer: Pick<Sealer, 'tag'>
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  /** False for a command of a person, who does not follow a lost process within a minute. */
  readonly waits: boolean
}

export interface UnknownTransaction extends ListedTransaction {
  /** The ids in its memos that may belong to this service. */
  readonly ids: readonly string[]
}

export type WalletCheck =
  /** The ledger knows all transactions of the wallet. */
  | { readonly kind: 'complete' }
  | { readonly kind: 'unknown'; readonly transactions: readonly UnknownTransaction[] }
  | { readonly kind: 'waiting'; readonly why: string }

/** How long a result is used: a complete one, and any other. */
const [completeMs, otherMs] = [60_000, 2_000]
const longMs = 100 * 365 * 86_400_000
const digits = 16
const mostNamed = 5
const unlisted = 'too few nodes list the transactions of the wallet since the last check, with their memos'

/** Accepts a transaction that the ledger does not contain, so that it no longer stops the wallet. */
export async function acceptTransaction(
  { kv, clock }: Pick<WalletCheckParts, 'kv' | 'clock'>,
  signature: string,
): Promise<void> {
  await kv.put(acceptedName(signature), new Date(clock.now()).toISOString(), clock.now() + longMs)
}

export function createWalletCheck(parts: WalletCheckParts): () => Promise<WalletCheck> {
  const { history, clock } = parts
  const prefix = `outgoing/checked/${history.wallet}/`
  let start: Start | undefined
  return async () => {
    const marks = await parts.kv.list(prefix)
    const mark = marks.at(-1)
    start ??= await readStart(parts, mark !== undefined)
    const after = mark ? Number(mark.name.slice(prefix.length)) : start.after
    // Noted at once: the ledger's newest transaction will be another one soon.
    if (!mark && after > 0) await put(after)
    if (start.recent === 'unknown') start = { ...start, recent: (await history.readBlockhash()) ?? 'unknown' }
    if (typeof start.recent === 'object')
      start = { ...start, expiry: start.expiry ?? (await history.readExpiry(start.recent)) }
    const list = await history.list(after)
    if (!list) return { kind: 'waiting', why: unlisted }
    const unknown = await findUnknown(parts, list.transactions)
    if (unknown === undefined) return { kind: 'waiting', why: 'no node returned a transaction of the wallet' }
    if (unknown.length > 0) return { kind: 'unknown', transactions: unknown }
    if (list.slot > after) {
      await put(list.slot)
      for (const { name } of marks) await parts.kv.remove(name)
    }
    const isPast = start.recent === undefined || (start.expiry !== undefined && list.slot >= start.expiry)
    return isPast
      ? { kind: 'complete' }
      : {
          kind: 'waiting',
          why: 'transactions that were signed before the start can still land; this takes two minutes',
        }
  }

  async function put(slot: number): Promise<void> {
    await parts.kv.put(`${prefix}${String(slot).padStart(digits, '0')}`, '', clock.now() + longMs)
  }
}

interface Start {
  /** The slot after which the wallet is listed if it was never checked. */
  readonly after: number
  /** Read at the start. Undefined if nothing could have been signed before, or if the process does not wait. */
  readonly recent: RecentBlockhash | 'unknown' | undefined
  readonly expiry?: number | undefined
}

/** A ledger without a mark has never paid from this wallet, or is from an earlier version. */
async function readStart({ outgoing, waits }: WalletCheckParts, isChecked: boolean): Promise<Start> {
  if (isChecked) return { after: 0, recent: waits ? 'unknown' : undefined }
  const [landed] = await outgoing.list({ state: 'landed', most: 1 })
  return { after: landed?.slot ?? 0, recent: undefined }
}

/** Undefined if no node tells whether a transaction is the wallet's own: anyone can write any memo. */
async function findUnknown(
  { history, outgoing, kv, sealer }: WalletCheckParts,
  transactions: readonly ListedTransaction[],
): Promise<readonly UnknownTransaction[] | undefined> {
  const unknown: UnknownTransaction[] = []
  for (const transaction of transactions) {
    const { signature } = transaction
    const ids = readOwnIds(transaction.memos, sealer)
    if (ids.length === 0 || (await isKnown(outgoing, ids, signature))) continue
    if ((await kv.get(acceptedName(signature))) !== undefined) continue
    const isOwn = await history.hasSent(signature)
    if (isOwn === undefined) return undefined
    if (isOwn) unknown.push({ ...transaction, ids })
  }
  return unknown
}

/** The ledger must have the same signature: a transaction can be signed again under its id. */
async function isKnown(outgoing: Pick<OutgoingTransactions, 'get'>, ids: readonly string[], signature: string) {
  for (const id of ids) {
    const found = await outgoing.get(id)
    if (found?.signed?.signature !== signature) continue
    // Without its bytes, the command that takes it over has not recorded its landing yet.
    if (found.state === 'landed' || (found.state === 'signed' && found.signed.sealed !== '')) return true
  }
  return false
}

function acceptedName(signature: string): string {
  return `outgoing/accepted/${signature}`
}

/** The same wallet, which signs nothing while its transactions are not all known. */
export function withWalletCheck(outgoingWallet: OutgoingWallet, given: WalletCheckParts): OutgoingWallet {
  const parts = { ...given, log: createThrottledLog(given.log, given.clock) }
  const { clock, log, meter, history } = parts
  const { wallet } = history
  const check = createWalletCheck(parts)
  let [last, until]: [Promise<string | undefined> | undefined, number] = [undefined, 0]
  const run = async (): Promise<string | undefined> => {
    const found = await check()
    until = clock.monotonic() + (found.kind === 'complete' ? completeMs : otherMs)
    const unknown = found.kind === 'unknown' ? found.transactions : []
    if (found.kind !== 'waiting') meter.set('paystile_dispatches_unknown', unknown.length, { wallet })
    if (found.kind === 'complete') return undefined
    if (found.kind === 'waiting') return found.why
    const why = explain(wallet, unknown)
    log.error('outgoing.unknown', { wallet, why, next })
    return `${why}; ${next}`
  }
  const readWhy = (): Promise<string | undefined> => {
    if (last && clock.monotonic() < until) return last
    until = Number.POSITIVE_INFINITY
    last = run().catch((error: unknown) => {
      until = 0
      throw error
    })
    return last
  }
  return {
    ...outgoingWallet,
    sign: async (order) => {
      const why = await readWhy()
      return why === undefined ? outgoingWallet.sign(order) : { kind: 'unavailable', why }
    },
  }
}

const next = 'if the ledger was restored from a backup, take them over with npx paystile rewards adopt'

function explain(wallet: string, unknown: readonly UnknownTransaction[]): string {
  const named = unknown.slice(0, mostNamed).map(({ signature }) => signature)
  const more = unknown.length > named.length ? ` and ${unknown.length - named.length} more` : ''
  return `${wallet} sent transactions that the ledger does not know: ${named.join(', ')}${more}`
}
