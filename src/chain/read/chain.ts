/**
 * The Chain port over Solana nodes: waits for a transaction to appear, and reads it once for all who ask at the time.
 * With a watcher most payments are read before anybody asks.
 */
import type { Meter } from '../../core/encoding/metrics.ts'
import type { Chain, Commitment, Reading, ReadOptions } from '../../core/ports/chain.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { readFinality } from './finality.ts'
import { createNodeReader, type Pin } from './node-reader.ts'
import { createInquiry, type Finding, inquire } from './quorum.ts'
import { createWatcher, keep, type Watch } from './watcher.ts'

export interface ChainParts {
  /** The nodes. They are closed with the chain. */
  readonly rpc: Rpc
  readonly verifier: Verifier
  /** The genesis hash every node must have. Where it is left out, the first node's is taken. */
  readonly genesis?: string
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter
  /** After how long a silent node is no longer waited for alone, where another is configured. */
  readonly hedgeMs?: number
  /** What reading payments ahead of their proof needs. Without it nothing is watched. */
  readonly watch?: Watch
}

/** Hears what each round brought; after the last one there is no more. */
type Reader = (reading: Reading, last: boolean) => void

/** One transaction being waited for. Readers come and go; it ends when the most patient one has to. */
interface Flight {
  until: number
  readonly readers: Set<Reader>
  /** Whether anybody vouched for the transaction. */
  isEager: boolean
  /** Whether all who wait for it have named transactions that do not exist. */
  isDoubtful: boolean
  /** Ends a pause, if there is one. */
  wake: () => void
  isOver: boolean
}

const mostFlights = 4_096
const mostReaders = 256
const firstPauseMs = 50
const longestPauseMs = 400
/** How long the watcher is waited for before the nodes are asked for what it has not seen. */
const headStartMs = 3_000
/** So many transactions are known to have been asked for before. */
const mostAsked = 20_000
/** How long a payment that the watcher heard of is waited for. */
const heardWaitMs = 10_000
/** A node that is out of reach may be back in a moment, but a customer should hear soon that we cannot tell. */
const mostFutileRounds = 3

