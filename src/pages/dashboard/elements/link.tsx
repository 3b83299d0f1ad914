/** A link within the page. */
import type { ComponentChildren } from 'preact'
import { follow } from '../data/route.ts'

interface LinkProps {
  readonly href: string
  readonly children: ComponentChildren
  readonly class?: string | undefined
  readonly isCurrent?: boolean
  readonly label?: string
  /** The id of the payment that the link opens. The keyboard moves between such links. */
  readonly row?: string
}

export function Link({ href, children, class: name, isCurrent = false, label, row }: LinkProps) {
  return (
    <a
      href={href}
      class={name}
      onClick={follow}
      aria-current={isCurrent ? 'page' : undefined}
      aria-label={label}
      data-row={row}
    >
      {children}
    </a>
  )
}
