/** Revenue with its parts: earnings and refunds. */
import { createColumnFormat, formatAmount, formatRounded } from '../../look/amounts.ts'
import { addDecimals, compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { Revenue } from '../data/answers.ts'
import type { Column, Sorting } from '../elements/table.tsx'

/** An older service reports no refunds. */
export function readGross({ revenue, gross }: Revenue): string {
  return gross ?? revenue
}

export function readRefunded({ refunded }: Pick<Revenue, 'refunded'>): string {
  return refunded ?? '0'
}

const readers = { revenue: ({ revenue }: Revenue) => revenue, gross: readGross, refunded: readRefunded } as const
export const revenueKeys = ['revenue', 'gross', 'refunded'] as const
export type RevenueKey = (typeof revenueKeys)[number]

export function compareRevenue(key: RevenueKey): (one: Revenue, other: Revenue) => number {
  return (one, other) => compareDecimals(readers[key](one), readers[key](other))
}

export function addRevenue(lines: readonly Revenue[]): Required<Revenue> {
  const add = (key: RevenueKey) => addDecimals(lines.map(readers[key]))
  return { revenue: add('revenue'), gross: add('gross'), refunded: add('refunded') }
}

export function isRefunded(line: Pick<Revenue, 'refunded'>): boolean {
  return compareDecimals(readRefunded(line), '0') !== 0
}

/** For a place of one line. Undefined without refunds. */
export function refundNote(line: Pick<Revenue, 'refunded'>): string | undefined {
  return isRefunded(line) ? `${formatRounded(readRefunded(line), pageLocale())} refunded` : undefined
}

/** Undefined without refunds. */
export function refundWords(line: Revenue): string | undefined {
  if (!isRefunded(line)) return undefined
  const locale = pageLocale()
  return `${formatRounded(readGross(line), locale)} earned, ${formatRounded(readRefunded(line), locale)} refunded`
}

/** The revenue column. If any line has a refund, columns for earnings and refunds precede it. */
export function revenueColumns<Line extends Revenue>(
  lines: readonly Line[],
  token: string,
  where = 'number',
  sort: (key: RevenueKey) => Sorting | undefined = () => undefined,
): readonly Column<Line>[] {
  const locale = pageLocale()
  const createFormat = (key: RevenueKey) => createColumnFormat(lines.map(readers[key]), locale)
  const formatRevenue = createFormat('revenue')
  const part = (name: string, key: RevenueKey, format = createFormat(key)): Column<Line> => ({
    name,
    sorting: sort(key),
    class: 'number wide spare',
    cell: (line) =>
      key === 'refunded' && !isRefunded(line) ? <span class="muted">–</span> : format(readers[key](line)),
    title: (line) => formatAmount(readers[key](line), locale),
  })
  return [
    ...(lines.some(isRefunded) ? [part('Earned', 'gross'), part('Refunded', 'refunded')] : []),
    {
      name: token ? `Revenue, ${token}` : 'Revenue',
      class: where,
      sorting: sort('revenue'),
      cell: ({ revenue }) => formatRevenue(revenue),
      title: (line) => exactRevenue(line, token),
    },
  ]
}

/** All digits, for the tooltip. */
export function exactRevenue(line: Revenue, token: string): string {
  const locale = pageLocale()
  const net = `${formatAmount(line.revenue, locale)} ${token}`
  if (!isRefunded(line)) return net
  return `${net}: ${formatAmount(readGross(line), locale)} earned, ${formatAmount(readRefunded(line), locale)} refunded`
}