export function createChain(parts: ChainParts): Chain {
  const { rpc, verifier, clock, log, meter, hedgeMs = 500 } = parts
  const pin: Pin = { hash: parts.genesis }
  const nodeReaders = rpc.nodes.map((node) => createNodeReader({ node, pin, verifier, clock, log }))
  const flights = new Map<string, Flight>()
  /** What the watcher had not seen when it was asked for. */
  const asked = new Map<string, true>()
  let closed = false
  const onHedge = () => meter?.count('paystile_node_hedges_total')

  const watcher =
    parts.watch && createWatcher({ ...parts.watch, nodeReaders, clock, log, read: readHeard, ...(meter && { meter }) })

  function depart(signature: string, commitment: Commitment): Flight {
    const flight: Flight = {
      until: 0,
      readers: new Set(),
      isEager: false,
      isDoubtful: true,
      wake: () => {},
      isOver: false,
    }
    flights.set(nameOf(signature, commitment), flight)
    void fly(signature, commitment, flight)
    return flight
  }

  async function fly(signature: string, commitment: Commitment, flight: Flight): Promise<void> {
    const name = nameOf(signature, commitment)
    const inquiry = createInquiry(signature, commitment)
    const leftOf = () => flight.until - clock.monotonic()
    let futile = 0
    let wasEager = false
    // In the next turn, when it is known how long there is.
    await Promise.resolve()
    if (!flight.isEager && watcher?.isCurrent() && !asked.has(signature)) {
      keep(asked, signature, true, mostAsked)
      // The watcher most likely sees it in time, if it exists.
      await sleep(Math.min(headStartMs, leftOf()), flight)
      while (flight.isDoubtful && !flight.isEager && leftOf() > 0 && !closed && !flight.isOver) {
        await sleep(leftOf(), flight)
      }
      // For who has named transactions that do not exist, nodes are asked only if the same is shown again.
      if (flight.isDoubtful && !flight.isEager && watcher.isCurrent()) {
        return land(name, flight, { kind: 'missing' })
      }
    }
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      // That a node did not have it before somebody was sure of it says nothing now.
      if (flight.isEager && !wasEager) inquiry.missed.clear()
      wasEager = flight.isEager
      const options = { isEager: flight.isEager, hedgeMs, onHedge }
      const finding = await inquire(inquiry, nodeReaders, options).catch(broken)
      futile = finding.kind === 'unavailable' && !finding.soon ? futile + 1 : 0
      const settled = finding.kind === 'found' || finding.kind === 'disagreement'
      const last = settled || leftOf() <= 0 || futile >= mostFutileRounds || closed
      if (last && finding.kind === 'disagreement') log.error('chain.disagreement', { why: finding.why })
      if (finding.kind === 'found') watcher?.found(finding.effect, flight.isEager)
      if (last || flight.isOver) return land(name, flight, finding)
      for (const reader of [...flight.readers]) reader(toReading(finding), false)
      await sleep(Math.min(pause, leftOf()), flight)
    }
  }

  /** In the same breath as the end: whoever comes later begins anew, and no miss is remembered. */
  function land(name: string, flight: Flight, finding: Finding): void {
    if (flight.isOver) return
    flight.isOver = true
    flights.delete(name)
    for (const reader of [...flight.readers]) reader(toReading(finding), true)
  }

  /** Until then, or until somebody wakes the flight. */
  function sleep(ms: number, flight: Flight): Promise<void> {
    if (closed || ms <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      flight.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** A fault of ours must not leave a customer waiting for ever, nor end the process. */
  function broken(error: unknown): Finding {
    log.error('chain.read_failed', { error: error instanceof Error ? error.name : typeof error })
    return { kind: 'unavailable', why: 'the transaction could not be examined', soon: false }
  }

  async function read(signature: string, waitMs: number, options: ReadOptions = {}): Promise<Reading> {
    const { commitment = 'confirmed', isDoubtful = false, isAnew = false } = options
    const effect = commitment === 'confirmed' ? watcher?.seen(signature) : undefined
    if (effect && !isAnew) return { kind: 'found', effect }
    // What was seen exists; and who watches has heard of what exists.
    const isEager = !isDoubtful && (isAnew || commitment === 'finalized' || !watcher?.isCurrent())
    return board(signature, waitMs, commitment, isEager ? 'sure' : isDoubtful ? 'doubtful' : 'usual')
  }

  /** The watcher heard of it: whoever waits for it need not wait longer. */
  function readHeard(signature: string): Promise<Reading> {
    return board(signature, heardWaitMs, 'confirmed', 'sure')
  }

  async function board(
    signature: string,
    waitMs: number,
    commitment: Commitment,
    passenger: 'sure' | 'usual' | 'doubtful',
  ): Promise<Reading> {
    if (closed) return unavailable('the chain is closed')
    const known = flights.get(nameOf(signature, commitment))
    if (!known && flights.size >= mostFlights && !makeRoom()) {
      return unavailable('too many payments are being waited for')
    }
    const flight = known ?? depart(signature, commitment)
    if (passenger !== 'doubtful') flight.isDoubtful = false
    // Whoever is sure of it takes along all who wait.
    if (passenger === 'sure' && !flight.isEager) {
      flight.isEager = true
      flight.wake()
    }
    if (flight.readers.size >= mostReaders) return unavailable('too many wait for this payment')
    flight.until = Math.max(flight.until, clock.monotonic() + waitMs)
    return attend(flight, waitMs)
  }

  /** Whoever waits longest for something that nobody vouched for gives up a place to those who come. */
  function makeRoom(): boolean {
    for (const [name, flight] of flights) {
      if (flight.isEager) continue
      land(name, flight, { kind: 'missing' })
      flight.wake()
      return true
    }
    return false
  }

  /** Until the flight's end or the reader's own; but one round at least is waited for that ended after it came. */
  function attend(flight: Flight, waitMs: number): Promise<Reading> {
    return new Promise((resolve) => {
      let heard: Reading | undefined
      let due = false
      const leave = (reading: Reading) => {
        clearTimeout(timer)
        flight.readers.delete(reader)
        resolve(reading)
      }
      const reader: Reader = (reading, last) => {
        heard = reading
        if (last || due) leave(reading)
      }
      const timer = setTimeout(() => {
        due = true
        if (heard) leave(heard)
      }, waitMs)
      flight.readers.add(reader)
    })
  }

  return {
    read,
    seen: (signature) => watcher?.seen(signature),
    watch: (address) => watcher?.watch(address),
    fatesOf: (landed) => readFinality(nodeReaders, landed),
    async close() {
      closed = true
      // A flood of proofs of nothing must not hold up the end: who still waits is told so.
      for (const [name, flight] of [...flights]) {
        flight.wake()
        land(name, flight, { kind: 'unavailable', why: 'the chain is closed', soon: false })
      }
      const watched = watcher?.close()
      rpc.close()
      await watched
    },
  }
}

function nameOf(signature: string, commitment: Commitment): string {
  return `${signature}/${commitment}`
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
