/** Waits for transactions to appear. Concurrent callers for one transaction share one read. */
import { setNewest } from '../../core/collections/bounded-map.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Commitment, Reading } from '../../core/ports/chain.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import type { NodeReader } from './node-reader.ts'
import { createInquiry, type Finding, inquire } from './quorum.ts'
import type { WatcherView } from './shared-watcher.ts'

export interface SharedReadsParts {
  readonly nodeReaders: readonly NodeReader[]
  readonly clock: Clock
  readonly log: Log
  /** The delay after which a second node, if configured, is asked beside a silent one. */
  readonly hedgeMs: number
  readonly onHedge: () => void
  readonly watcher: () => WatcherView | undefined
}

/** The confidence that the transaction exists, by caller. */
export type Trust = 'sure' | 'usual' | 'doubtful'

/** Receives the result of each round. No call follows the last one. */
type Reader = (reading: Reading, last: boolean) => void

/** One awaited transaction. Readers can join and leave; the read ends with its longest deadline. */
interface SharedRead {
  readonly name: string
  readonly signature: string
  readonly commitment: Commitment
  until: number
  readonly readers: Set<Reader>
  /** Whether any caller vouched for the transaction. */
  isEager: boolean
  /** Whether all callers have named transactions that do not exist. */
  isDoubtful: boolean
  /** Ends a pause, if there is one. */
  wake: () => void
  isOver: boolean
}

interface State extends SharedReadsParts {
  readonly running: Map<string, SharedRead>
  /** Transactions that the watcher had not seen when a caller asked for them. */
  readonly asked: Map<string, true>
  isClosed: boolean
}

const mostReads = 4_096
const mostReaders = 256
const firstPauseMs = 50
const longestPauseMs = 400
/** The wait for the watcher before the nodes are asked for a new transaction that it has not seen. */
const headStartMs = 3_000
/** The maximum number of remembered transactions. */
const mostAsked = 20_000
/**
 * An unreachable node may return in a moment, but a customer should soon learn that the service cannot verify the
 * payment.
 */
const mostFutileRounds = 3

export function createSharedReads(parts: SharedReadsParts) {
  const state: State = { ...parts, running: new Map(), asked: new Map(), isClosed: false }
  return {
    /** With `isOld`, the nodes are asked without a wait for the watcher. */
    join: async (signature: string, waitMs: number, commitment: Commitment, trust: Trust, isOld = false) => {
      if (state.isClosed) return unavailable('the chain is closed')
      if (isOld) setNewest(state.asked, signature, true, mostAsked)
      const known = state.running.get(nameRead(signature, commitment))
      if (!known && state.running.size >= mostReads && !makeRoom(state)) return unavailable('too many pending payments')
      const shared = known ?? begin(state, signature, commitment)
      if (trust !== 'doubtful') shared.isDoubtful = false
      // One reader with confidence `sure` is sufficient for all.
      if (trust === 'sure' && !shared.isEager) {
        shared.isEager = true
        shared.wake()
      }
      if (shared.readers.size >= mostReaders) return unavailable('too many requests wait for this payment')
      shared.until = Math.max(shared.until, state.clock.monotonic() + waitMs)
      return waitForReading(shared, waitMs)
    },
    /** Ends the wait for a transaction that another process has read. */
    settle: (effect: Effect) => {
      const shared = state.running.get(nameRead(effect.signature, 'confirmed'))
      if (!shared) return
      finish(state, shared, { kind: 'found', effect })
      shared.wake()
    },
    close: () => {
      state.isClosed = true
      // A flood of invalid proofs must not delay the shutdown: all waiting readers are answered now.
      for (const shared of [...state.running.values()]) {
        shared.wake()
        finish(state, shared, { kind: 'unavailable', why: 'the chain is closed', soon: false })
      }
    },
  }
}

function nameRead(signature: string, commitment: Commitment): string {
  return `${signature}/${commitment}`
}

function begin(state: State, signature: string, commitment: Commitment): SharedRead {
  const shared: SharedRead = {
    name: nameRead(signature, commitment),
    signature,
    commitment,
    until: 0,
    readers: new Set(),
    isEager: false,
    isDoubtful: true,
    wake: () => {},
    isOver: false,
  }
  state.running.set(shared.name, shared)
  void run(state, shared)
  return shared
}

