/** An allowance in words: "one request", "1 hour", "10 MB". */
import { formatDecimal } from '../../money/money.ts'
import { type Allowance, isOneRequest } from '../../payment/allowance.ts'
import { fill } from './fill.ts'

/** The words in English. They are part of its texts, and the dashboard loads no others. */
export const allowanceTexts = {
  oneRequest: 'one request',
  requests: '{count} requests',
  oneDay: '1 day',
  days: '{count} days',
  oneHour: '1 hour',
  hours: '{count} hours',
  oneMinute: '1 minute',
  minutes: '{count} minutes',
  oneSecond: '1 second',
  seconds: '{count} seconds',
  bytes: '{count} bytes',
  file: 'this file ({size})',
}
type AllowanceTexts = Readonly<Record<keyof typeof allowanceTexts, string>>

interface AllowanceLanguage<Texts = AllowanceTexts> {
  readonly texts: { readonly page: Texts }
  readonly locale: string
}
type AccessLanguage = AllowanceLanguage<AllowanceTexts & { readonly access: string }>

const spans: readonly (readonly [seconds: bigint, one: keyof AllowanceTexts, several: keyof AllowanceTexts])[] = [
  [86_400n, 'oneDay', 'days'],
  [3_600n, 'oneHour', 'hours'],
  [60n, 'oneMinute', 'minutes'],
  [1n, 'oneSecond', 'seconds'],
]
const sizes = [
  [1_000_000_000n, 'GB'],
  [1_000_000n, 'MB'],
  [1_000n, 'kB'],
] as const

export function formatAllowance(allowance: Allowance, { texts: { page: texts }, locale }: AllowanceLanguage): string {
  const { unit, amount } = allowance
  const count = (units: bigint): string => formatDecimal(units.toString(), locale)
  if (isOneRequest(allowance)) return texts.oneRequest
  if (unit === 'request') return fill(texts.requests, { count: count(amount) })
  if (unit === 'second') {
    const [seconds, one, several] = spans.find(([length]) => amount >= length && amount % length === 0n) ?? [
      1n,
      'oneSecond',
      'seconds',
    ]
    return fill(texts[amount === seconds ? one : several], { count: count(amount / seconds) })
  }
  const size = formatSize(amount, texts, locale)
  return unit === 'file' ? fill(texts.file, { size }) : size
}

/** "10 minutes of access": the window in which people can open a purchase again. */
export function formatAccess(window: Allowance, language: AccessLanguage): string {
  return fill(language.texts.page.access, { time: formatAllowance(window, language) })
}

function formatSize(amount: bigint, texts: AllowanceTexts, locale: string): string {
  const found = sizes.find(([size]) => amount >= size)
  if (!found) return fill(texts.bytes, { count: formatDecimal(amount.toString(), locale) })
  const [bytes, name] = found
  const tenths = (amount * 10n + bytes / 2n) / bytes
  const decimal = `${tenths / 10n}${tenths % 10n === 0n ? '' : `.${tenths % 10n}`}`
  return `${formatDecimal(decimal, locale)} ${name}`
}
