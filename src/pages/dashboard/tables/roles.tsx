/** Rewards by role: the accrued amount, and its parts. */
import { useEffect, useRef } from 'preact/hooks'
import type { RewardRole } from '../../../core/payouts/rewards.ts'
import { createColumnFormat, formatAmount } from '../../look/amounts.ts'
import { addDecimals, computeRatio, subtractDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { RoleLine, Sums } from '../data/outgoing.ts'
import { changeAddress } from '../data/route.ts'
import { Count } from '../elements/cells.tsx'
import { Link } from '../elements/link.tsx'
import { type Column, Table } from '../elements/table.tsx'

export const roleNames: Readonly<Record<RewardRole, string>> = {
  split: 'Splits',
  partner: 'Partners',
  developer: 'Developers',
  cashback: 'Cashback',
  treasury: 'Treasury',
  buyback: 'Buyback',
  incentives: 'Incentives',
}

/** The singular, for one payee. */
export const roleName: Readonly<Record<RewardRole, string>> = {
  ...roleNames,
  split: 'Split',
  partner: 'Partner',
  developer: 'Developer',
}

/** The accrued amount that is neither due nor paid: deductions for a lower rate and for the rent of new accounts. */
export function computeTaken({ accrued, due, underWay, paid }: Sums): string {
  return subtractDecimal(accrued, addDecimals([due, underWay, paid]))
}

export function sumUp(lines: readonly Sums[]): Sums {
  const of = (name: keyof Sums) => addDecimals(lines.map((line) => line[name]))
  return { accrued: of('accrued'), due: of('due'), underWay: of('underWay'), paid: of('paid') }
}

const parts = ['paid', 'underWay', 'due', 'taken'] as const

/** The largest role has the full width. A script sets the lengths, because the page's policy forbids inline styles. */
function StackedBar({ line, most }: { readonly line: Sums; readonly most: string }) {
  const box = useRef<HTMLSpanElement>(null)
  const amounts = { ...line, taken: computeTaken(line) }
  const shares = parts.map((part) => computeRatio(amounts[part], most) ?? 0)
  useEffect(() => {
    for (const [index, share] of shares.entries()) {
      const piece = box.current?.children[index]
      if (piece instanceof HTMLElement) piece.style.setProperty('--share', String(Math.max(0, Math.min(1, share))))
    }
  }, [shares.join()])
  return (
    <span class="stacked" aria-hidden="true" ref={box}>
      {parts.map((part) => (
        <span key={part} class={`part-${part}`} />
      ))}
    </span>
  )
}

const amountColumns = [
  ['accrued', 'Accrued', 'number wide'],
  ['paid', 'Paid', 'number'],
  ['underWay', 'Under way', 'number wide'],
  ['due', 'Due', 'number trail'],
  ['taken', 'Deducted', 'number wide'],
] as const

export function RolesTable({ roles, token }: { readonly roles: readonly RoleLine[]; readonly token: string }) {
  const locale = pageLocale()
  const most = roles
    .map(({ accrued }) => accrued)
    .reduce((one, other) => (Number(other) > Number(one) ? other : one), '0')
  const rows = roles.map((line) => ({ ...line, taken: computeTaken(line) }))
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      name: 'Role',
      cellClass: 'role',
      cell: (line) => (
        <>
          <Link href={changeAddress({ role: line.role })} class="row-link" row={`role ${line.role}`}>
            {roleNames[line.role]}
          </Link>
          <StackedBar line={line} most={most} />
        </>
      ),
    },
    { name: 'Payees', class: 'number wide', cell: ({ payees }) => <Count count={payees} /> },
    ...amountColumns.map(([field, words, where]) => {
      const format = createColumnFormat(
        rows.map((line) => line[field]),
        locale,
      )
      return {
        name: (
          <>
            {field !== 'accrued' && <span class={`swatch part-${field}`} aria-hidden="true" />}
            {words}
          </>
        ),
        class: where,
        cell: (line: (typeof rows)[number]) =>
          Number(line[field]) === 0 ? <span class="muted">–</span> : format(line[field]),
        title: (line: (typeof rows)[number]) => `${formatAmount(line[field], locale)} ${token}`,
      }
    }),
  ]
  return <Table caption={`Rewards by role, in ${token}`} columns={columns} rows={rows} rowKey={({ role }) => role} />
}
