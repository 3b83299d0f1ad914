/** Refused proofs with their reasons, from the memory of the server. */
import { useAnswer } from '../data/answer.ts'
import type { Refusal, RefusalLog } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { usePulse } from '../data/pulse.ts'
import { change, formatAddress, place } from '../data/route.ts'
import { Count, EndpointLink, Moment, PayerLink } from '../elements/cells.tsx'
import { Pick } from '../elements/choice.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { Notice, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { ScreenHead } from './shell.tsx'

const everyMs = 10_000

const columns: readonly Column<Refusal>[] = [
  {
    name: 'Reason',
    class: 'lead',
    cellClass: 'problem',
    cell: ({ reason, code, endpoint, last, isRetryable }) => (
      <>
        <b>{reason}</b>
        <p class="muted">
          <code>{code}</code>
          {isRetryable && ', the client may try again'}
        </p>
        <span class="narrow">
          <Moment at={last} /> {endpoint !== '' && `· ${endpoint}`}
        </span>
      </>
    ),
  },
  {
    name: 'Endpoint',
    class: 'wide',
    cellClass: 'endpoint',
    cell: ({ endpoint }) => <EndpointLink endpoint={endpoint} />,
    title: ({ endpoint }) => endpoint,
  },
  { name: 'Named payer', class: 'wide', cell: ({ payer }) => <PayerLink payer={payer} /> },
  { name: 'Times', class: 'number trail', cell: ({ count }) => <Count count={count} /> },
  { name: 'Last', class: 'when wide', cell: ({ last }) => <Moment at={last} /> },
]

export function Refusals() {
  const { query } = place.value
  const [code, endpoint] = [query.get('code') ?? '', query.get('endpoint') ?? '']
  const loaded = useAnswer<RefusalLog>(formatPath('/api/refusals', { code, endpoint }), { follows: usePulse(everyMs) })
  const { refusals = [], codes = [] } = loaded.value ?? {}
  const names = [...new Set(refusals.map((one) => one.endpoint))].filter((name) => name !== '')
  const cells = () => [
    ['code', 'reason', 'endpoint', 'payer', 'count', 'first', 'last'],
    ...refusals.map((one) => [
      ...[one.code, one.reason, one.endpoint, one.payer, String(one.count)],
      ...[one.first, one.last],
    ]),
  ]
  return (
    <>
      <ScreenHead title="Refused proofs" within={['problems', 'Problems']}>
        <CsvButton name="refusals" rows={cells} />
      </ScreenHead>
      <section class="card" aria-label="All refused proofs">
        <div class="filters">
          <Pick
            label="Reason"
            any="Reason"
            options={codes}
            value={code}
            onChange={(value) => change({ code: value })}
          />
          <Pick
            label="Endpoint"
            any="Endpoint"
            options={names}
            value={endpoint}
            onChange={(value) => change({ endpoint: value })}
          />
          {(code !== '' || endpoint !== '') && (
            <Link href={formatAddress('refusals')} class="clear">
              Clear
            </Link>
          )}
        </div>
        <When loaded={loaded} lines={6}>
          {({ since }) => (
            <>
              {refusals.length === 0 ? (
                <Notice title="No refused proofs">
                  <p>A request whose payment proof is not accepted appears here with the reason.</p>
                </Notice>
              ) : (
                <Table
                  caption="Refused proofs, the latest first"
                  columns={columns}
                  rows={refusals}
                  rowKey={(one) => `${one.code} ${one.payer} ${one.endpoint}`}
                />
              )}
              <div class="card-foot muted">
                <p>
                  Since this server started, <Moment at={since} />. Equal refusals are one line, and each reason has at
                  most 100. The payer is the one that the proof names. It is not verified.
                </p>
              </div>
            </>
          )}
        </When>
      </section>
    </>
  )
}
