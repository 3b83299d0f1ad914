/** Payments as they arrive, with a pause and filters. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { knownCodes } from '../../../core/money/tokens.ts'
import { monotonic } from '../../look/clock.ts'
import type { Loaded } from '../data/answer.ts'
import { type Overview, statuses } from '../data/answers.ts'
import { held, isPaused, line, type Row, resume, rows, spoken, takeList } from '../data/live.ts'
import { formatAddress } from '../data/route.ts'
import { tick } from '../data/settings.ts'
import { waitTurn } from '../data/turns.ts'
import { Card } from '../elements/card.tsx'
import { Pick } from '../elements/choice.tsx'
import { ExportMenu } from '../elements/export.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { NoPayments, Notice, Skeleton, When } from '../elements/states.tsx'
import { PaymentsTable } from './payments.tsx'

const mostShown = 12
/** The rows that are drawn at once. */
const mostAtOnce = 4
/** Time for which a new row is marked. */
const newMs = 20_000

const lineWords = { connecting: 'Connecting…', live: 'Live', reconnecting: 'Reconnecting…' } as const

function isNew({ arrivedAt }: Row): boolean {
  // Evaluated again with every tick.
  return arrivedAt !== undefined && tick.value > 0 && monotonic() - arrivedAt < newMs
}

export function Feed({ loaded }: { readonly loaded: Loaded<Overview> }) {
  const token = useSignal('')
  const status = useSignal('')
  const most = useSignal(rows.value.length > 0 ? mostShown : mostAtOnce)
  const { value } = loaded
  useEffect(() => {
    if (value) takeList(value.records)
  }, [value])
  const isFull = most.value >= Math.min(mostShown, rows.value.length)
  useEffect(() => {
    if (!isFull)
      return waitTurn(() => {
        most.value += mostAtOnce
      })
  }, [isFull, most.value])
  const state = isPaused.value ? 'paused' : line.value
  const shown = rows.value
    .filter(({ record }) => (token.value || record.token) === record.token)
    .filter(({ record }) => (status.value || record.status) === record.status)
    .slice(0, Math.min(mostShown, most.value))
  const tokens = [...new Set([...knownCodes, ...rows.value.map(({ record }) => record.token)])]
  return (
    <Card
      id="feed"
      title="Live payments"
      aside={
        <span class={`lamp lamp-${state}`} role="status">
          {isPaused.value ? 'Paused' : lineWords[line.value]}
          {!isPaused.value && held.value.length > 0 && `, ${held.value.length} new`}
        </span>
      }
      tools={
        <>
          {(
            [
              [token, 'Token', 'All tokens', tokens],
              [status, 'Status', 'All statuses', statuses],
            ] as const
          ).map(([chosen, label, any, options]) => (
            <Pick
              key={label}
              label={label}
              any={any}
              options={options}
              value={chosen.value}
              onChange={(value = '') => {
                chosen.value = value
              }}
            />
          ))}
          <PauseButton />
          <ExportMenu query={{ token: token.value, status: status.value }} />
        </>
      }
    >
      <p class="unseen" aria-live="polite">
        {spoken.value}
      </p>
      <When loaded={loaded} isQuiet>
        {({ records }) =>
          shown.length > 0 ? (
            <PaymentsTable
              caption="Latest payments"
              records={shown.map(({ record }) => record)}
              isNew={({ id }) => shown.some((row) => row.record.id === id && isNew(row))}
            />
          ) : rows.value.length > 0 ? (
            <Notice title="None of the latest payments match">
              <p>Choose other filters, or see all payments.</p>
            </Notice>
          ) : records.length > 0 ? (
            <Skeleton />
          ) : (
            <NoPayments />
          )
        }
      </When>
      <div class="card-foot">
        <Link href={formatAddress('payments')}>All payments</Link>
      </div>
    </Card>
  )
}

function PauseButton() {
  const waiting = held.value.length
  return isPaused.value ? (
    <button type="button" class="button" onClick={resume}>
      <Icon name="play" />
      {waiting === 0 ? 'Resume' : `Resume, ${waiting} new`}
    </button>
  ) : (
    <button
      type="button"
      class="button"
      onClick={() => {
        isPaused.value = true
      }}
    >
      <Icon name="pause" />
      Pause
    </button>
  )
}
