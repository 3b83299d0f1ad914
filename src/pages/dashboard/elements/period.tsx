/** The choice of the period: today, the last days, this month, or certain days. */
import { useSignal } from '@preact/signals'
import { now } from '../../look/clock.ts'
import { pageLocale } from '../../look/locale.ts'
import { listEnds, type Period, type PeriodName, readPeriod } from '../../look/periods.ts'
import { formatDate, writeDay } from '../../look/times.ts'
import { change, place } from '../data/route.ts'
import { zone } from '../data/settings.ts'
import { Choice } from './choice.tsx'

const words: Readonly<Record<PeriodName, string>> = {
  today: 'Today',
  '7d': '7 d',
  '30d': '30 d',
  month: 'Month',
  all: 'All',
  custom: 'Custom',
}

/** The period of the address. The usual one replaces all time if that is not available. */
export function usePeriod(hasAll = true): Period {
  const period = readPeriod(place.value.query, now(), zone.value)
  return hasAll || period.name !== 'all' ? period : readPeriod(new URLSearchParams(), now(), zone.value)
}

interface PeriodBarProps {
  readonly period: Period
  /** Whether all time is available. */
  readonly hasAll?: boolean
  /** The reason why all time is shown, whatever the period is. */
  readonly coversAll?: string | undefined
}

export function PeriodBar({ period, hasAll = false, coversAll }: PeriodBarProps) {
  const isOpen = useSignal(period.name === 'custom')
  const shown = coversAll === undefined ? period.name : 'all'
  const names: readonly PeriodName[] = ['today', '7d', '30d', 'month', ...(hasAll ? (['all'] as const) : []), 'custom']
  const ends = listEnds(period, now())
  const [first, last] = [writeDay(ends[0], zone.value), writeDay(ends[1], zone.value)]
  const choose = (name: PeriodName) => {
    isOpen.value = name === 'custom'
    if (name === 'custom') change({ period: name, from: first, to: last })
    else change({ period: name, from: undefined, to: undefined })
  }
  const setDay = (which: 'from' | 'to', day: string) => {
    if (day === '') return
    const days = { from: first, to: last, [which]: day }
    // A user who moves one end past the other means that single day.
    const chosen = days.from <= days.to ? days : { from: day, to: day }
    change({ period: 'custom', ...chosen }, { isReplacing: true })
  }
  return (
    <div class="period">
      <span class="period-dates">
        {shown === 'all' ? 'All time' : ends.map((at) => formatDate(at, zone.value, pageLocale())).join(' – ')}
      </span>
      <Choice
        label="Period"
        options={names.map((name) => [name, words[name]])}
        value={shown}
        onChange={choose}
        fixed={coversAll}
      />
      {coversAll === undefined && isOpen.value && period.name === 'custom' && (
        <span class="days">
          <label>
            <span class="unseen">First day</span>
            <input type="date" value={first} onChange={({ currentTarget }) => setDay('from', currentTarget.value)} />
          </label>
          <span aria-hidden="true">–</span>
          <label>
            <span class="unseen">Last day</span>
            <input type="date" value={last} onChange={({ currentTarget }) => setDay('to', currentTarget.value)} />
          </label>
        </span>
      )}
    </div>
  )
}
