/** An allowance in words: "one request", "1 hour", "10 MB". */
import { type Allowance, isOneRequest } from '../../core/payment/allowance.ts'

const spans = [
  [86_400n, 'day'],
  [3_600n, 'hour'],
  [60n, 'minute'],
  [1n, 'second'],
] as const
const sizes = [
  [1_000_000_000n, 'GB'],
  [1_000_000n, 'MB'],
  [1_000n, 'kB'],
] as const

export function formatAllowance(allowance: Allowance): string {
  const { unit, amount } = allowance
  if (isOneRequest(allowance)) return 'one request'
  if (unit === 'request') return `${amount} requests`
  if (unit === 'second') {
    const [seconds, name] = spans.find(([length]) => amount >= length && amount % length === 0n) ?? spans[3]
    const count = amount / seconds
    return `${count} ${name}${count === 1n ? '' : 's'}`
  }
  const [bytes, name] = sizes.find(([size]) => amount >= size) ?? [1n, 'bytes']
  const tenths = (amount * 10n + bytes / 2n) / bytes
  const size = `${tenths / 10n}${tenths % 10n === 0n ? '' : `.${tenths % 10n}`} ${name}`
  return unit === 'file' ? `this file (${size})` : size
}
