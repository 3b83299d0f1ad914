/**
 * One node as a witness: what it says about a transaction, believed as far as it can be checked.
 *
 * It must prove to be of the right chain before and after whatever it has to tell: behind one address there may be
 * another node from one answer to the next, and nothing breaks when they change places.
 */
import { getBase64Encoder } from '@solana/kit'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Commitment } from '../../core/ports/chain.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import { readGenesis } from '../rpc/genesis.ts'
import { isFields, readCount } from '../rpc/json.ts'
import type { Call, Node, RpcAnswer } from '../rpc/rpc.ts'
import { createStatusPoller, type StatusPoller } from '../rpc/signature-statuses.ts'
import { decodeTransaction, type Transaction, verifySignatures } from './decode.ts'
import { readEffect } from './effects.ts'

export type NodeReading =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** `soon` where the node only needs time: it has the transaction, but not yet all about it. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly soon?: boolean; readonly isUnreadable?: boolean }

/** The genesis hash by which the chain is known. Where none was given, the first node to be reached sets it. */
export interface Pin {
  hash: string | undefined
}

/** Transactions whose signatures were found good, by their wire text, so that a second witness costs no second check. */
export type Verified = Map<string, Transaction>

export interface NodeReader {
  /** How many times in a row it was of no use. */
  failures(): number
  /** Whether a transaction that it did not have may be there now. */
  readonly appeared: StatusPoller
  /** What it knows of a transaction at the moment. */
  read(signature: string, verified: Verified, commitment: Commitment): Promise<NodeReading>
  /** Any other question, which only a node of the right chain is asked. */
  readonly ask: Call
}

export interface NodeReaderParts {
  readonly node: Node
  readonly pin: Pin
  readonly verifier: Verifier
  readonly clock: Clock
  readonly log: Log
}

const config = { encoding: 'base64', maxSupportedTransactionVersion: 1 }

/** For how long a node that was of the right chain is taken to be so, when the next question begins. */
const trustedMs = 1_000

export function createNodeReader({ node, pin, verifier, clock, log }: NodeReaderParts): NodeReader {
  /** When it last was of the right chain. */
  let knownAt = Number.NEGATIVE_INFINITY
  let asking: Promise<boolean | undefined> | undefined
  let failures = 0

  const call: Call = async (method, params) => {
    const answer = await node.call(method, params)
    if (answer.kind === 'unavailable') knownAt = Number.NEGATIVE_INFINITY
    return answer
  }

  function fail(why: string, soon = false, isUnreadable = false): NodeReading {
    // Once per outage: a dead node is asked again with every payment.
    if (failures === 0) log.warn('chain.node_unavailable', { node: node.name, why })
    failures += 1
    return { kind: 'unavailable', why, soon, isUnreadable }
  }

  /** True when it is of the right chain, false when of another, undefined when it does not say. */
  async function belongs(): Promise<boolean | undefined> {
    const hash = await readGenesis(call)
    if (hash === undefined) return undefined
    pin.hash ??= hash
    const isKnown = hash === pin.hash
    knownAt = isKnown ? clock.monotonic() : Number.NEGATIVE_INFINITY
    if (!isKnown) log.error('chain.wrong_cluster', { node: node.name })
    return isKnown
  }

  /** Whether it was just now; asked once for all who want to know at the time. */
  async function belonged(): Promise<boolean | undefined> {
    if (clock.monotonic() - knownAt < trustedMs) return true
    asking ??= belongs().finally(() => {
      asking = undefined
    })
    return asking
  }

  /** Believed only from a node that is of the right chain before and after: behind one address there may be several. */
  const ask: Call = async (method, params) => {
    const before = await belonged()
    const answer: RpcAnswer = before ? await call(method, params) : { kind: 'unavailable', why: stranger(before) }
    // That it has nothing is no news that could be wrong.
    if (answer.kind !== 'answered' || answer.result === null) return answer
    const after = await belongs()
    return after ? answer : { kind: 'unavailable', why: stranger(after) }
  }

  async function testify(signature: string, verified: Verified, commitment: Commitment): Promise<NodeReading> {
    const answer = await ask('getTransaction', [signature, { ...config, commitment }])
    if (answer.kind !== 'answered') return fail(describe(answer))
    const testimony = await readTestimony(signature, answer.result, verified)
    if (testimony.kind === 'unavailable') return fail(testimony.why, testimony.soon, true)
    failures = 0
    return testimony
  }

  async function readTestimony(signature: string, result: unknown, verified: Verified): Promise<NodeReading> {
    if (result === null) return { kind: 'missing' }
    if (!isFields(result)) return useless('the answer is not a transaction')
    const slot = readCount(result['slot'])
    const wire = readWire(result['transaction'])
    if (slot === undefined || wire === undefined) return useless('the answer is not a transaction')
    const transaction = verified.get(wire) ?? authenticate(wire, verifier)
    if ('why' in transaction) return useless(transaction.why)
    if (encodeBase58(transaction.signatures[0] ?? new Uint8Array()) !== signature) {
      return useless('the node sent another transaction than it was asked for')
    }
    verified.set(wire, transaction)
    const blockTime = readCount(result['blockTime']) ?? (await askBlockTime(slot))
    if (blockTime === undefined) return useless('the time of the block is not known', true)
    const reading = readEffect({ signature, slot, blockTime, transaction, meta: result['meta'] })
    return reading.kind === 'effect' ? { kind: 'found', effect: reading.effect } : useless(reading.why)
  }

  async function askBlockTime(slot: number): Promise<number | undefined> {
    const answer = await call('getBlockTime', [slot])
    return answer.kind === 'answered' ? readCount(answer.result) : undefined
  }

  return { failures: () => failures, appeared: createStatusPoller(call), read: testify, ask }
}

function readWire(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length !== 2 || value[1] !== 'base64') return undefined
  return typeof value[0] === 'string' ? value[0] : undefined
}

/** From base64 to a transaction that its signers signed. */
function authenticate(wire: string, verifier: Verifier): Transaction | { readonly why: string } {
  const bytes = decodeBase64(wire)
  const decoding = bytes && decodeTransaction(bytes)
  if (decoding?.kind !== 'transaction') return { why: 'the transaction cannot be read' }
  if (!verifySignatures(decoding.transaction, verifier)) return { why: 'a signature of the transaction is not valid' }
  return decoding.transaction
}

const base64 = getBase64Encoder()

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return new Uint8Array(base64.encode(text))
  } catch {
    return undefined
  }
}

function describe(answer: Exclude<RpcAnswer, { readonly kind: 'answered' }>): string {
  return answer.kind === 'refused' ? `the node refused with code ${answer.code}` : answer.why
}

function stranger(isMember: false | undefined): string {
  return isMember === undefined ? 'the node does not tell its genesis hash' : 'the node speaks for another chain'
}

function useless(why: string, soon = false): NodeReading {
  return { kind: 'unavailable', why, soon }
}
