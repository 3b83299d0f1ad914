/**
 * The amount that would be lost if the chain reverted all payments that are not final, per recipient and per payer, as
 * a fraction of the configured limit.
 *
 * The sum over all servers is read once a second. In between, each server adds its own payments from their check on. One
 * server therefore keeps the limit. Several servers together can exceed it by the payments of one second.
 */
import type { Amounts, TokenCode } from '../../core/money/tokens.ts'
import type { Exposure, Journal } from '../../core/ports/journal.ts'
import type { Log } from '../../core/runtime.ts'
import type { RiskLimit } from '../config/finality.ts'

const everyMs = 1_000
/** Fractions of a limit are counted in millionths. */
const whole = 1_000_000n

/** Units by token, of one recipient or payer. */
type Sum = Map<TokenCode, bigint>

/** The sums of payments, so that a check takes the same time for any number of them. */
interface Sums {
  readonly recipients: Map<string, Sum>
  readonly payers: Map<string, Sum>
}

interface Reservation {
  readonly payment: Exposure
  /** The claims that are about to register it. */
  readonly claims: Set<object>
  isRegistered: boolean
}

function sumUp(payments: readonly Exposure[]): Sums {
  const sums: Sums = { recipients: new Map(), payers: new Map() }
  for (const payment of payments) count(sums, payment)
  return sums
}

function count({ recipients, payers }: Sums, { recipient, payer, token, units }: Exposure, sign = 1n): void {
  for (const [sums, name] of [[recipients, recipient] as const, [payers, payer] as const]) {
    const sum: Sum = sums.get(name) ?? new Map()
    sums.set(name, sum.set(token, (sum.get(token) ?? 0n) + sign * units))
  }
}

export function createUnfinalizedPayments(journal: Pick<Journal, 'exposure'>, log: Log) {
  let sums: Sums | undefined
  /** Admissions of this server since the last query began. */
  let added: Exposure[] = []
  /** Payments that were checked, and that the ledger may not have yet, by transaction. */
  const reserved = new Map<string, Reservation>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: 'idle' | 'running' | 'stopped' = 'idle'

  const refresh = async (): Promise<void> => {
    const before = added.length
    try {
      const known = await journal.exposure()
      // The result includes the payments that were added before the query.
      added = added.slice(before)
      sums = sumUp([...known, ...added, ...[...reserved.values()].map(({ payment }) => payment)])
    } catch (error) {
      sums = undefined
      log.warn('exposure.unknown', { why: error instanceof Error ? error.message : String(error) })
    }
    if (state === 'stopped') return
    // Queries run one after the other, so that payments before and after a query stay distinct.
    timer = setTimeout(() => void refresh(), everyMs)
    timer.unref?.()
  }
  const start = (): void => {
    if (state !== 'idle') return
    state = 'running'
    void refresh()
  }
  const over = (limits: Amounts | undefined, sum: Sum | undefined, { token, units }: Exposure): boolean => {
    if (!limits) return false
    if (!limits[token]) return true
    const all = new Map(sum).set(token, (sum?.get(token) ?? 0n) + units)
    let part = 0n
    for (const [code, total] of all) {
      const limit = limits[code]
      if (limit) part += (total * whole) / limit
    }
    return part > whole
  }

  const exceeds = ({ recipient, payer }: RiskLimit, payment: Exposure): boolean => {
    if (!recipient && !payer) return false
    start()
    if (!sums) return true
    return (
      over(recipient, sums.recipients.get(payment.recipient), payment) ||
      over(payer, sums.payers.get(payment.payer), payment)
    )
  }
  return {
    /** Whether one more payment would exceed the limit. True while the sum is unknown. */
    exceeds,
    /**
     * Counts the payment of a claim that is about to be registered, until `release`. False if it exceeds the limit.
     * Several claims of one transaction count once.
     */
    reserve: (claim: object, tx: string, limit: RiskLimit, payment: Exposure): boolean => {
      const known = reserved.get(tx)
      if (known) {
        known.claims.add(claim)
        return true
      }
      if (exceeds(limit, payment)) return false
      reserved.set(tx, { payment, claims: new Set([claim]), isRegistered: false })
      if (sums) count(sums, payment)
      return true
    },
    /** Ends the reservation of a claim, if there is one. A registered payment counts on. */
    release: (claim: object, tx: string, isRegistered: boolean): void => {
      const reservation = reserved.get(tx)
      if (!reservation?.claims.delete(claim)) return
      reservation.isRegistered ||= isRegistered
      if (reservation.claims.size > 0) return
      reserved.delete(tx)
      if (reservation.isRegistered && state === 'running') added.push(reservation.payment)
      else if (sums) count(sums, reservation.payment, -1n)
    },
    stop: () => {
      state = 'stopped'
      clearTimeout(timer)
    },
  }
}

export type UnfinalizedPayments = ReturnType<typeof createUnfinalizedPayments>
