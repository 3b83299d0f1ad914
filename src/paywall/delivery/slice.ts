/**
 * A slice of a bundle in the hands of this server: its free uses, those under way, and the reports to the ledger.
 *
 * The server never starts more uses than the ledger holds for it. Ended uses stay in the slice until the ledger has
 * recorded them.
 */
import type { DeliveryOutcome } from '../../core/payment/delivery.ts'
import type { SliceReport, Taken } from '../../core/ports/ledger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type HeldLease, holdLease } from './lease.ts'

/** One use of a slice. It shares the lease of the slice. */
export interface SliceUse extends HeldLease {
  end(outcome: DeliveryOutcome): void
}

export interface HeldSlice {
  /** Starts a use. Undefined if none is free, or if the ledger did not confirm the slice within the last second. */
  draw(): SliceUse | undefined
  /** The rest of the bundle, with the free uses of the slice. */
  remaining(): bigint
  /** Reports the ended uses, and asks for more. Resolves also if the ledger does not respond. */
  report(): Promise<void>
  /** The ledger must confirm the slice before its next use. */
  doubt(): void
  /** Starts no further use. Returns the free uses at once, and those under way after their ends. */
  giveBack(): Promise<void>
}

export interface SliceParts {
  readonly runtime: Pick<Runtime, 'ledger' | 'clock' | 'log' | 'changes'>
  readonly leaseMs: number
  readonly tx: string
  readonly taken: Extract<Taken, { kind: 'granted' }>
  readonly takenAt: number
  /** Called when the slice starts no further use. */
  readonly onClosed: () => void
  /** Called when the slice has ended. */
  readonly onGone: () => void
}

const confirmedMs = 1_000
const idleMs = 1_000
const shortestTimerMs = 20

export function holdSlice(parts: SliceParts): HeldSlice {
  const { leaseMs, tx, takenAt } = parts
  const { ledger, clock, log, changes } = parts.runtime
  const { grant, remaining } = parts.taken
  const lease = holdLease({ grant, takenAt, leaseMs, ledger, clock, log })
  const running = new Set<SliceUse>()
  const tally = createTally()
  let held = Number(grant.amount)
  let rest = remaining
  let [confirmedAt, usedAt, isClosed, isGone] = [takenAt, takenAt, false, false]
  let reporting: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const countFree = (): number => held - running.size - tally.uses()
  const close = (): void => {
    if (!isClosed) parts.onClosed()
    isClosed = true
  }
  const vanish = (): void => {
    close()
    isGone = true
    lease.stop()
    clearTimeout(timer)
    parts.onGone()
  }
  const send = async (): Promise<void> => {
    const askedAt = clock.monotonic()
    const report = tally.report((uses) => ({ keeps: isClosed ? running.size : held - uses, fills: !isClosed }))
    try {
      const state = await ledger.reportSlice(grant, report)
      if (isGone) return
      if (!state) return lease.lose('another request holds it')
      tally.confirm()
      held = Number(state.held)
      rest = state.remaining
      confirmedAt = askedAt
      changes.note(tx)
      // All uses are under way, or the remainder is too small for a slice.
      if (!state.isOpen || countFree() <= 0) close()
      if (held === 0) vanish()
    } catch (error) {
      log.warn('slice.report_failed', { why: String(error) })
    }
  }
  const report = (): Promise<void> => {
    if (isGone) return Promise.resolve()
    reporting ??= send().finally(() => {
      reporting = undefined
    })
    return reporting
  }
  const giveBack = async (): Promise<void> => {
    close()
    await reporting
    await report()
  }
  const watch = (): void => {
    const now = clock.monotonic()
    if (isClosed) {
      if (running.size === 0) void report()
    } else if (now - usedAt >= idleMs) void giveBack()
    else if (now - confirmedAt >= confirmedMs / 2) void report()
    schedule()
  }
  const schedule = (): void => {
    if (isGone) return
    const next = Math.min(usedAt + idleMs, confirmedAt + confirmedMs / 2) - clock.monotonic()
    timer = setTimeout(watch, Math.max(next, isClosed ? confirmedMs / 2 : shortestTimerMs))
    timer.unref?.()
  }
  const end = (use: SliceUse, outcome: DeliveryOutcome): void => {
    if (!running.delete(use)) return
    usedAt = clock.monotonic()
    tally.count(outcome)
    if (isClosed && running.size === 0 && !isGone) void giveBack()
  }
  lease.onLost(() => {
    vanish()
    for (const use of running) use.lose('the slice was lost')
  })
  schedule()

  return {
    draw: () => {
      const now = clock.monotonic()
      if (isClosed || now - confirmedAt >= confirmedMs || countFree() <= 0 || !lease.isAlive()) return undefined
      usedAt = now
      const use = createUse(lease, end)
      running.add(use)
      if (!reporting && countFree() < held / 4) void report()
      return use
    },
    remaining: () => rest + BigInt(countFree()),
    report,
    doubt: () => {
      confirmedAt = Number.NEGATIVE_INFINITY
    },
    giveBack,
  }
}

/** Counts the ended uses that the ledger does not know yet. A failed report is sent again, unchanged. */
function createTally() {
  let [delivered, partial, noBody] = [0, 0, 0]
  let sent: SliceReport | undefined
  let sentUses = 0
  let number = 1n
  return {
    count: (outcome: DeliveryOutcome): void => {
      if (outcome === 'delivered') delivered += 1
      else if (outcome === 'partial') partial += 1
      else if (outcome === 'no_body') noBody += 1
    },
    uses: (): number => delivered + partial + noBody + sentUses,
    /** The next report. `rest` gets the number of its uses. */
    report: (rest: (uses: number) => { readonly keeps: number; readonly fills: boolean }): SliceReport => {
      if (sent) return sent
      sentUses = delivered + partial + noBody
      const { keeps, fills } = rest(sentUses)
      const counts = { delivered: BigInt(delivered), partial: BigInt(partial), noBody: BigInt(noBody) }
      sent = { number, ...counts, keeps: BigInt(keeps), fills }
      delivered = partial = noBody = 0
      return sent
    },
    confirm: (): void => {
      sent = undefined
      sentUses = 0
      number += 1n
    },
  }
}

function createUse(lease: HeldLease, end: (use: SliceUse, outcome: DeliveryOutcome) => void): SliceUse {
  let isLost = false
  let tellLost: () => void = () => {}
  const use: SliceUse = {
    isAlive: () => !isLost && lease.isAlive(),
    deadline: lease.deadline,
    onLost: (callback) => {
      tellLost = callback
    },
    lose: () => {
      if (isLost) return
      isLost = true
      tellLost()
    },
    stop: () => {},
    end: (outcome) => end(use, outcome),
  }
  return use
}
