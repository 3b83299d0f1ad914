/** Conversions: the quoted, the minimum and the received amount. */
import { formatAmount, formatPercent } from '../../look/amounts.ts'
import { compareDecimals, computeRatio, subtractDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { Conversion } from '../data/outgoing.ts'
import { change, changeAddress, markOpen, place } from '../data/route.ts'
import { Dialog } from '../dialogs/dialog.tsx'
import { Amount, Moment } from '../elements/cells.tsx'
import { Command, IdLine } from '../elements/copy.tsx'
import { AmountFact, DetailTop, Fact, Part } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { checkCommand, lastColumns, OutBadge, OutFacts, type StateWords, stateColumn } from '../elements/outgoing.tsx'
import { type Column, Table } from '../elements/table.tsx'

const words: StateWords = { planned: 'Planned', signed: 'Under way', landed: 'Converted', dropped: 'Dropped' }

/** The shortfall against the quote in percent; undefined until the amount is known. */
function computeSlippage({ quoted, received }: Conversion): number | undefined {
  return received === null ? undefined : computeRatio(subtractDecimal(quoted, received), quoted)
}

/** `as quoted`, `0.12% less`, `0.3% more`. */
function Slippage({ one }: { readonly one: Conversion }) {
  const share = computeSlippage(one)
  if (share === undefined) return <span class="muted">–</span>
  if (Math.abs(share) < 0.000_05) return <span class="muted">as quoted</span>
  return (
    <span class={share > 0 ? 'warn-text' : 'good-text'}>
      {formatPercent(Math.abs(share), pageLocale(), 2)} {share > 0 ? 'less' : 'more'}
    </span>
  )
}

const columns: readonly Column<Conversion>[] = [
  {
    name: 'Sold',
    class: 'number lead',
    cell: (one) => (
      <Link href={changeAddress({ conversion: one.id })} class="row-link" row={one.id}>
        <Amount amount={one.sold ?? one.amount} token={one.sell} />
        <span class="narrow">
          for {formatAmount(one.received ?? one.quoted, pageLocale())} {one.buy}
        </span>
      </Link>
    ),
  },
  { name: 'Quoted', class: 'number wide spare', cell: (one) => <Amount amount={one.quoted} token={one.buy} /> },
  {
    name: 'Received',
    class: 'number wide',
    cell: ({ received, buy }) =>
      received === null ? <span class="muted">–</span> : <Amount amount={received} token={buy} />,
  },
  { name: 'Against the quote', class: 'wide', cell: (one) => <Slippage one={one} /> },
  stateColumn(words),
  { name: 'Venue', class: 'wide roomy', cell: ({ venue }) => venue },
  ...lastColumns,
]

export function ConversionsTable({ conversions }: { readonly conversions: readonly Conversion[] }) {
  return (
    <Table
      class="many"
      caption="Conversions, newest first"
      columns={columns}
      rows={conversions}
      rowKey={({ id }) => id}
      rowClass={({ id }) => markOpen('conversion', id)}
    />
  )
}

/** Open if the address names a conversion of the list. */
export function ConversionDrawer({ conversions }: { readonly conversions: readonly Conversion[] }) {
  const one = conversions.find(({ id }) => id === place.value.query.get('conversion'))
  if (!one) return null
  const { sell, buy, quoted, minimum, sold, received, amount, tx } = one
  return (
    <Dialog title="Conversion" class="drawer" onClose={() => change({ conversion: undefined })}>
      <div class="detail">
        <DetailTop amount={received ?? quoted} token={buy} badge={<OutBadge one={one} words={words} />}>
          for {formatAmount(sold ?? amount, pageLocale())} {sell}, <Moment at={one.changedAt} />
        </DetailTop>
        <Part title="Amounts">
          <dl class="facts">
            <AmountFact name="To be sold" amount={amount} token={sell} />
            {sold !== null && (
              <Fact name="Sold">
                <Amount amount={sold} token={sell} />
                {compareDecimals(sold, amount) > 0 && <span class="muted"> with fees</span>}
              </Fact>
            )}
            <AmountFact name="Quoted" amount={quoted} token={buy} />
            <AmountFact name="Minimum" amount={minimum} token={buy} />
            <Fact name="Received">
              {received === null ? (
                <span class="muted">known when it is final</span>
              ) : (
                <>
                  <Amount amount={received} token={buy} /> (<Slippage one={one} />)
                </>
              )}
            </Fact>
            <Fact name="Venue">{one.venue}</Fact>
          </dl>
        </Part>
        <Part title="On chain">
          <OutFacts one={one}>
            <IdLine name="Wallet" text={one.wallet} />
          </OutFacts>
        </Part>
        {tx !== null && (
          <Part title="Check it by hand">
            <p class="muted">
              Request the transaction from any node, with its address in <code>RPC</code>: the changes of the wallet’s
              balances are the amounts received and sold above.
            </p>
            <Command text={checkCommand(tx)} />
          </Part>
        )}
      </div>
    </Dialog>
  )
}
