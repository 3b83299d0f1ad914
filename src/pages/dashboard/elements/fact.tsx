/** A name with its value, as an entry of a list; and a section of a drawer. */
import type { ComponentChildren } from 'preact'
import { Amount } from './cells.tsx'

export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

interface AmountFactProps {
  readonly name: string
  readonly amount: string
  readonly token: string
}

export function AmountFact({ name, ...amount }: AmountFactProps) {
  return (
    <Fact name={name}>
      <Amount {...amount} />
    </Fact>
  )
}

interface DetailTopProps {
  readonly amount: string
  readonly token: string
  readonly badge: ComponentChildren
  readonly children: ComponentChildren
}

/** The beginning of a drawer: the amount, its state, and one muted line. */
export function DetailTop({ amount, token, badge, children }: DetailTopProps) {
  return (
    <div class="detail-top">
      <p class="detail-amount">
        <Amount amount={amount} token={token} />
      </p>
      {badge}
      <p class="muted">{children}</p>
    </div>
  )
}

export function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="detail-part">
      <h3>{title}</h3>
      {children}
    </section>
  )
}
