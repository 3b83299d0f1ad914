/** Payments as they come in, with a pause and filters. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { tokenCodes } from '../../../core/money/tokens.ts'
import { monotonic } from '../../look/clock.ts'
import { gaps, useAnswer } from '../data/answer.ts'
import { type Analytics, statuses } from '../data/answers.ts'
import { held, isPaused, line, type Row, resume, rows, spoken, takeList } from '../data/live.ts'
import { addressOf } from '../data/route.ts'
import { tick } from '../data/settings.ts'
import { Pick } from '../elements/choice.tsx'
import { ExportMenu } from '../elements/export.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { NoPayments, Notice, When } from '../elements/states.tsx'
import { PaymentsTable } from './payments.tsx'

const mostShown = 12
/** For so long a new row is marked. */
const newMs = 20_000

const lineWords = { connecting: 'Connecting…', live: 'Live', reconnecting: 'Reconnecting…' } as const

function isNew({ arrivedAt }: Row): boolean {
  // With every tick it is looked at again.
  return arrivedAt !== undefined && tick.value > 0 && monotonic() - arrivedAt < newMs
}

export function Feed() {
  const token = useSignal('')
  const status = useSignal('')
  const loaded = useAnswer<Analytics>(`/analytics?view=records&limit=25`, { follows: gaps })
  const { value } = loaded
  useEffect(() => {
    if (value?.records) takeList(value.records)
  }, [value])
  const state = isPaused.value ? 'paused' : line.value
  const shown = rows.value
    .filter(({ record }) => (token.value || record.token) === record.token)
    .filter(({ record }) => (status.value || record.status) === record.status)
    .slice(0, mostShown)
  return (
    <section class="card" aria-labelledby="feed">
      <header class="card-head">
        <h2 id="feed">Live payments</h2>
        <span class={`lamp lamp-${state}`} role="status">
          {isPaused.value ? 'Paused' : lineWords[line.value]}
        </span>
        <div class="card-tools">
          <Pick
            label="Token"
            any="All tokens"
            options={tokenCodes}
            value={token.value}
            onChange={(value = '') => {
              token.value = value
            }}
          />
          <Pick
            label="Status"
            any="All statuses"
            options={statuses}
            value={status.value}
            onChange={(value = '') => {
              status.value = value
            }}
          />
          <PauseButton />
          <ExportMenu query={{ token: token.value, status: status.value }} />
        </div>
      </header>
      <p class="unseen" aria-live="polite">
        {spoken.value}
      </p>
      <When loaded={loaded}>
        {() =>
          shown.length > 0 ? (
            <PaymentsTable
              caption="The latest payments"
              records={shown.map(({ record }) => record)}
              isNew={({ id }) => shown.some((row) => row.record.id === id && isNew(row))}
            />
          ) : rows.value.length === 0 ? (
            <NoPayments />
          ) : (
            <Notice title="None of the latest payments match">
              <p>Choose other filters, or look through all payments.</p>
            </Notice>
          )
        }
      </When>
      <div class="card-foot">
        <Link href={addressOf('payments')}>All payments</Link>
      </div>
    </section>
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
