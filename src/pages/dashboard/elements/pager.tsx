/** Paging through a list. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { formatCount } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { Icon } from './icons.tsx'

/** The visited pages. Another `shape` of the list starts again. */
export function useTurning(shape = '') {
  const turned = useSignal<{ shape: string; list: readonly string[] }>({ shape, list: [] })
  const list = turned.value.shape === shape ? turned.value.list : []
  useEffect(() => {
    turned.value = { shape, list: [] }
  }, [shape, turned])
  const turnTo = (next: readonly string[]) => {
    turned.value = { shape, list: next }
  }
  return {
    /** The start of the page; undefined for the first page. */
    cursor: list.at(-1),
    /** The properties of `Pages`. `next` is the cursor of the next page, or null. */
    pages: (next: string | null) => ({
      number: list.length + 1,
      onBefore: list.length > 0 ? () => turnTo(list.slice(0, -1)) : undefined,
      onNext: next === null ? undefined : () => turnTo([...list, next]),
    }),
  }
}

interface RowsOfPage {
  readonly first: number
  readonly last: number
  readonly count: number
}

/** `rows` on the page of this number. Undefined if the number of all rows is not exact. */
export function placeRows(page: number, size: number, rows: number, count: number | undefined): RowsOfPage | undefined {
  const first = (page - 1) * size + 1
  const last = first + rows - 1
  return count === undefined || last > count ? undefined : { first, last, count }
}

interface PagesProps {
  readonly number: number
  readonly rows?: RowsOfPage | undefined
  readonly onBefore: (() => void) | undefined
  readonly onNext: (() => void) | undefined
}

/** The controls of the pages; empty for a single page. */
export function Pages({ number, rows, onBefore, onNext }: PagesProps) {
  if (!onBefore && !onNext) return null
  const [first, last, count] = [rows?.first, rows?.last, rows?.count].map((one) => formatCount(one ?? 0, pageLocale()))
  return (
    <nav class="pages" aria-label="Pages">
      <button type="button" class="button" disabled={!onBefore} onClick={onBefore}>
        <Icon name="left" />
        Previous
      </button>
      <span class="muted" role="status">
        {rows ? `${first}–${last} of ${count}` : `Page ${number}`}
      </span>
      <button type="button" class="button" disabled={!onNext} onClick={onNext}>
        Next
        <Icon name="right" />
      </button>
    </nav>
  )
}
