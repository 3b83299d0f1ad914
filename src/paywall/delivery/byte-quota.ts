/**
 * How many bytes a response may still send.
 *
 * A file's grant says it at once. Bytes that were sold ahead are held a slice at a time, so that parallel responses can
 * share them and a process that dies takes little with it; the next slice is fetched while the last one is being sent.
 */
import type { Grant, Ledger } from '../../core/ports/ledger.ts'
import type { Log } from '../../core/runtime.ts'

export interface ByteQuota {
  /** Takes bytes for sending; fewer where that is all that is held at this moment. */
  take(bytes: number): number
  /** Resolves when more may be taken, or, with false, when there is no more. */
  more(): Promise<boolean>
  /** How many were taken. */
  sent(): number
}

/** Each costs a durable write, so a fast stream wants them large. */
const largestSlice = 67_108_864
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
  readonly ledger: Ledger
  readonly log: Log
  readonly isAlive: () => boolean
  readonly lose: (why: string) => void
}

export function createByteQuota(parts: ByteQuotaParts): ByteQuota {
  const { grant, ledger, log, isAlive, lose } = parts
  let sent = 0
  let limit = Number(grant.amount)
  let slice = limit
  let isOver = false
  let fetching: Promise<void> | undefined

  const fetch = async (): Promise<void> => {
    for (let wait = 50; isAlive(); wait *= 2) {
      const used = sent
      const next = Math.min(slice * growth, largestSlice)
      try {
        const held = await ledger.advance(grant, BigInt(used), BigInt(limit - used + next))
        if (held === undefined) return lose('another request holds it')
        const reached = used + Number(held)
        isOver = reached <= limit
        limit = Math.max(limit, reached)
        slice = next
        return
      } catch (error) {
        // The same again means the same, so an answer that was lost costs nobody anything.
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
      if (limit - sent < slice / 2) fetchAhead()
      return taken
    },
    more: async () => {
      while (sent >= limit && !isOver && isAlive()) {
        fetchAhead()
        await fetching
      }
      // What was found ahead of time to be all may have grown: others give back what they did not need.
      if (sent >= limit && isAlive()) {
        fetchAhead(true)
        await fetching
      }
      return sent < limit && isAlive()
    },
    sent: () => sent,
  }
}
