/** All payments, page by page, with search, filters and details. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { knownCodes } from '../../../core/money/tokens.ts'
import { formatAmount, formatCount, formatRounded } from '../../look/amounts.ts'
import { compareDecimals, subtractDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { usualPeriod } from '../../look/periods.ts'
import { calmNews, changes, useAnswer } from '../data/answer.ts'
import { type Analytics, type FeedRecord, states, statuses } from '../data/answers.ts'
import { ask, formatPath, type Outcome } from '../data/ask.ts'
import { change, formatAddress, place } from '../data/route.ts'
import { type Order, readOrder, turnOrder, writeOrder } from '../data/sorting.ts'
import { giveSearch, searchId } from '../dialogs/keyboard.ts'
import { Count, Name } from '../elements/cells.tsx'
import { Pick } from '../elements/choice.tsx'
import { ExportMenu } from '../elements/export.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { Pages, placeRows, useTurning } from '../elements/pager.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoPayments, Notice, When } from '../elements/states.tsx'
import { type PaymentKey, PaymentsTable, paymentKeys } from '../tables/payments.tsx'
import { SavedViews } from '../tables/saved-views.tsx'
import { ScreenHead } from './shell.tsx'

const pageSize = 25
/** The first is the usual order. */
const orders = [
  { words: 'Newest first', key: 'time', isUp: false, asked: undefined },
  { words: 'Oldest first', key: 'time', isUp: true, asked: 'oldest' },
  { words: 'Largest first', key: 'value', isUp: false, asked: 'largest' },
  { words: 'Smallest first', key: 'value', isUp: true, asked: 'smallest' },
] as const
type PaymentOrder = (typeof orders)[number]

function findOrder(text: string | null): PaymentOrder {
  const { key, isUp } = readOrder(text, paymentKeys, orders[0])
  return orders.find((one) => one.key === key && one.isUp === isUp) ?? orders[0]
}

function changeOrder(order: Order<PaymentKey>): void {
  const sort = writeOrder(order)
  change({ sort: sort === writeOrder(orders[0]) ? undefined : sort }, { isReplacing: true })
}

const filterNames = ['q', 'endpoint', 'token', 'status', 'state', 'payer'] as const

/** A service without search still finds a record by its id. Any other text has no result. */
async function search(path: string, signal: AbortSignal): Promise<Outcome<Analytics>> {
  const outcome = await ask<Analytics>(path, { signal })
  const sought = new URL(path, location.href).searchParams.get('q')
  if ((outcome.kind !== 'missing' && outcome.kind !== 'unread') || sought === null) return outcome
  const found = await ask<FeedRecord>(`/analytics/${encodeURIComponent(sought)}`, { signal })
  if (found.kind !== 'answer' && found.kind !== 'missing') return found
  const records = found.kind === 'answer' ? [found.value] : []
  return { kind: 'answer', value: { revenueToken: 'USDC', records, next: null } }
}

export function Payments() {
  const { query } = place.value
  const period = usePeriod()
  const filters = Object.fromEntries(filterNames.map((name) => [name, query.get(name) ?? '']))
  const { q = '', endpoint = '', token = '', status = '', state = '', payer = '' } = filters
  // A search by name covers all time.
  const time = q === '' ? { from: period.from, to: period.to } : {}
  const order = findOrder(query.get('sort'))
  const asked = { ...time, ...filters, order: order.asked }
  const { cursor, pages } = useTurning(JSON.stringify(asked))
  const view = cursor === undefined ? 'records,totals,names' : 'records'
  const path = formatPath('/analytics', { view, limit: pageSize, ...asked, cursor })
  const loaded = useAnswer<Analytics>(path, { follows: cursor === undefined ? calmNews : changes, asking: search })
  // The first page has them.
  const known = useRef<Pick<Analytics, 'names' | 'totals'>>({})
  const { names = known.current.names, totals: sums = known.current.totals } = loaded.value ?? {}
  known.current = { names, totals: sums }
  const { tokens = knownCodes, endpoints = [] } = names ?? {}
  const isNew = names !== undefined && endpoints.length === 0
  const isFiltered = filterNames.some((name) => filters[name] !== '') || period.name !== usualPeriod
  return (
    <>
      <ScreenHead title="Payments">
        <PeriodBar period={period} hasAll coversAll={q === '' ? undefined : 'A search covers all time.'} />
        <SavedViews />
        <ExportMenu
          query={{ ...time, endpoint, token, status, state, payer }}
          note={q !== '' && 'An export applies the filters but not the search, so it contains more rows.'}
        />
      </ScreenHead>
      <section class="card" aria-label="All payments">
        <div class="filters">
          <SearchBox value={q} />
          {(
            [
              ['endpoint', 'Endpoint', endpoints],
              ['token', 'Token', tokens],
              ['status', 'Verification', statuses],
              ['state', 'Chain', states],
            ] as const
          ).map(([name, label, options]) => (
            <Pick
              key={name}
              label={label}
              any={label}
              options={options}
              value={filters[name] ?? ''}
              onChange={(value) => change({ [name]: value })}
            />
          ))}
          <OrderPick order={order} />
          {payer !== '' && (
            <button type="button" class="chip" onClick={() => change({ payer: undefined })}>
              Payer <Name text={payer} /> <Icon name="close" />
            </button>
          )}
          {isFiltered && (
            <Link href={formatAddress('payments', { period: undefined, from: undefined, to: undefined })} class="clear">
              Clear
            </Link>
          )}
        </div>
        <When loaded={loaded} lines={10}>
          {({ records = [], next = null, revenueToken, isCut = false }) =>
            records.length > 0 ? (
              <>
                {sums && <ListTotals totals={sums} token={revenueToken} />}
                {isCut && (
                  <p class="list-totals" role="status">
                    Only the latest 2,000 of these payments are sorted by value. Choose a shorter period or a filter to
                    sort all.
                  </p>
                )}
                <PaymentsTable
                  caption={`Payments, ${order.words.toLowerCase()}`}
                  records={records}
                  sort={(key) => ({
                    way: key !== order.key ? 'none' : order.isUp ? 'ascending' : 'descending',
                    turn: () => changeOrder(turnOrder<PaymentKey>(order, key)),
                  })}
                  isExact
                  isOpen={({ id }) => place.value.query.get('payment') === id}
                />
                <Pages
                  {...pages(next)}
                  rows={placeRows(pages(next).number, pageSize, records.length, countAll(sums))}
                />
              </>
            ) : (
              <NoRows isNew={isNew} isFiltered={isFiltered} q={q} />
            )
          }
        </When>
      </section>
    </>
  )
}

