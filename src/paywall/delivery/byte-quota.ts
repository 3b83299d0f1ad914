/**
 * Limits the bytes that a response may send.
 *
 * The grant of a file contains the whole limit. Prepaid bytes are held in slices, so that parallel responses can share
 * them and a crash loses little. The next slice is fetched while the current one is sent.
 */
import { largestSlice } from '../../core/payment/allowance.ts'
import type { Grant, Ledger } from '../../core/ports/ledger.ts'
import type { Log } from '../../core/runtime.ts'

export interface ByteQuota {
  /** Takes bytes for sending. Returns fewer if the quota holds fewer at the moment. */
  take(bytes: number): number
  /** Resolves with true when more bytes can be taken, or with false at the end of the quota. */
  more(): Promise<boolean>
  /** The number of bytes taken. */
  sent(): number
}

/** Each slice costs a durable write, so a fast stream needs large slices. */
const mostAhead = 67_108_864
const growth = 4

export function createFileQuota(amount: bigint): ByteQuota {
  let sent = 0
  return {
    take: (bytes) => {
      const taken = Math.min(bytes, Number(amount) - sent)
      sent += taken
      return taken
    },
    more: async () => false,
    sent: () => sent,
  }
}

export interface ByteQuotaParts {
  readonly grant: Grant
  /** The bytes of the whole allowance. */
  readonly allowance: bigint
  /** The length of the body, if it is known. No more is held for it. */
  readonly length: number | undefined
  readonly ledger: Ledger
  readonly log: Log
  readonly isAlive: () => boolean
  readonly lose: (why: string) => void
}

export function createByteQuota(parts: ByteQuotaParts): ByteQuota {
  const { grant, ledger, log, isAlive, lose, length = Number.POSITIVE_INFINITY } = parts
  const largest = Math.min(Number(largestSlice(parts.allowance)), mostAhead)
  let sent = 0
  let limit = Number(grant.amount)
  let slice = limit
  let isOver = false
  let fetching: Promise<void> | undefined

  const fetch = async (): Promise<void> => {
    for (let wait = 50; isAlive(); wait *= 2) {
      const used = sent
      const next = Math.min(slice * growth, largest, Math.max(length - limit, 1))
      try {
        const held = await ledger.advance(grant, BigInt(used), BigInt(limit - used + next))
        if (held === undefined) return lose('another request holds it, or its payment was reverted')
        const reached = used + Number(held)
        isOver = reached <= limit
        limit = Math.max(limit, reached)
        slice = next
        return
      } catch (error) {
        // A repeated call has the same effect, so a lost response of the ledger costs nothing.
        log.warn('quota.reserve_failed', { why: String(error) })
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }
  const fetchAhead = (isLast = false): void => {
    if (fetching || (isOver && !isLast)) return
    fetching = fetch().finally(() => {
      fetching = undefined
    })
  }

  return {
    take: (bytes) => {
      const taken = Math.min(bytes, limit - sent)
      sent += taken
      if (limit < length && limit - sent < slice / 2) fetchAhead()
      return taken
    },
    more: async () => {
      while (sent >= limit && !isOver && isAlive()) {
        fetchAhead()
        await fetching
      }
      // The quota may have grown since the last slice, because other responses give back unused bytes.
      if (sent >= limit && isAlive()) {
        fetchAhead(true)
        await fetching
      }
      return sent < limit && isAlive()
    },
    sent: () => sent,
  }
}
