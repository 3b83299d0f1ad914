/** Going from page to page of a list. */
import { Icon } from './icons.tsx'

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
