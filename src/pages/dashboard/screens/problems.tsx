/** Money that did not go the usual way: what each kind means, and what to do about it. */
import { useSignal } from '@preact/signals'
import { formatAmount } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { news, useAnswer } from '../data/answer.ts'
import { type ProblemKind, type ProblemRecord, type Problems as ProblemsAnswer, problemKinds } from '../data/answers.ts'
import { pathOf } from '../data/ask.ts'
import { addressOf, addressWith, place } from '../data/route.ts'
import { CopyButton } from '../parts/copy.tsx'
import { CsvButton } from '../parts/export.tsx'
import { Link } from '../parts/link.tsx'
import { Pages } from '../parts/pages.tsx'
import { ScreenHead } from '../parts/shell.tsx'
import { Notice, When } from '../parts/states.tsx'
import { Count, Moment, Name } from '../parts/words.tsx'

interface KindWords {
  readonly name: string
  readonly means: string
  readonly next: string
}

const words: Readonly<Record<ProblemKind, KindWords>> = {
  undelivered: {
    name: 'Undelivered',
    means: 'Paid and accepted, but nothing has been delivered yet.',
    next: 'The payer can ask again with the same proof; look into the log of the service for why it failed.',
  },
  unclaimed: {
    name: 'Unclaimed',
    means: 'Paid in time for one of your resources, and never asked for.',
    next: 'Nothing, while there is time: the payer may still come. After that, give the money back if they ask.',
  },
  underpaid: {
    name: 'Underpaid',
    means: 'The memo is right, the amount is too small; nothing was delivered for it.',
    next: 'Give it back, or ask the payer to pay again in full.',
  },
  late: {
    name: 'Late',
    means: 'Paid after the offer had ended.',
    next: 'Give it back, or serve the payer by hand; a longer ttlSeconds makes it rarer.',
  },
  surplus: {
    name: 'Too much',
    means: 'More was paid than asked, or the same offer was paid twice.',
    next: 'Give the difference back if the payer asks for it.',
  },
  unmatched: {
    name: 'Unmatched',
    means: 'Money arrived without a memo of this service.',
    next: 'See whether it was meant for something else; otherwise give it back to its sender.',
  },
  reverted: {
    name: 'Reverted',
    means: 'The chain took the payment back after it had been confirmed.',
    next: 'For large amounts wait for finality: set finalizedFrom.',
  },
}

export function Problems() {
  const asked = place.value.query.get('kind')
  const kind = problemKinds.find((one) => one === asked)
  const cursors = useSignal<{ shape: string; list: readonly string[] }>({ shape: '', list: [] })
  const shape = kind ?? ''
  const list = cursors.value.shape === shape ? cursors.value.list : []
  const path = pathOf('/analytics/problems', { kind, limit: 25, cursor: list.at(-1) })
  const loaded = useAnswer<ProblemsAnswer>(path, { follows: list.length === 0 ? news : undefined })
  const turnTo = (next: readonly string[]) => {
    cursors.value = { shape, list: next }
  }
  const cells = () => [
    ['timestamp', 'kind', 'endpoint', 'token', 'required', 'received', 'payer', 'state', 'note', 'next'],
    ...(loaded.value?.records ?? []).map((one) =>
      [
        one.timestamp,
        one.kind,
        one.endpoint,
        one.token,
        one.required,
        one.received,
        one.payer,
        one.state,
        one.note,
        one.next,
      ].map((cell) => cell ?? ''),
    ),
  ]
  return (
    <>
      <ScreenHead title="Problems">
        <CsvButton name="problems" rows={cells} />
      </ScreenHead>
      <section class="card" aria-label="All problems">
        {loaded.trouble?.kind === 'missing' ? (
          <Notice title="Not available on this service yet">
            <p>Update paystile where it runs. Until then, payments that expired show most of what went wrong.</p>
            <Link href={addressOf('payments', { status: 'Expired' })} class="button">
              Expired payments
            </Link>
          </Notice>
        ) : (
          <When loaded={loaded} lines={8}>
            {({ counts, records, next }) => (
              <>
                <Kinds counts={counts} kind={kind} />
                {kind && <Meaning kind={kind} />}
                {records.length === 0 ? (
                  <Notice title={kind ? `Nothing is ${words[kind].name.toLowerCase()}` : 'All money went its way'}>
                    <p>Every payment was as asked, in time, and served.</p>
                  </Notice>
                ) : (
                  <>
                    <ProblemsTable records={records} isMixed={kind === undefined} />
                    <Pages
                      number={list.length + 1}
                      onBefore={list.length > 0 ? () => turnTo(list.slice(0, -1)) : undefined}
                      onNext={next === null ? undefined : () => turnTo([...list, next])}
                    />
                  </>
                )}
              </>
            )}
          </When>
        )}
      </section>
    </>
  )
}

interface KindsProps {
  readonly counts: ProblemsAnswer['counts']
  readonly kind: ProblemKind | undefined
}

function Kinds({ counts, kind }: KindsProps) {
  const total = problemKinds.reduce((sum, one) => sum + (counts[one] ?? 0), 0)
  return (
    <nav class="kinds" aria-label="Kinds of problems">
      <Link href={addressWith({ kind: undefined })} isCurrent={kind === undefined}>
        All{' '}
        <b>
          <Count count={total} />
        </b>
      </Link>
      {problemKinds.map((one) => (
        <Link key={one} href={addressWith({ kind: one })} isCurrent={kind === one}>
          {words[one].name}{' '}
          <b>
            <Count count={counts[one] ?? 0} />
          </b>
        </Link>
      ))}
    </nav>
  )
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

function sumsOf({ token, required, received, amount }: ProblemRecord): string {
  const locale = pageLocale()
  const got = formatAmount(received ?? amount ?? '', locale)
  return required ? `${got} of ${formatAmount(required, locale)} ${token ?? ''}` : `${got} ${token ?? ''}`
}

function ProblemsTable({
  records,
  isMixed,
}: {
  readonly records: readonly ProblemRecord[]
  readonly isMixed: boolean
}) {
  return (
    <div class="table-box">
      <table>
        <caption class="unseen">Payments with a problem, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">Problem</th>
            <th scope="col" class="number">
              Received
            </th>
            <th scope="col" class="wide">
              Endpoint
            </th>
            <th scope="col" class="wide">
              Payer
            </th>
            <th scope="col" class="when wide">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {records.map((one, index) => (
            <tr key={one.id ?? one.tx ?? index}>
              <td class="problem">
                {one.id === undefined ? (
                  <b>{words[one.kind]?.name ?? one.kind}</b>
                ) : (
                  <Link href={addressWith({ payment: one.id })} class="row-link" row={one.id}>
                    {words[one.kind]?.name ?? one.kind}
                  </Link>
                )}
                <p class="muted">
                  {one.note ?? words[one.kind]?.means} {isMixed && (one.next ?? words[one.kind]?.next)}
                </p>
                <p class="narrow">
                  {one.timestamp && <Moment at={one.timestamp} />} {one.endpoint}
                </p>
              </td>
              <td class="number">{sumsOf(one)}</td>
              <td class="wide endpoint" title={one.endpoint}>
                {one.endpoint || <span class="muted">none</span>}
              </td>
              <td class="wide">
                <Name text={one.payer ?? ''} />
                {one.tx !== undefined && <CopyButton text={one.tx} what="the transaction" />}
              </td>
              <td class="when wide">{one.timestamp && <Moment at={one.timestamp} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
