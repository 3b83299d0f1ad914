/** The sponsor: its balance, and the network fees of the last 24 hours against the limits. */
import { formatAmount } from '../../look/amounts.ts'
import { compareDecimals, computeRatio } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { Bar } from '../charts/bars.tsx'
import type { Sponsor } from '../data/outgoing.ts'
import { Name } from '../elements/cells.tsx'
import { CopyButton } from '../elements/copy.tsx'

/** Nothing without a sponsor. */
export function SponsorCards({ sponsor: value }: { readonly sponsor: Sponsor | undefined }) {
  return value?.sponsors.map((one) => <SponsorCard key={one.wallet} one={one} sums={value} />) ?? null
}

interface SponsorCardProps {
  readonly one: Sponsor['sponsors'][number]
  readonly sums: Pick<Sponsor, 'spent' | 'lost' | 'underWay'>
}

function SponsorCard({ one: { wallet, balance, floor, perDay, lostPerDay, isOffering }, sums }: SponsorCardProps) {
  const isLow = balance !== null && compareDecimals(balance, floor) < 0
  return (
    <section class="card" aria-label="Network fees for x402 and MPP clients">
      <header class="card-head">
        <h2>Network fees</h2>
        <span class="card-aside muted">
          <Name text={wallet} />
          <CopyButton text={wallet} what="the sponsor’s address" />
        </span>
      </header>
      {!isOffering && (
        <div class="note note-warn" role="alert">
          <p>
            <b>The sponsor pays no fees now, so x402 is not offered.</b>{' '}
            {isLow ? 'Send SOL to its address.' : 'A limit is reached, or no node answers.'}
          </p>
        </div>
      )}
      <ul class="bars">
        <Fees
          name="Balance"
          amount={balance}
          of={floor}
          join="floor"
          hint="x402 is offered while the balance is above the floor"
        />
        <Fees name="Paid in 24 hours" amount={sums.spent} of={perDay} join="of" hint="Fees of payments that landed" />
        <Fees name="Lost in 24 hours" amount={sums.lost} of={lostPerDay} join="of" hint="Fees of failed transactions" />
      </ul>
      <p class="card-note muted">
        The sponsor pays the network fee for clients of x402 and MPP.
        {compareDecimals(sums.underWay, '0') > 0 && ` ${formatAmount(sums.underWay, pageLocale())} SOL are under way.`}
      </p>
    </section>
  )
}

interface FeesProps {
  readonly name: string
  /** Null if it is unknown. */
  readonly amount: string | null
  readonly of: string
  readonly join: 'floor' | 'of'
  readonly hint: string
}

function Fees({ name, amount, of, join, hint }: FeesProps) {
  const locale = pageLocale()
  const share = amount === null ? 0 : (computeRatio(amount, of) ?? 0)
  // A balance is shown in relation to twice its floor: half a bar is the floor.
  const length = join === 'floor' ? share / 2 : share
  const isBad = join === 'floor' ? share < 1 : share >= 0.8
  return (
    <li>
      <span class="bars-name">{name}</span>
      <span class="bars-figure">
        {amount === null ? '–' : formatAmount(amount, locale)}{' '}
        <span class="unit">
          {join === 'floor' ? 'SOL, floor' : 'of'} {formatAmount(of, locale)} SOL
        </span>
      </span>
      <Bar share={length} tone={isBad ? 'warn' : 'sol'} />
      <span class="bars-hint muted">{hint}</span>
    </li>
  )
}
