/**
 * Reads transactions from one node, and accepts its report as far as it can be checked.
 *
 * The node must prove that it is on the right chain before and after each report. One address can lead to different
 * nodes from one answer to the next, without any visible break.
 */
import { getBase64Encoder } from '@solana/kit'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { attempt } from '../../core/errors/attempt.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Commitment } from '../../core/ports/chain.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import { genesisIn, readGenesis } from '../rpc/genesis.ts'
import { readCount } from '../rpc/json.ts'
import type { Call, Node, RpcAnswer } from '../rpc/rpc.ts'
import { createStatusPoller, type StatusPoller } from '../rpc/signature-statuses.ts'
import { decodeTransaction, type Transaction, verifySignatures } from './decode.ts'
import { readEffect } from './effects.ts'
import type { SignedTransactions } from './signed-transactions.ts'

export type NodeReading =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** `soon`: the node has the transaction, but not all its data yet. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly soon?: boolean; readonly isUnreadable?: boolean }

/** The genesis hash of the chain. If none is configured, the first reachable node sets it. */
export interface Pin {
  hash: string | undefined
}

/**
 * Transactions with verified signatures, by wire text, so that the report of a second node needs no second
 * verification.
 */
export type Verified = Map<string, Transaction>

export interface NodeReader {
  /** The number of consecutive failures. */
  failures(): number
  /** Whether a transaction that the node did not have may be there now. */
  readonly appeared: StatusPoller
  /** The node's current report on a transaction. */
  read(signature: string, verified: Verified, commitment: Commitment): Promise<NodeReading>
  /** Any other question. The node must be on the right chain. */
  readonly ask: Call
}

export interface NodeReaderParts {
  readonly node: Node
  readonly pin: Pin
  readonly verifier: Verifier
  /** Transactions whose signatures need no verification. */
  readonly signed?: SignedTransactions | undefined
  readonly clock: Clock
  readonly log: Log
}

const config = { encoding: 'base64', maxSupportedTransactionVersion: 1 }

/** The time for which a successful chain check remains valid before the next question. */
const trustedMs = 1_000

export function createNodeReader({ node, pin, verifier, signed, clock, log }: NodeReaderParts): NodeReader {
  /** The time of the last successful chain check. */
  let knownAt = Number.NEGATIVE_INFINITY
  let asking: Promise<boolean | undefined> | undefined
  let failures = 0

  const call: Call = async (method, params) => heard(await node.call(method, params))

  function heard(answer: RpcAnswer): RpcAnswer {
    if (answer.kind === 'unavailable') knownAt = Number.NEGATIVE_INFINITY
    return answer
  }

  function fail(why: string, soon = false, isUnreadable = false): NodeReading {
    // Logged once per outage, because a dead node is asked again for every payment.
    if (failures === 0) log.warn('chain.node_unavailable', { node: node.name, why })
    failures += 1
    return { kind: 'unavailable', why, soon, isUnreadable }
  }

  /** True for the right chain, false for another, undefined if the node did not report its hash. */
  function isMember(hash: string | undefined): boolean | undefined {
    if (hash === undefined) return undefined
    pin.hash ??= hash
    const isKnown = hash === pin.hash
    knownAt = isKnown ? clock.monotonic() : Number.NEGATIVE_INFINITY
    if (!isKnown) log.error('chain.wrong_cluster', { node: node.name })
    return isKnown
  }

  /** The result of a recent chain check. Concurrent callers share one request. */
  async function belonged(): Promise<boolean | undefined> {
    if (clock.monotonic() - knownAt < trustedMs) return true
    asking ??= readGenesis(call)
      .then(isMember)
      .finally(() => {
        asking = undefined
      })
    return asking
  }

  /**
   * Accepts an answer only if the node is on the right chain before it and together with it, because an address can lead
   * to several nodes.
   */
  const ask: Call = async (method, params) => {
    const before = await belonged()
    if (!before) return { kind: 'unavailable', why: stranger(before) }
    const { answer, genesis } = await node.callWithGenesis(method, params)
    // An empty answer contains no facts that could be wrong.
    if (heard(answer).kind !== 'answered' || !genesis) return answer
    const isProven = isMember(genesisIn(heard(genesis)))
    return isProven ? answer : { kind: 'unavailable', why: stranger(isProven) }
  }

  async function testify(signature: string, verified: Verified, commitment: Commitment): Promise<NodeReading> {
    const answer = await ask('getTransaction', [signature, { ...config, commitment }])
    // A stranger can make the report on a transaction exceed the largest answer, with calls between programs.
    const isTooLarge = answer.kind === 'unavailable' && answer.isTooLarge === true
    if (answer.kind !== 'answered') return fail(describe(answer), false, isTooLarge)
    const testimony = await readTestimony(signature, answer.result, verified)
    if (testimony.kind === 'unavailable') return fail(testimony.why, testimony.soon, true)
    failures = 0
    return testimony
  }

  async function readTestimony(signature: string, result: unknown, verified: Verified): Promise<NodeReading> {
    if (result === null) return { kind: 'missing' }
    if (!isFields(result)) return useless('the response is not a transaction')
    const slot = readCount(result['slot'])
    const wire = readWire(result['transaction'])
    if (slot === undefined || wire === undefined) return useless('the response is not a transaction')
    const transaction = verified.get(wire) ?? signed?.find(wire) ?? authenticate(wire, verifier)
    if ('why' in transaction) return useless(transaction.why)
    if (encodeBase58(transaction.signatures[0] ?? new Uint8Array()) !== signature)
      return useless('the node returned another transaction than requested')
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

/** Decodes a base64 transaction and verifies its signatures. */
function authenticate(wire: string, verifier: Verifier): Transaction | { readonly why: string } {
  const bytes = decodeBase64(wire)
  const decoding = bytes && decodeTransaction(bytes)
  if (decoding?.kind !== 'transaction') return { why: 'the transaction cannot be read' }
  if (!verifySignatures(decoding.transaction, verifier)) return { why: 'a signature of the transaction is not valid' }
  return decoding.transaction
}

const base64 = getBase64Encoder()

function decodeBase64(text: string): Uint8Array | undefined {
  return attempt(() => new Uint8Array(base64.encode(text)))
}

function describe(answer: Exclude<RpcAnswer, { readonly kind: 'answered' }>): string {
  return answer.kind === 'refused' ? `the node refused with code ${answer.code}` : answer.why
}

function stranger(isKnown: false | undefined): string {
  return isKnown === undefined ? 'the node did not return its genesis hash' : 'the node belongs to another chain'
}

function useless(why: string, soon = false): NodeReading {
  return { kind: 'unavailable', why, soon }
}
