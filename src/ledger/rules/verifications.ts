/** Who was verified for a host, and until when: the same in every store. */
import type { Verification } from '../../core/payouts/ports/rewards.ts'

/** With one that begins: what holds of the host by then ends, and what would begin only then or later never holds. */
export function nextVerifications(
  before: readonly Verification[],
  verification: Omit<Verification, 'isRevoked'>,
): readonly Verification[] {
  const { host, from } = verification
  const kept = before.filter((one) => one.host !== host || one.from < from)
  const ended = kept.map((one) => (one.host === host && one.until > from ? { ...one, until: from } : one))
  return [...ended, { ...verification, isRevoked: false }]
}

/** The same one where there is nothing to end. */
export function revoked(verification: Verification, at: number): Verification {
  const { from, until } = verification
  return until > at ? { ...verification, until: Math.max(from, at), isRevoked: true } : verification
}