interface NoRowsProps {
  /** The service never had a payment. */
  readonly isNew: boolean
  readonly isFiltered: boolean
  readonly q: string
}

function NoRows({ isNew, isFiltered, q }: NoRowsProps) {
  if (isNew && q === '') return <NoPayments />
  if (!isFiltered) return <NoPayments title="No payments in this period" />
  return (
    <Notice title="No matching payments">
      <p>
        {q === ''
          ? 'Remove a filter, or choose a longer period.'
          : 'Search for an id, a transaction, a requestId or a payer. Of a payer, four characters are enough.'}
      </p>
    </Notice>
  )
}

/** Where the table has no room for the columns whose headings sort it. */
function OrderPick({ order }: { readonly order: PaymentOrder }) {
  const [usual, ...others] = orders
  return (
    <span class="order-pick">
      <Pick
        label="Order"
        any={usual.words}
        options={others.map(({ words }) => words)}
        value={order === usual ? '' : order.words}
        onChange={(words) => changeOrder(orders.find((one) => one.words === words) ?? usual)}
      />
    </span>
  )
}

type Totals = NonNullable<Analytics['totals']>

/** Undefined if the number is not exact. */
function countAll(totals: Totals | undefined): number | undefined {
  // An older service counts all rows as payments.
  const { payments, unaccepted = 0, notOnChain = 0, isCut } = totals ?? { payments: 0, isCut: true }
  return isCut ? undefined : payments + unaccepted + notOnChain
}

/** The accepted payments with these filters, as the home screen counts them, and the number of the others. */
function ListTotals({ totals, token }: { readonly totals: Totals; readonly token: string }) {
  const locale = pageLocale()
  const { payments, isCut, worth, refunded = '0', unaccepted = 0, unvalued, received } = totals
  const net = subtractDecimal(worth, refunded)
  const amounts = Object.entries(received).filter(([, amount]) => compareDecimals(amount || '0', '0') > 0)
  const isPlain = amounts.length === 0 || (amounts.length === 1 && amounts[0]?.[0] === token && unvalued === 0)
  return (
    <p class="list-totals">
      <b>
        {isCut && 'Latest '}
        <Count count={payments} /> paid
      </b>
      <span title={`${formatAmount(worth, locale)} ${token} when paid`}>
        <b>
          {formatRounded(net, locale)} {token}
        </b>
        {compareDecimals(refunded, '0') > 0 && ` (${formatRounded(refunded, locale)} refunded)`}
      </span>
      {unaccepted > 0 && (
        <span title="Unclaimed, underpaid, late or reverted">
          <Count count={unaccepted} /> not accepted
        </span>
      )}
      {!isPlain && (
        <span class="muted">
          received {amounts.map(([code, amount]) => `${formatRounded(amount, locale)} ${code}`).join(' + ')}
          {unvalued > 0 && `, ${formatCount(unvalued, locale)} without a rate`}
        </span>
      )}
    </p>
  )
}

/** The text is sent as the seller types, after a short pause. Fewer characters match too many names. */
const typingMs = 250
const fewestCharacters = 4

function SearchBox({ value }: { readonly value: string }) {
  const text = useSignal(value)
  useEffect(() => {
    text.value = value
  }, [value, text])
  useEffect(giveSearch, [])
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const submit = () => {
    clearTimeout(timer.current)
    const q = text.value.trim()
    if (q !== value) change({ q: q || undefined }, { isReplacing: value !== '' })
  }
  const type = () => {
    clearTimeout(timer.current)
    const { length } = text.value.trim()
    if (length === 0) submit()
    else if (length >= fewestCharacters) timer.current = setTimeout(submit, typingMs)
  }
  return (
    <search class="search">
      <label>
        <span class="unseen">Search payments by id, transaction, requestId or payer</span>
        <Icon name="search" />
        <input
          id={searchId}
          type="search"
          value={text.value}
          placeholder="Id, transaction, requestId or payer"
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value
            type()
          }}
          onKeyDown={({ key }) => {
            if (key === 'Enter') submit()
          }}
        />
        <span class="key wide" aria-hidden="true">
          /
        </span>
      </label>
    </search>
  )
}
