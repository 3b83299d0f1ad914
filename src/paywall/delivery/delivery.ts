/**
 * A delivery: one paid response, from the grant to the real end of the response.
 *
 * The lease is renewed while the response runs. When the lease is lost, the response must stop: another server may be
 * delivering the same payment. A response within an open window has no grant, so no lease is renewed and no end is
 * recorded. There may be thousands of such responses per second.
 */
import { formatContentRange, parseContentRange } from '../../core/http/content-range.ts'
import { nameEndpoint } from '../../core/http/endpoint.ts'
import { type Answer, type HeaderPairs, isJsonType } from '../../core/http/http.ts'
import { isShared } from '../../core/payment/allowance.ts'
import type { DeliveryOutcome, Ending } from '../../core/payment/delivery.ts'
import { computeOutcome, dependsOnArrival, statusHeader, unconfirmedBytes } from '../../core/payment/delivery.ts'
import type { Envelope } from '../../core/payment/envelope.ts'
import { refuse } from '../../core/payment/refusals.ts'
import type { Grant } from '../../core/ports/ledger.ts'
import type { Admission } from '../claim/admit.ts'
import type { Claim } from '../claim/verify-on-chain.ts'
import { readCorsHeaders } from '../quote/cors.ts'
import { emit } from '../quote/route-runtime.ts'
import type { SlicedAdmission } from './bundle-slices.ts'
import { type ByteQuota, createByteQuota, createFileQuota } from './byte-quota.ts'
import { type HeldLease, holdLease, holdUntil, holdWindow } from './lease.ts'
import type { PaidRequest, PaymentFacts } from './receipt.ts'
import { createReceiptCache, formatHeaders, formatReceived, isCrossOrigin, readFacts } from './receipt.ts'

/** The start of a response, as far as the delivery needs it. */
export interface Head {
  readonly status: number
  /** The length of the body, if it is known. */
  readonly length: number | undefined
  readonly contentRange: string | undefined
  /** The media type. */
  readonly type: string | undefined
}

/** The start of the response after the paywall's changes. */
export interface Beginning {
  readonly status: number
  readonly headers: HeaderPairs
  /** The same headers as lines of a head, if they need no check. */
  readonly lines?: string | undefined
  /** The new length of the body, if it is cut. */
  readonly length?: number
  /** Limits the body. Undefined if its length is not limited. */
  readonly quota?: ByteQuota
  /** Replaces the handler's response, which must not be sent at all. */
  readonly instead?: Answer
}

export interface Delivery {
  readonly envelope: Envelope
  facts(): PaymentFacts
  /** Called with the status before the first byte. The last call counts. */
  begin(head: Head): Beginning
  /** Whether the response may send more bytes. The adapter asks before each write. */
  isAlive(): boolean
  /** Calls back if the lease is lost while the response runs. */
  onLost(callback: () => void): void
  /**
   * Whether the payment is used only if the body arrives. Then the adapter awaits the arrival before it calls `end`.
   */
  awaitsArrival(bodyBytes: number): boolean
  /** Called at the end of the response. The first call counts. */
  end(ending: Ending, bodyBytes: number): void
  /** Ends the response early. The payer is not at fault. */
  lose(why: string): void
}

