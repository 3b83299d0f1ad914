/**
 * The amount that would be lost if the chain reverted all payments that are not final, per recipient and per payer, as
 * a fraction of the configured limit.
 *
 * The sum over all servers is read once a second, and each server adds its own admissions in between. So several
 * servers together can exceed the limit by the payments of one second.
 */
import type { Amounts } from '../../core/money/tokens.ts'
import type { Exposure, Journal } from '../../core/ports/journal.ts'
import type { Log } from '../../core/runtime.ts'
import type { RiskLimit } from '../config/finality.ts'

const everyMs = 1_000
/** Fractions of a limit are counted in millionths. */
const whole = 1_000_000n

export function createUnfinalizedPayments(journal: Pick<Journal, 'exposure'>, log: Log) {
  let known: readonly Exposure[] | undefined
  let added: Exposure[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: 'idle' | 'running' | 'stopped' = 'idle'

  const refresh = async (): Promise<void> => {
    const before = added
    try {
      known = await journal.exposure()
      // The result includes the payments that were added before the query.
      added = added.slice(before.length)
    } catch (error) {
      known = undefined
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
  const partOf = (limits: Amounts, exposures: readonly Exposure[]): bigint =>
    exposures.reduce((sum, { token, units }) => {
      const limit = limits[token]
      return sum + (limit ? (units * whole) / limit : 0n)
    }, 0n)

  return {
    /** Whether one more payment would exceed the limit. True while the sum is unknown. */
    exceeds: ({ recipient, payer }: RiskLimit, payment: Exposure) => {
      if (!recipient && !payer) return false
      start()
      if (!known) return true
      const all = [...known, ...added, payment]
      const over = (limits: Amounts | undefined, isSame: (one: Exposure) => boolean) =>
        limits !== undefined && (!limits[payment.token] || partOf(limits, all.filter(isSame)) > whole)
      return (
        over(recipient, (one) => one.recipient === payment.recipient) ||
        over(payer, (one) => one.payer === payment.payer)
      )
    },
    add: (payment: Exposure) => {
      if (state === 'running') added = [...added, payment]
    },
    stop: () => {
      state = 'stopped'
      clearTimeout(timer)
    },
  }
}

export type UnfinalizedPayments = ReturnType<typeof createUnfinalizedPayments>
