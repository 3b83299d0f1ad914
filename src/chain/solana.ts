/**
 * The Chain port over Solana nodes: waits for a transaction to appear, and reads it once for all who ask at the time.
 */
import type { Chain, Clock, Log, Reading, Verifier } from '../core/ports.ts'
import { createInquiry, type Finding, inquire } from './quorum.ts'
import type { Rpc } from './rpc.ts'
import { createWitness, type Pin } from './witness.ts'

export interface ChainParts {
  /** The nodes. They are closed with the chain. */
  readonly rpc: Rpc
  readonly verifier: Verifier
  /** The genesis hash every node must have. Where it is left out, the first node's is taken. */
  readonly genesis?: string
  readonly clock: Clock
  readonly log: Log
  /** After how long a silent node is no longer waited for alone, where another is configured. */
  readonly hedgeMs?: number
}

/** Hears what each round brought; after the last one there is no more. */
type Reader = (reading: Reading, last: boolean) => void

/** One transaction being waited for. Readers come and go; it ends when the most patient one has to. */
interface Flight {
  until: number
  readonly readers: Set<Reader>
  end: Promise<void>
}

const mostFlights = 1_024
const mostReaders = 256
const firstPauseMs = 50
const longestPauseMs = 400
/** A node that is out of reach may be back in a moment, but a customer should hear soon that we cannot tell. */
const mostFutileRounds = 3

export function createChain(parts: ChainParts): Chain {
  const { rpc, verifier, clock, log, hedgeMs = 500 } = parts
  const pin: Pin = { hash: parts.genesis }
  const witnesses = rpc.nodes.map((node) => createWitness({ node, pin, verifier, log }))
  const flights = new Map<string, Flight>()
  const sleepers = new Set<() => void>()
  let closed = false

  function depart(signature: string, until: number): Flight {
    const flight: Flight = { until, readers: new Set(), end: Promise.resolve() }
    flights.set(signature, flight)
    flight.end = fly(signature, flight)
    return flight
  }

  async function fly(signature: string, flight: Flight): Promise<void> {
    const inquiry = createInquiry(signature)
    let futile = 0
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      const finding = await inquire(inquiry, witnesses, hedgeMs).catch(broken)
      futile = finding.kind === 'unavailable' && !finding.soon ? futile + 1 : 0
      const left = flight.until - clock.monotonic()
      const settled = finding.kind === 'found' || finding.kind === 'disagreement'
      const last = settled || left <= 0 || futile >= mostFutileRounds || closed
      if (last && finding.kind === 'disagreement') log.error('chain.disagreement', { why: finding.why })
      // In the same breath as the end: whoever comes later begins anew, and no miss is remembered.
      if (last) flights.delete(signature)
      for (const reader of [...flight.readers]) reader(toReading(finding), last)
      if (last) return
      await sleep(Math.min(pause, left))
    }
  }

  /** Until then, or until the chain is closed. */
  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        sleepers.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      sleepers.add(wake)
    })
  }

  /** A fault of ours must not leave a customer waiting for ever, nor end the process. */
  function broken(error: unknown): Finding {
    log.error('chain.read_failed', { error: error instanceof Error ? error.name : typeof error })
    return { kind: 'unavailable', why: 'the transaction could not be examined', soon: false }
  }

  async function read(signature: string, waitMs: number): Promise<Reading> {
    if (closed) return unavailable('the chain is closed')
    const until = clock.monotonic() + waitMs
    const known = flights.get(signature)
    if (!known && flights.size >= mostFlights) return unavailable('too many payments are being waited for')
    const flight = known ?? depart(signature, until)
    if (flight.readers.size >= mostReaders) return unavailable('too many wait for this payment')
    flight.until = Math.max(flight.until, until)
    return attend(flight, waitMs)
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
    async close() {
      closed = true
      for (const wake of [...sleepers]) wake()
      rpc.close()
      await Promise.all([...flights.values()].map((flight) => flight.end))
    },
  }
}

function toReading(finding: Finding): Reading {
  if (finding.kind === 'unavailable') return { kind: 'unavailable', why: finding.why }
  if (finding.kind !== 'lagging') return finding
  return { kind: 'disagreement', why: 'one node has the transaction, another does not' }
}

function unavailable(why: string): Reading {
  return { kind: 'unavailable', why }
}
