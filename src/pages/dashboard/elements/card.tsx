/** A box with a heading. Other parts of the page refer to it by the id of the heading. */
import type { ComponentChildren } from 'preact'

interface CardProps {
  readonly id: string
  readonly title: string
  readonly class?: string
  /** Beside the heading. */
  readonly aside?: ComponentChildren
  /** At the end of the heading's line. */
  readonly tools?: ComponentChildren
  readonly children: ComponentChildren
}

export function Card({ id, title, class: name, aside, tools, children }: CardProps) {
  return (
    <section class={name === undefined ? 'card' : `card ${name}`} aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
        {tools && <div class="card-tools">{tools}</div>}
      </header>
      {children}
    </section>
  )
}
