/** One payer by pseudonym: its sums, its payments by day, and the latest of them. */
import { shorten } from '../../look/amounts.ts'
import { Tile } from '../charts/tiles.tsx'
import type { PayerPage } from '../data/answers.ts'
import { Card } from '../elements/card.tsx'
import { Moment } from '../elements/cells.tsx'
import { IdLine } from '../elements/copy.tsx'
import { Fact } from '../elements/fact.tsx'
import { PeriodBar } from '../elements/period.tsx'
import { Sales, SalesTiles, useSales } from '../tables/sales.tsx'
import { ScreenHead } from './shell.tsx'

export function Payer() {
  const sales = useSales<PayerPage>('payer')
  const { name, period } = sales
  return (
    <>
      <ScreenHead title={name === '' ? 'Payer' : `Payer ${shorten(name)}`} within={['payers', 'Payers']}>
        <PeriodBar period={period} />
      </ScreenHead>
      <Sales
        {...sales}
        subject="payer"
        isKnown={({ first }) => first !== null}
        none="No payments by this payer in this period"
        figures={({ summary, first, last }) => (
          <SalesTiles summary={summary} period={period}>
            <Tile name="First payment" value={first === null ? '–' : <Moment at={first} />}>
              <span class="trend muted">{first !== null && <Moment at={first} isExact />}</span>
            </Tile>
            <Tile name="Last payment" value={last === null ? '–' : <Moment at={last} />}>
              <span class="trend muted">{last !== null && <Moment at={last} isExact />}</span>
            </Tile>
          </SalesTiles>
        )}
      >
        <Card id="name" title="Name">
          <dl class="facts card-text">
            <IdLine name="Pseudonym" text={name} />
            <Fact name="Wallet">
              <span class="muted">stored as a keyed hash only</span>
            </Fact>
          </dl>
        </Card>
      </Sales>
    </>
  )
}
