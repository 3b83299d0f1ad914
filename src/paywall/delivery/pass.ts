/**
 * A pass: one delivery of a paid response, from the grant to the response's real end. (Within a window that is open
 * already nothing is granted: `window-pass.ts`.)
 *
 * The lease behind it is renewed while the response runs. When it is lost, nothing more may be sent: somebody else may
 * be delivering the same payment by then.
 */
import { formatContentRange, parseContentRange } from '../../core/encoding/content-range.ts'
import type { Answer } from '../../core/encoding/http.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import type { Consequence, Ending } from '../../core/payment/delivery.ts'
import { computeConsequence, dependsOnArrival, statusHeader, unconfirmedBytes } from '../../core/payment/delivery.ts'
import type { Grant, Ledger } from '../../core/ports/ledger.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import type { Admission } from '../claim/admit.ts'
import type { Envelope } from '../config/envelope.ts'
import type { ByteQuota } from './byte-quota.ts'
import { createByteQuota, createFileQuota } from './byte-quota.ts'
import { holdLease, holdUntil } from './lease.ts'

/** The beginning of a response, as far as it matters here. */
export interface Head {
  readonly status: number
  /** The length of its body, where it is known. */
  readonly length: number | undefined
  readonly contentRange: string | undefined
}

/** Headers as pairs of name and value. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/** How a response begins instead. */
export interface Beginning {
  readonly status: number
  readonly headers: HeaderPairs
  /** How long its body is now, where it is cut. */
  readonly length?: number
  /** Measures the body; undefined where it may be as long as it likes. */
  readonly quota?: ByteQuota
  /** To be sent instead of the handler's response, of which nothing may be sent. */
  readonly instead?: Answer
}

/** What is behind a pass, for whoever serves it. */
export interface PaymentFacts {
  readonly tx: string
  /** The requestId's pseudonym, and the payer's. */
  readonly request: string
  readonly payer: string
  readonly token: TokenCode
  /** What was received, for people: "0.01". */
  readonly amount: string
  /** What the payment is counted in. */
  readonly unit: Unit
  /** Whether the payment is for this one request: whoever shows it again wants the same again, and not more. */
  readonly isOnce: boolean
}

export interface Pass {
  readonly envelope: Envelope
  facts(): PaymentFacts
  /** Called when the status is known and before the first byte; the last call counts. */
  begin(head: Head): Beginning
  /** Whether bytes may still be sent. Ask before every write. */
  isAlive(): boolean
  /** Calls back if the lease is lost while the response runs. */
  onLost(callback: () => void): void
  /** Whether the payment depends on the arrival of the body that was sent, which then has to be awaited before `end`. */
  awaitsArrival(bodyBytes: number): boolean
  /** Called at the response's end; the first call counts. */
  end(ending: Ending, bodyBytes: number): void
  /** Breaks the response off through no fault of the payer's. */
  lose(why: string): void
}

export interface PassParts {
  readonly admission: Admission
  readonly grant: Grant
  readonly method: string
  readonly envelope: Envelope
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
  readonly leaseMs: number
  readonly facts: () => PaymentFacts
  /** The headers of a response with this status. */
  readonly headersFor: (status: number) => HeaderPairs
  /** The answer to a handler that sends another part of a file than was asked for. */
  readonly mismatch: () => Answer
  readonly onEnd: (consequence: Consequence, recorded: Promise<void>) => void
}

export function openPass(parts: PassParts): Pass {
  const { admission, grant, method, envelope, ledger, clock, log, leaseMs } = parts
  const { allowance, takenAt } = admission
  const { unit } = allowance
  const held = holdLease({ grant, takenAt, ledger, clock, log, leaseMs })
  // A window ends, also for a response that never does; one that is nearly through is let go on for a lease longer.
  const lease = unit === 'second' ? holdUntil(held, admission.usableUntil + leaseMs, clock) : held
  let status: number | undefined
  let quota: ByteQuota | undefined
  let isWhole = true
  let ended = false

  /** A settle that the store did not take at once is tried again while the lease is ours. */
  const record = async (consequence: Consequence, used: bigint): Promise<void> => {
    for (let wait = 50; ; wait *= 2) {
      try {
        const held = await ledger.end(grant, consequence, used)
        if (!held) log.warn('grant ended without its lease', { consequence })
        return
      } catch (error) {
        if (clock.monotonic() + wait >= lease.deadline()) {
          log.error('grant left to lapse', { consequence, why: String(error) })
          return
        }
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }
  const isAlive = (): boolean => !ended && lease.isAlive()
  const openGauge = (): ByteQuota | undefined => {
    if (unit === 'file') return createFileQuota(grant.amount)
    if (unit !== 'byte') return undefined
    return createByteQuota({ grant, ledger, log, isAlive, lose: lease.lose })
  }
  /** What was used of the grant, counted from its beginning. */
  const usedFor = (consequence: Consequence): bigint => {
    if (consequence !== 'settle' && consequence !== 'count') return 0n
    if (!quota) return consequence === 'settle' ? grant.amount : 0n
    // A file that came whole is done with, also where it turned out shorter than it was said to be.
    const isDone = consequence === 'settle' && unit === 'file' && isWhole && status === 200
    return isDone ? grant.amount : BigInt(quota.sent())
  }

  return {
    envelope,
    facts: parts.facts,
    begin: (head) => {
      status = head.status
      const hasBody = status < 400 && status !== 304 && status !== 204 && method !== 'HEAD'
      quota = hasBody ? openGauge() : undefined
      if (!quota) return { status, headers: parts.headersFor(status) }
      const range = status === 206 ? parseContentRange(head.contentRange) : undefined
      const from = status === 206 ? range?.from : 0n
      if (unit === 'file' && from !== grant.from) {
        const instead = parts.mismatch()
        status = undefined
        quota = undefined
        return { status: instead.status, headers: [], instead }
      }
      if (unit === 'file' && status === 200 && head.length !== undefined && BigInt(head.length) !== allowance.amount)
        log.warn('size and answer differ', { size: Number(allowance.amount), length: head.length })
      const room = unit === 'file' ? grant.amount : grant.amount + admission.remaining
      const headers = parts.headersFor(status)
      if (head.length === undefined || BigInt(head.length) <= room) return { status, headers, quota }
      isWhole = false
      const start = from ?? 0n
      const size = status === 206 ? range?.size : BigInt(head.length)
      const part = formatContentRange({ from: start, to: start + room, size })
      const cut: HeaderPairs = [
        [statusHeader, 'partial'],
        ['Content-Range', part],
        ['Content-Length', String(room)],
      ]
      return { status: 206, headers: [...headers, ...cut], length: Number(room), quota }
    },
    isAlive,
    onLost: lease.onLost,
    awaitsArrival: (bodyBytes) => bodyBytes > unconfirmedBytes && dependsOnArrival({ unit, method, status, bodyBytes }),
    end: (ending, bodyBytes) => {
      if (ended) return
      // Broken off because our lease ran out: our failure, which does not count against the payer.
      const isOurs = ending !== 'finished' && !lease.isAlive()
      ended = true
      lease.stop()
      const sent = quota?.sent() ?? bodyBytes
      const consequence =
        isOurs && unit !== 'byte' ? 'release' : computeConsequence({ unit, method, status, bodyBytes: sent, ending })
      parts.onEnd(consequence, record(consequence, usedFor(consequence)))
    },
    lose: lease.lose,
  }
}
