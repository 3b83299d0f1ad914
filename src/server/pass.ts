/**
 * A pass: one delivery of a paid response, from the grant to the response's real end.
 *
 * The lease behind it is renewed while the response runs. When it is lost, nothing more may be sent: somebody else may
 * be delivering the same payment by then.
 */
import type { Consequence, Ending } from '../core/delivery.ts'
import { consequenceOf } from '../core/delivery.ts'
import type { Clock, Ledger, Log } from '../core/ports.ts'
import type { Admission } from './admit.ts'
import type { Envelope } from './envelope.ts'

export interface Pass {
  readonly envelope: Envelope
  /** Called when the status is known and before the first byte; the last call counts. The headers to add. */
  begin(status: number): Readonly<Record<string, string>>
  /** Whether bytes may still be sent. Ask before every write. */
  isAlive(): boolean
  /** Calls back if the lease is lost while the response runs. */
  onLost(callback: () => void): void
  /** Called at the response's end; the first call counts. */
  end(ending: Ending, bodyBytes: number): void
  /** Breaks the response off through no fault of the payer's. */
  lose(why: string): void
}

export interface PassParts {
  readonly admission: Admission
  readonly method: string
  readonly envelope: Envelope
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
  readonly leaseMs: number
  /** The headers of a response with this status. */
  readonly headersFor: (status: number) => Readonly<Record<string, string>>
  readonly onEnd: (consequence: Consequence, recorded: Promise<void>) => void
}

export function openPass(parts: PassParts): Pass {
  const { admission, method, envelope, ledger, clock, log, leaseMs } = parts
  const { grant } = admission
  let deadline = admission.takenAt + leaseMs
  let status: number | undefined
  let ended = false
  let lost = false
  let tellLost: () => void = () => {}
  let [heartbeat, expiry]: (ReturnType<typeof setTimeout> | undefined)[] = []

  const lose = (why: string): void => {
    if (ended || lost) return
    lost = true
    log.warn('lease lost', { leaseMs, why })
    tellLost()
  }

  const beat = async (): Promise<void> => {
    if (ended || lost) return
    const asked = clock.monotonic()
    if (asked >= deadline) return lose('it ran out')
    try {
      if (!(await ledger.renew(grant, leaseMs))) return lose('somebody else has it')
      deadline = asked + leaseMs
    } catch (error) {
      log.warn('lease not renewed', { why: String(error) })
    }
    schedule()
  }
  const schedule = (): void => {
    if (ended || lost) return
    heartbeat = setTimeout(() => void beat(), leaseMs / 3)
    heartbeat.unref?.()
  }
  /** The deadline waits for nobody: not for a ledger that does not answer, nor for a handler that writes no more. */
  const watch = (): void => {
    if (ended || lost) return
    const leftMs = deadline - clock.monotonic()
    if (leftMs > 0) {
      expiry = setTimeout(watch, Math.ceil(leftMs))
      expiry.unref?.()
    } else lose('it ran out')
  }
  schedule()
  watch()

  /** A settle that the store did not take at once is tried again while the lease is ours. */
  const record = async (consequence: Consequence): Promise<void> => {
    const used = consequence === 'settle' ? grant.amount : 0n
    for (let wait = 50; ; wait *= 2) {
      try {
        const held = await ledger.end(grant, consequence, used)
        if (!held) log.warn('grant ended without its lease', { consequence })
        return
      } catch (error) {
        if (clock.monotonic() + wait >= deadline) {
          log.error('grant left to lapse', { consequence, why: String(error) })
          return
        }
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  return {
    envelope,
    begin: (chosen) => {
      status = chosen
      return parts.headersFor(chosen)
    },
    isAlive: () => !ended && !lost && clock.monotonic() < deadline,
    onLost: (callback) => {
      tellLost = callback
    },
    end: (ending, bodyBytes) => {
      if (ended) return
      ended = true
      clearTimeout(heartbeat)
      clearTimeout(expiry)
      // Broken off because our lease ran out: our failure, which does not count against the payer.
      const isOurs = ending !== 'finished' && (lost || clock.monotonic() >= deadline)
      const consequence = isOurs ? 'release' : consequenceOf({ method, status, bodyBytes, ending })
      parts.onEnd(consequence, record(consequence))
    },
    lose,
  }
}