async function run(state: State, shared: SharedRead): Promise<void> {
  // Runs in the next microtask, when the deadline is known.
  await Promise.resolve()
  if (await isLeftToWatcher(state, shared)) return finish(state, shared, { kind: 'missing' })
  const { nodeReaders, hedgeMs, onHedge, log } = state
  const inquiry = createInquiry(shared.signature, shared.commitment)
  let futile = 0
  let wasEager = false
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    // Earlier negative answers do not count once a caller is sure of the transaction.
    if (shared.isEager && !wasEager) inquiry.missed.clear()
    wasEager = shared.isEager
    const finding = await inquire(inquiry, nodeReaders, { isEager: shared.isEager, hedgeMs, onHedge }).catch((error) =>
      reportFault(log, error),
    )
    futile = finding.kind === 'unavailable' && !finding.soon ? futile + 1 : 0
    const isSettled = finding.kind === 'found' || finding.kind === 'disagreement'
    const isLast = isSettled || remainingMs(state, shared) <= 0 || futile >= mostFutileRounds || state.isClosed
    if (isLast && finding.kind === 'disagreement') log.error('chain.disagreement', { why: finding.why })
    if (finding.kind === 'found') state.watcher()?.found(finding.effect, shared.isEager)
    if (isLast || shared.isOver) return finish(state, shared, finding)
    for (const reader of [...shared.readers]) reader(toReading(finding), false)
    await pause(state, shared, Math.min(pauseMs, remainingMs(state, shared)))
  }
}

/**
 * Gives the watcher a head start, because it most likely sees an existing transaction in time. For callers that have
 * named transactions that do not exist, nodes are asked only if the same transaction is named again.
 */
async function isLeftToWatcher(state: State, shared: SharedRead): Promise<boolean> {
  const watcher = state.watcher()
  if (shared.isEager || !watcher?.isCurrent() || state.asked.has(shared.signature)) return false
  setNewest(state.asked, shared.signature, true, mostAsked)
  await pause(state, shared, Math.min(headStartMs, remainingMs(state, shared)))
  const isLeft = () => shared.isDoubtful && !shared.isEager
  while (isLeft() && remainingMs(state, shared) > 0 && !state.isClosed && !shared.isOver)
    await pause(state, shared, remainingMs(state, shared))
  return isLeft() && watcher.isCurrent()
}

function remainingMs({ clock }: State, { until }: SharedRead): number {
  return until - clock.monotonic()
}

/** Pauses until the time is over, or until the read is woken. */
function pause({ isClosed }: State, shared: SharedRead, ms: number): Promise<void> {
  if (isClosed || ms <= 0) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    shared.wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

/** Removes the read in the same turn as it ends. A later reader starts a new read, and no miss is remembered. */
function finish({ running }: State, shared: SharedRead, finding: Finding): void {
  if (shared.isOver) return
  shared.isOver = true
  running.delete(shared.name)
  for (const reader of [...shared.readers]) reader(toReading(finding), true)
}

/** An internal error must not leave a customer waiting forever, nor end the process. */
function reportFault(log: Log, error: unknown): Finding {
  log.error('chain.read_failed', { error: error instanceof Error ? error.name : typeof error })
  return { kind: 'unavailable', why: 'the transaction could not be examined', soon: false }
}

/** Ends the oldest read that has no vouching caller, to make room for new ones. */
function makeRoom(state: State): boolean {
  for (const shared of state.running.values()) {
    if (shared.isEager) continue
    finish(state, shared, { kind: 'missing' })
    shared.wake()
    return true
  }
  return false
}

/**
 * Waits for the end of the read or the reader's own deadline, but at least for one round that ended after the reader
 * joined.
 */
function waitForReading(shared: SharedRead, waitMs: number): Promise<Reading> {
  return new Promise((resolve) => {
    let heard: Reading | undefined
    let isDue = false
    const leave = (reading: Reading) => {
      clearTimeout(timer)
      shared.readers.delete(reader)
      resolve(reading)
    }
    const reader: Reader = (reading, last) => {
      heard = reading
      if (last || isDue) leave(reading)
    }
    const timer = setTimeout(() => {
      isDue = true
      if (heard) leave(heard)
    }, waitMs)
    shared.readers.add(reader)
  })
}

function toReading(finding: Finding): Reading {
  if (finding.kind === 'unavailable') {
    const { why, isUnreadable = false } = finding
    return { kind: 'unavailable', why, isUnreadable }
  }
  if (finding.kind !== 'lagging') return finding
  return { kind: 'disagreement', why: 'one node has the transaction, another does not' }
}

function unavailable(why: string): Reading {
  return { kind: 'unavailable', why }
}
