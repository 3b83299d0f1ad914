/** Payments with a problem: an explanation and a remedy for each kind. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { formatAmount } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { calmNews, type Loaded, useAnswer, useGiven } from '../data/answer.ts'
import { type ProblemKind, type ProblemRecord, type Problems as ProblemsAnswer, problemKinds } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { isUnderWay, type Refunds } from '../data/outgoing.ts'
import { usePulse } from '../data/pulse.ts'
import { changeAddress, formatAddress, place } from '../data/route.ts'
import { findRefund, type Ordered, RefundCell, RefundDialog, RefundsCard } from '../dialogs/refund.tsx'
import { EndpointLink, Moment, PayerLink } from '../elements/cells.tsx'
import { KindLinks } from '../elements/choice.tsx'
import { CopyButton } from '../elements/copy.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { Pages, placeRows, useTurning } from '../elements/pager.tsx'
import { Notice, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { ScreenHead } from './shell.tsx'

interface KindWords {
  readonly name: string
  readonly means: string
  readonly next: string
}

const words: Readonly<Record<ProblemKind, KindWords>> = {
  undelivered: {
    name: 'Undelivered',
    means: 'Paid and accepted, but nothing has been delivered yet.',
    next: 'See the log of the service for the cause. The payer can retry with the same proof.',
  },
  unclaimed: {
    name: 'Unclaimed',
    means: 'Paid in time, but never claimed.',
    next: 'Wait: the payer may still claim it. Refund it if the payer asks, for example after losing the checkout cookie.',
  },
  underpaid: {
    name: 'Underpaid',
    means: 'The memo is correct, but the amount is too low. Nothing was delivered.',
    next: 'Refund it, or ask the payer to pay again in full.',
  },
  late: {
    name: 'Late',
    means: 'Paid after the price had expired.',
    next: 'Refund it, or deliver by hand. A longer ttlSeconds makes this less frequent.',
  },
  surplus: {
    name: 'Surplus',
    means: 'The amount is above the price, or the same requestId was paid twice.',
    next: 'Refund the difference if the payer asks for it.',
  },
  unmatched: {
    name: 'Unmatched',
    means: 'Money arrived without a memo of this service.',
    next: 'Check whether the money had another purpose. Otherwise refund it.',
  },
  reverted: {
    name: 'Reverted',
    means: 'The chain reverted the payment after confirmation.',
    next: 'Set finalizedFrom to wait for finality with large amounts.',
  },
}

const pageSize = 25
/** The service counts no further. */
const mostCounted = 1_000

export function Problems() {
  const asked = place.value.query.get('kind')
  const kind = problemKinds.find((one) => one === asked)
  const turning = useTurning(kind)
  const path = formatPath('/analytics/problems', { kind, limit: pageSize, cursor: turning.cursor })
  const loaded = useAnswer<ProblemsAnswer>(path, { follows: turning.cursor === undefined ? calmNews : undefined })
  const refunds = useRefunds(loaded)
  return (
    <>
      <ScreenHead title="Problems">
        <Link href={formatAddress('refusals')} class="button">
          Refused proofs
        </Link>
        <CsvButton name="problems" rows={() => createCells(loaded.value?.records ?? [])} />
      </ScreenHead>
      <div class="framed">
        {loaded.trouble?.kind === 'missing' ? (
          <Notice title="Not available on this service yet">
            <p>Update paystile on its server. Until then, see the expired payments.</p>
            <Link href={formatAddress('payments', { status: 'Expired' })} class="button">
              Expired payments
            </Link>
          </Notice>
        ) : (
          <When loaded={loaded} lines={8}>
            {({ counts, records, next }) => (
              <div class="stack">
                <section class="card" aria-label="All problems">
                  <KindLinks
                    label="Kinds of problems"
                    parameter="kind"
                    kinds={problemKinds.map((one) => [one, words[one].name, counts[one] ?? 0])}
                    value={kind}
                  />
                  {kind && <Meaning kind={kind} />}
                  {records.length === 0 ? (
                    <Notice title={kind ? 'No problems of this kind' : 'No problems'}>
                      <p>Every payment had the right amount, was in time and was delivered.</p>
                    </Notice>
                  ) : (
                    <>
                      <ProblemsTable records={records} isMixed={kind === undefined} refunds={refunds} />
                      <Pages
                        {...turning.pages(next)}
                        rows={placeRows(turning.pages(next).number, pageSize, records.length, countAll(counts, kind))}
                      />
                    </>
                  )}
                </section>
                {/* Not before the problems, which would move it. */}
                {refunds.value && <RefundsCard refunds={refunds.value} />}
              </div>
            )}
          </When>
        )}
      </div>
    </>
  )
}

/** Undefined if the number is not exact. */
function countAll(counts: ProblemsAnswer['counts'], kind: ProblemKind | undefined): number | undefined {
  const own = problemKinds.filter((one) => kind === undefined || one === kind).map((one) => counts[one] ?? 0)
  return own.some((one) => one >= mostCounted) ? undefined : own.reduce((sum, one) => sum + one, 0)
}

/** Interval of the state checks of a refund in progress. */
const refundMs = 2_000

