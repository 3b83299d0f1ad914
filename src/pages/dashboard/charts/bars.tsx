/** Shares of a total as bars: by token, and from challenge to delivery. */
import { useEffect, useRef } from 'preact/hooks'
import { formatRounded, formatShare } from '../../look/amounts.ts'
import { compareDecimals, subtractDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { EndpointPage, Funnel, TokenLine } from '../data/answers.ts'
import { Count, TokenLink } from '../elements/cells.tsx'

/** A script sets the length: the page's policy forbids inline styles. */
export function Bar({ share, tone }: { readonly share: number; readonly tone: string }) {
  const fill = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    fill.current?.style.setProperty('--share', String(Math.max(0, Math.min(1, share))))
  }, [share])
  return (
    <span class="bar" aria-hidden="true">
      <span class={`bar-fill tone-${tone}`} ref={fill} />
    </span>
  )
}

export function FunnelBars({ funnel: { challenged, paid, delivered } }: { readonly funnel: Funnel }) {
  const locale = pageLocale()
  const most = Math.max(challenged, paid, delivered, 1)
  const steps = [
    { name: 'Payment requested', hint: '402 responses', count: challenged, of: undefined },
    { name: 'Paid', hint: 'of requests for payment', count: paid, of: challenged },
    { name: 'Delivered', hint: 'of payments', count: delivered, of: paid },
  ]
  return (
    <ol class="bars bars-spread">
      {steps.map(({ name, hint, count, of }) => (
        <li key={name}>
          <span class="bars-name">{name}</span>
          <span class="bars-figure">
            <Count count={count} />
          </span>
          <Bar share={count / most} tone="accent" />
          <span class="bars-hint muted">
            {of === undefined || of === 0 ? hint : `${formatShare(Math.min(1, count / of), locale)} ${hint}`}
          </span>
        </li>
      ))}
    </ol>
  )
}

interface UseBarsProps {
  readonly usage: EndpointPage['summary']['usage']
  readonly paid: number
}

/** The requests of an endpoint, by their result. */
export function UseBars({ usage, paid }: UseBarsProps) {
  const lines = [
    ['Asked to pay', 'status 402', usage.challenged, 'accent'],
    ['Paid', 'payments', paid, 'accent'],
    ['Used again', 'further uses of an allowance', usage.reused, 'accent'],
    ['Free', 'within the free quota', usage.free, 'accent'],
    ['Refused', 'proofs that were not accepted', usage.refused, 'warn'],
    ['Delivered', 'payments with a delivery', usage.delivered, 'accent'],
    ['Not delivered', 'payments without a delivery', usage.undelivered, 'warn'],
  ] as const
  const most = Math.max(1, ...lines.map(([, , count]) => count))
  return (
    <ul class="bars bars-close">
      {lines.map(([name, hint, count, tone]) => (
        <li key={name} title={hint}>
          <span class="bars-name">{name}</span>
          <span class="bars-figure">
            <Count count={count} />
          </span>
          <Bar share={count / most} tone={tone} />
        </li>
      ))}
    </ul>
  )
}

/** The token with the most revenue first. */
export function sortTokens(tokens: readonly TokenLine[]): readonly TokenLine[] {
  return tokens.toSorted((one, other) => compareDecimals(other.revenue, one.revenue))
}

export function TokenBars({
  tokens,
  revenueToken,
}: {
  readonly tokens: readonly TokenLine[]
  readonly revenueToken: string
}) {
  const locale = pageLocale()
  return (
    <ul class="bars">
      {sortTokens(tokens).map(({ token, payments, received, sentBack = '0', revenue, share }) => (
        <li key={token}>
          <span class="bars-name">
            <TokenLink token={token} />
          </span>
          <span class="bars-figure" title={`${received} ${token} received, ${sentBack} ${token} refunded`}>
            {formatRounded(subtractDecimal(received, sentBack), locale)} <span class="unit">{token}</span>
          </span>
          <Bar share={Number(share)} tone={token.toLowerCase()} />
          <span class="bars-hint muted">
            {formatShare(Number(share), locale)} of revenue · <Count count={payments} />{' '}
            {payments === 1 ? 'payment' : 'payments'}
            {token !== revenueToken && ` · ${formatRounded(revenue, locale)} ${revenueToken}`}
            {compareDecimals(sentBack, '0') !== 0 && ` · ${formatRounded(sentBack, locale)} refunded`}
          </span>
        </li>
      ))}
    </ul>
  )
}
