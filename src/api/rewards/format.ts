/** Formats outgoing transactions for responses. */
import { formatUnits } from '../../core/money/money.ts'
import { type DecimalsOf, isTokenCode } from '../../core/money/tokens.ts'
import type { OutgoingTransaction, PayoutLine } from '../../core/payouts/ports/outgoing.ts'

/** For a payout its payees and sums; for a conversion or a refund its subject, with base units as plain decimals. */
export function describeTransaction(
  transaction: OutgoingTransaction,
  decimalsOf: DecimalsOf,
  lines: readonly PayoutLine[] = [],
): object {
  const { id, kind, state, signed, slot, at, changedAt } = transaction
  const head = {
    id,
    kind,
    state,
    tx: signed?.signature ?? null,
    slot,
    plannedAt: new Date(at).toISOString(),
    landedAt: new Date(changedAt).toISOString(),
  }
  if (kind !== 'payout') return { ...head, about: parseAbout(transaction.about) }
  const decimals = decimalsOf('NATIVE')
  const amount = (units: bigint): string => (decimals === undefined ? '' : formatUnits(units, decimals))
  const total = lines.reduce((sum, { units }) => sum + units, 0n)
  const payees = lines.map(({ role, payee, units }) => ({ role, payee, amount: amount(units) }))
  return { ...head, token: 'NATIVE', amount: amount(total), payees }

  function parseAbout(text: string): object {
    const about = JSON.parse(text) as Readonly<Record<string, unknown>>
    const places = isTokenCode(about['token']) ? decimalsOf(about['token']) : undefined
    const { units } = about
    return places !== undefined && typeof units === 'string'
      ? { ...about, amount: formatUnits(BigInt(units), places) }
      : about
  }
}