/** The refunds, polled until the last has landed. Then the problems are loaded again. */
function useRefunds(problems: Loaded<ProblemsAnswer>): Loaded<Refunds> {
  const isOpen = useSignal(false)
  const pulse = usePulse(isOpen.value ? refundMs : 0)
  // The problems bring the refunds. From the first order or refund in progress on, they are loaded by themselves.
  const isOwn = useSignal(false)
  const given = isOwn.value ? undefined : problems.value?.refunds
  const path = problems.value === undefined ? undefined : '/api/refunds?limit=25'
  const loaded = useGiven<Refunds>(given, path, { follows: pulse })
  const open = loaded.value?.refunds.filter(isUnderWay).length ?? 0
  const before = useRef(open)
  useEffect(() => {
    isOpen.value = open > 0
    if (open > 0) isOwn.value = true
    if (open < before.current) problems.reload()
    before.current = open
  }, [open, isOpen])
  const reload = () => {
    isOwn.value = true
    loaded.reload()
  }
  return { ...loaded, reload }
}

function createCells(records: readonly ProblemRecord[]): readonly (readonly string[])[] {
  const sums = ['token', 'required', 'received'] as const
  const columns = ['timestamp', 'kind', 'endpoint', ...sums, 'payer', 'state', 'note', 'next'] as const
  return [
    [...columns, 'refund'],
    ...records.map((one) => [...columns.map((name) => one[name] ?? ''), one.refund?.state ?? '']),
  ]
}

function Meaning({ kind }: { readonly kind: ProblemKind }) {
  const { means, next } = words[kind]
  return (
    <div class="meaning">
      <p>{means}</p>
      <p>
        <b>What to do:</b> {next}
      </p>
    </div>
  )
}

/** Beside the price, if it differs. Two lines where there is little room. */
function Sums({ one: { token = '', required, received, amount } }: { readonly one: ProblemRecord }) {
  const locale = pageLocale()
  const got = formatAmount(received ?? amount ?? '', locale)
  const difference = required ? compareDecimals(received ?? amount ?? '0', required) : 0
  if (!required || difference === 0)
    return (
      <span class="whole">
        {got} {token}
      </span>
    )
  return (
    <>
      <span class="whole">
        {got} {difference < 0 ? 'of' : 'for'}
      </span>{' '}
      <span class="whole">
        {formatAmount(required, locale)} {token}
      </span>
    </>
  )
}

interface ProblemsTableProps {
  readonly records: readonly ProblemRecord[]
  readonly isMixed: boolean
  readonly refunds: Loaded<Refunds>
}

function ProblemsTable({ records, isMixed, refunds }: ProblemsTableProps) {
  const asked = useSignal<ProblemRecord | undefined>(undefined)
  const ordered = useSignal<Ordered>(new Map())
  const columns: readonly Column<ProblemRecord>[] = [
    {
      name: 'Problem',
      cellClass: 'problem',
      cell: (one) => (
        <div class="problem-parts">
          <div>
            {one.id === undefined ? (
              <b>{words[one.kind]?.name ?? one.kind}</b>
            ) : (
              <Link href={changeAddress({ payment: one.id })} class="row-link" row={one.id}>
                {words[one.kind]?.name ?? one.kind}
              </Link>
            )}
            <p class="muted">
              {one.note ?? words[one.kind]?.means} {isMixed && (one.next ?? words[one.kind]?.next)}
            </p>
            <p class="narrow">
              {one.timestamp && <Moment at={one.timestamp} />} {one.endpoint && `· ${one.endpoint}`}
            </p>
          </div>
          <RefundCell
            one={one}
            refund={findRefund(one, ordered.value, refunds.value?.refunds ?? [])}
            onAsk={() => {
              asked.value = one
            }}
          />
        </div>
      ),
    },
    { name: 'Received', class: 'number trail', cell: (one) => <Sums one={one} /> },
    {
      name: 'Endpoint',
      class: 'wide',
      cellClass: 'endpoint',
      cell: ({ endpoint }) =>
        endpoint === '' ? <span class="muted">none</span> : <EndpointLink endpoint={endpoint} />,
      title: ({ endpoint }) => endpoint,
    },
    {
      name: 'Payer',
      class: 'wide spare',
      cell: ({ payer = '', tx }) => (
        <>
          <PayerLink payer={payer} />
          {tx !== undefined && <CopyButton text={tx} what="the transaction" />}
        </>
      ),
    },
    { name: 'When', class: 'when wide', cell: ({ timestamp }) => timestamp && <Moment at={timestamp} /> },
  ]
  return (
    <>
      {asked.value && (
        <RefundDialog
          one={asked.value}
          canSend={refunds.value?.canSend ?? false}
          onClose={(refund) => {
            if (refund) {
              ordered.value = new Map(ordered.value).set(asked.value?.id ?? '', refund)
              refunds.reload()
            }
            asked.value = undefined
          }}
        />
      )}
      <Table
        class="many"
        caption="Payments with a problem, newest first"
        columns={columns}
        rows={records}
        rowKey={({ id, tx }, index) => id ?? tx ?? index}
      />
    </>
  )
}