/** `receipts` are those of earlier responses for the same payment and request. */
export function openDelivery(claim: Claim, admission: SlicedAdmission, receipts = createReceiptCache()): Delivery {
  const { routeRuntime, incoming } = claim
  const { allowance, grant, use } = admission
  const { unit } = allowance
  const { method } = incoming
  const paid: PaidRequest = { claim, admission, receipts }
  emitVerified(paid)
  const lease = use ?? holdAdmission(claim, admission)
  const finished = routeRuntime.running.begin(() => lease.lose('the service is shutting down'))
  let body: Body = { status: undefined, quota: undefined, isWhole: true }
  let isEnded = false
  const isAlive = (): boolean => !isEnded && lease.isAlive()
  return {
    envelope: routeRuntime.route.config.envelope,
    facts: () => readFacts(paid),
    begin: (head) => {
      body = { status: head.status, quota: undefined, isWhole: true }
      if (head.status === 200) routeRuntime.types.note(incoming.target, isJsonType(head.type))
      if (claim.isForPage && !isShowable(head)) {
        // It counts like a response without a body, because the handler has worked.
        body.status = 304
        return { status: notShowable.status, headers: [], instead: notShowable }
      }
      const { pairs: headers, lines } = formatHeaders(paid, head.status)
      if (!grant) return { status: head.status, headers, lines }
      return beginBody(paid, body, grant, { lease, isAlive, head, headers, lines })
    },
    isAlive,
    onLost: lease.onLost,
    // A response uses up no part of a window.
    awaitsArrival: (bodyBytes) =>
      bodyBytes > unconfirmedBytes && dependsOnArrival({ unit, method, status: body.status, bodyBytes }),
    end: (ending, bodyBytes) => {
      if (isEnded) return
      // The response was cut off because this server lost its lease. That does not count against the payer.
      const isOurs = ending !== 'finished' && !lease.isAlive()
      isEnded = true
      lease.stop()
      const { status, quota } = body
      const sent = quota?.sent() ?? bodyBytes
      const outcome =
        isOurs && unit !== 'byte' ? 'not_started' : computeOutcome({ unit, method, status, bodyBytes: sent, ending })
      const recorded = grant && recordEnd(claim, grant, lease, outcome, countUsed(paid, body, grant, outcome))
      use?.end(outcome)
      emitEnded(paid, outcome)
      if (recorded) followRecord(claim, recorded, finished)
      else finished()
    },
    lose: lease.lose,
  }
}

/** The page shows JSON, and only as much of it as people read. */
const mostShown = 300_000

function isShowable({ status, length = 0, type }: Head): boolean {
  return status === 200 && isJsonType(type) && length <= mostShown
}

/** The response to the page's script for all other resources. Nothing is used up, and the browser opens the resource. */
const notShowable: Answer = { kind: 'answer', status: 204, headers: { 'Cache-Control': 'no-store' }, body: '' }

/** The end of a window also ends responses that are still running, one lease period later. */
function holdAdmission({ routeRuntime, proof }: Claim, admission: Admission): HeldLease {
  const { runtime, route } = routeRuntime
  const { ledger, clock, log, deadlines } = runtime
  const { leaseMs } = route.config
  const { grant, takenAt, usableUntil } = admission
  if (!grant) {
    const isStanding = async () => {
      const state = (await ledger.peek(proof.txBytes))?.state
      return state === 'open' || state === 'busy'
    }
    return holdWindow({ deadlines, clock, leaseMs, usableUntil, isStanding })
  }
  const held = holdLease({ grant, takenAt, ledger, clock, log, leaseMs })
  return admission.allowance.unit === 'second' ? holdUntil(held, usableUntil + leaseMs, clock) : held
}

/** The state of the response so far. */
interface Body {
  status: number | undefined
  quota: ByteQuota | undefined
  /** Whether it contains the handler's whole body. */
  isWhole: boolean
}

interface BodyParts {
  readonly lease: HeldLease
  readonly isAlive: () => boolean
  readonly head: Head
  readonly headers: HeaderPairs
  readonly lines: string | undefined
}

/** If bytes are sold, the body is cut at the bought limit. */
function beginBody({ claim, admission }: PaidRequest, body: Body, grant: Grant, parts: BodyParts): Beginning {
  const { head, headers, lines, lease, isAlive } = parts
  const { status } = head
  const { ledger, log } = claim.routeRuntime.runtime
  const { unit, amount } = admission.allowance
  const hasBody = status < 400 && status !== 304 && status !== 204 && claim.incoming.method !== 'HEAD'
  if (!hasBody || (unit !== 'file' && unit !== 'byte')) return { status, headers, lines }
  const range = status === 206 ? parseContentRange(head.contentRange) : undefined
  const from = status === 206 ? range?.from : 0n
  if (unit === 'file' && from !== grant.from) {
    const instead = refuseRange(claim)
    // It counts like any error for a file, because the handler has worked.
    body.status = instead.status
    return { status: instead.status, headers: [], instead }
  }
  const quota =
    unit === 'file'
      ? createFileQuota(grant.amount)
      : createByteQuota({ grant, allowance: amount, length: head.length, ledger, log, isAlive, lose: lease.lose })
  body.quota = quota
  if (unit === 'file' && status === 200 && head.length !== undefined && BigInt(head.length) !== amount)
    log.warn('delivery.size_mismatch', { size: Number(amount), length: head.length })
  const room = unit === 'file' ? grant.amount : grant.amount + admission.remaining
  if (head.length === undefined || BigInt(head.length) <= room) return { status, headers, lines, quota }
  body.isWhole = false
  const start = from ?? 0n
  const size = status === 206 ? range?.size : BigInt(head.length)
  const cut: HeaderPairs = [
    [statusHeader, 'partial'],
    ['Content-Range', formatContentRange({ from: start, to: start + room, size })],
    ['Content-Length', String(room)],
  ]
  return { status: 206, headers: [...headers, ...cut], length: Number(room), quota }
}

