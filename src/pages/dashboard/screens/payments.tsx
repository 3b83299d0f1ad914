/** All payments, page by page, with search, filters and details. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { knownCodes } from '../../../core/money/tokens.ts'
import { usualPeriod } from '../../look/periods.ts'
import { calmNews, useAnswer } from '../data/answer.ts'
import { type Analytics, type FeedRecord, states, statuses } from '../data/answers.ts'
import { ask, formatPath, type Outcome } from '../data/ask.ts'
import { change, formatAddress, place } from '../data/route.ts'
import { giveSearch, searchId } from '../dialogs/keyboard.tsx'
import { Name } from '../elements/cells.tsx'
import { Pick } from '../elements/choice.tsx'
import { ExportMenu } from '../elements/export.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoPayments, Notice, When } from '../elements/states.tsx'
import { PaymentsTable } from '../tables/payments.tsx'
import { ScreenHead } from './shell.tsx'

const pageSize = 25
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
  const asked = { ...time, ...filters }
  const { cursor, pages } = useTurning(JSON.stringify(asked))
  const path = formatPath('/analytics', { view: 'records', limit: pageSize, ...asked, cursor })
  const loaded = useAnswer<Analytics>(path, { follows: cursor === undefined ? calmNews : undefined, asking: search })
  const tokens = useAnswer<Analytics>('/analytics?view=tokens').value?.tokens?.map((line) => line.token) ?? knownCodes
  const names = useAnswer<Analytics>('/analytics?view=usage').value?.usage?.map((line) => line.endpoint) ?? []
  const isFiltered = filterNames.some((name) => filters[name] !== '') || period.name !== usualPeriod
  return (
    <>
      <ScreenHead title="Payments">
        <PeriodBar period={period} hasAll />
        <ExportMenu
          query={{ from: period.from, to: period.to, endpoint, token, status, state, payer }}
          note={q !== '' && 'An export applies the filters but not the search, so it contains more rows.'}
        />
      </ScreenHead>
      <section class="card" aria-label="All payments">
        <div class="filters">
          <SearchBox value={q} />
          {(
            [
              ['endpoint', 'Endpoint', names],
              ['token', 'Token', tokens],
              ['status', 'Status', statuses],
              ['state', 'State', states],
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
          {({ records = [], next = null }) =>
            records.length > 0 ? (
              <>
                <PaymentsTable
                  caption="Payments, newest first"
                  records={records}
                  isExact
                  isOpen={({ id }) => place.value.query.get('payment') === id}
                />
                <Pages {...pages(next)} />
              </>
            ) : isFiltered ? (
              <Notice title="No matching payments">
                <p>
                  {q === ''
                    ? 'Remove a filter, or choose a longer period.'
                    : 'Search for a complete id, transaction, requestId or payer.'}
                </p>
              </Notice>
            ) : (
              <NoPayments what="No payments in this period" />
            )
          }
        </When>
      </section>
    </>
  )
}

function SearchBox({ value }: { readonly value: string }) {
  const text = useSignal(value)
  useEffect(() => {
    text.value = value
  }, [value, text])
  useEffect(giveSearch, [])
  const submit = () => change({ q: text.value.trim() || undefined })
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
            if (text.value === '' && value !== '') submit()
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
