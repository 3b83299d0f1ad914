/** Going from page to page of a list. */
import { useSignal } from '@preact/signals'
import { Icon } from './icons.tsx'

export interface Turning {
  /** Where the page begins; undefined for the first. */
  readonly cursor: string | undefined
  /** For `Pages`, with the cursor of the next page or null. */
  pages(next: string | null): PagesProps
}

/** The pages one has turned; another `shape` of the list begins anew. */
export function useTurning(shape = ''): Turning {
  const turned = useSignal<{ shape: string; list: readonly string[] }>({ shape, list: [] })
  const list = turned.value.shape === shape ? turned.value.list : []
  const turnTo = (next: readonly string[]) => {
    turned.value = { shape, list: next }
  }
  return {
    cursor: list.at(-1),
    pages: (next) => ({
      number: list.length + 1,
      onBefore: list.length > 0 ? () => turnTo(list.slice(0, -1)) : undefined,
      onNext: next === null ? undefined : () => turnTo([...list, next]),
    }),
  }
}

interface PagesProps {
  readonly number: number
  readonly onBefore: (() => void) | undefined
  readonly onNext: (() => void) | undefined
}

/** From page to page; nothing where one page is all. */
export function Pages({ number, onBefore, onNext }: PagesProps) {
  if (!onBefore && !onNext) return null
  return (
    <nav class="pages" aria-label="Pages">
      <button type="button" class="button" disabled={!onBefore} onClick={onBefore}>
        <Icon name="left" />
        Newer
      </button>
      <span class="muted" role="status">
        Page {number}
      </span>
      <button type="button" class="button" disabled={!onNext} onClick={onNext}>
        Older
        <Icon name="right" />
      </button>
    </nav>
  )
}