/** The refusal for a handler that sends another part of a file than the requested one. */
function refuseRange(claim: Claim): Answer {
  const answer = claim.routeRuntime.dialects.refusal(
    refuse('range_mismatch'),
    { requestId: claim.proof.requestId },
    claim.via,
  )
  return {
    ...answer,
    headers: { ...answer.headers, ...(isCrossOrigin(claim) && readCorsHeaders(claim.routeRuntime.dialects)) },
  }
}

/** The used part of the grant, counted from its start. */
function countUsed({ admission }: PaidRequest, body: Body, grant: Grant, outcome: DeliveryOutcome): bigint {
  if (outcome !== 'delivered' && outcome !== 'partial') return 0n
  const { quota, isWhole, status } = body
  if (!quota) return outcome === 'delivered' ? grant.amount : 0n
  // A complete file uses the whole grant, even if the file is shorter than announced.
  const isDone = outcome === 'delivered' && admission.allowance.unit === 'file' && isWhole && status === 200
  return isDone ? grant.amount : BigInt(quota.sent())
}

/** Records the end of the response. Repeats a failed write while the lease is held. */
async function recordEnd(
  { routeRuntime }: Claim,
  grant: Grant,
  lease: HeldLease,
  outcome: DeliveryOutcome,
  used: bigint,
): Promise<void> {
  const { ledger, clock, log } = routeRuntime.runtime
  for (let wait = 50; ; wait *= 2) {
    try {
      const held = await ledger.end(grant, outcome, used)
      if (!held) log.warn('grant.lease_missing', { outcome })
      return
    } catch (error) {
      if (clock.monotonic() + wait >= lease.deadline()) {
        log.error('grant.end_failed', { outcome, why: String(error) })
        return
      }
    }
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

function followRecord({ routeRuntime, proof }: Claim, recorded: Promise<void>, finished: () => void): void {
  const { ending, changes } = routeRuntime.runtime
  ending.set(proof.tx, recorded)
  void recorded.finally(() => {
    if (ending.get(proof.tx) === recorded) ending.delete(proof.tx)
    changes.note(proof.tx)
    finished()
  })
}

function emitVerified(paid: PaidRequest): void {
  const { claim, admission } = paid
  const { routeRuntime, incoming, proof } = claim
  const { runtime, listener } = routeRuntime
  runtime.countAdmitted()
  runtime.changes.note(proof.tx)
  if (!listener) return
  const { method, target } = incoming
  const { token, payer, first } = admission
  const { tx } = proof
  emit(routeRuntime, { kind: 'verified', method, target, tx, amount: formatReceived(paid), token, payer, first })
}

/** Counts the end of a response and emits it. */
function emitEnded({ claim, admission, receipts }: PaidRequest, outcome: DeliveryOutcome): void {
  const { routeRuntime, incoming, proof } = claim
  const { runtime, route, listener } = routeRuntime
  if (listener) emit(routeRuntime, { kind: 'ended', target: incoming.target, tx: proof.tx, outcome })
  receipts.endpoint ??= nameEndpoint(route.config.endpoint, incoming)
  const isDelivered = outcome === 'delivered'
  runtime.usage.count(receipts.endpoint, isDelivered ? 'delivered' : 'undelivered')
  // A single request or a file counts as one delivery, even after several attempts.
  if (isDelivered && !admission.first && isShared(admission.allowance)) runtime.usage.count(receipts.endpoint, 'reused')
}
