/**
 * The Chain port over Solana nodes: waits for a transaction to appear, and reads it once for all who ask at the time.
 */
import type { Chain, Clock, Log, Reading, Verifier } from '../core/ports.ts'
import { createInquiry, type Finding, inquire } from './quorum.ts'
import { createRpc, type Transport } from './rpc.ts'
import { createWitness, type Pin } from './witness.ts'

export interface ChainParts {
  readonly urls: readonly string[]
  readonly transport: Transport
  readonly verifier: Verifier
  /** The genesis hash every node must have. Left out on a localnet, where the first node's is taken. */
  readonly genesis?: string
  readonly clock: Clock
  readonly log: Log
  /** How long one question to one node may take. */
  readonly timeoutMs?: number
  /** After how long a silent node is no longer waited for alone, where another is configured. */
  readonly hedgeMs?: number
}

export interface SolanaChain extends Chain {
  /** How often each RPC method was sent to a node. */
  calls(): ReadonlyMap<string, number>
}

/** One transaction being waited for. Readers come and go; it ends when no reader can be waiting any more. */
interface Flight {
  until: number
  readers: number
  /** What the last round brought, once there was one. */
  last: Reading | undefined
  round: Promise<unknown>
  end: Promise<Reading>
}

const mostFlights = 1_024
const mostReaders = 256
const firstPauseMs = 50
const longestPauseMs = 400
/** A node that is out of reach may be back in a moment, but a customer should hear soon that we cannot tell. */
const mostFutileRounds = 3

export function createChain(parts: ChainParts): SolanaChain {
  const { urls, transport, verifier, clock, log, timeoutMs, hedgeMs = 500 } = parts
  const rpc = createRpc({ urls, transport, ...(timeoutMs !== undefined && { timeoutMs }) })
  const pin: Pin = { hash: parts.genesis }
  const witnesses = rpc.nodes.map((node) => createWitness({ node, pin, verifier, log }))
  const flights = new Map<string, Flight>()
  const closing = new AbortController()

  function depart(signature: string, until: number): Flight {
    const nowhere = Promise.resolve(closed)
    const flight: Flight = { until, readers: 0, last: undefined, round: nowhere, end: nowhere }
    flights.set(signature, flight)
    flight.end = fly(signature, flight)
    return flight
  }

  async function fly(signature: string, flight: Flight): Promise<Reading> {
    const inquiry = createInquiry(signature)
    let futile = 0
    try {
      for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
        const asked = inquire(inquiry, witnesses, hedgeMs)
        flight.round = asked
        const finding = await asked
        const reading = toReading(finding)
        flight.last = reading
        futile = finding.kind === 'unavailable' ? futile + 1 : 0
        const left = flight.until - clock.monotonic()
        if (finding.kind === 'found' || finding.kind === 'disagreement') return reading
        if (left <= 0 || futile >= mostFutileRounds || closing.signal.aborted) return reading
        await sleep(Math.min(pause, left), closing.signal)
      }
    } finally {
      // In the same breath as the end: whoever comes later begins anew, and no miss is remembered.
      flights.delete(signature)
    }
  }

  async function read(signature: string, waitMs: number): Promise<Reading> {
    if (closing.signal.aborted) return closed
    const until = clock.monotonic() + waitMs
    let flight = flights.get(signature)
    if (!flight) {
      if (flights.size >= mostFlights) return { kind: 'unavailable', why: 'too many payments are being waited for' }
      flight = depart(signature, until)
    }
    if (flight.readers >= mostReaders) return { kind: 'unavailable', why: 'too many wait for this payment' }
    flight.until = Math.max(flight.until, until)
    flight.readers += 1
    try {
      return await attend(flight, waitMs)
    } finally {
      flight.readers -= 1
    }
  }

  /** Until the flight's end or the reader's own, whichever is first; but at least one round is waited for. */
  async function attend(flight: Flight, waitMs: number): Promise<Reading> {
    const enough = new AbortController()
    const patience = sleep(waitMs, enough.signal).then(async () => {
      if (flight.last === undefined) await flight.round
      return flight.last ?? flight.end
    })
    const reading = await Promise.race([flight.end, patience])
    enough.abort()
    return reading
  }

  return {
    read,
    async genesis() {
      const answers = await Promise.all(witnesses.map((witness) => witness.belongs()))
      return answers.includes(true) && !answers.includes(false) ? pin.hash : undefined
    },
    async close() {
      closing.abort()
      rpc.close()
      await Promise.all([...flights.values()].map((flight) => flight.end))
    },
    calls: () => rpc.calls(),
  }
}

const closed: Reading = { kind: 'unavailable', why: 'the chain is closed' }

function toReading(finding: Finding): Reading {
  if (finding.kind !== 'lagging') return finding
  return { kind: 'disagreement', why: 'one node has the transaction, another does not' }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
