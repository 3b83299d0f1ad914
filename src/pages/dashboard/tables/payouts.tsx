/** Payouts, and the lines of one payout: owed, deducted and sent. */

import { addDecimals } from '../../look/decimals.ts'
import { useGiven } from '../data/answer.ts'
import { formatPath } from '../data/ask.ts'
import type { Payout, PayoutDetail, PayoutLine, Payouts } from '../data/outgoing.ts'
import { usePulse } from '../data/pulse.ts'
import { changeAddress, markOpen } from '../data/route.ts'
import { RecordDrawer } from '../dialogs/drawer.tsx'
import { Card } from '../elements/card.tsx'
import { Amount, Count, Moment, Name } from '../elements/cells.tsx'
import { Command, CopyButton } from '../elements/copy.tsx'
import { DetailTop, Part } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { checkCommand, lastColumns, OutBadge, OutFacts, type StateWords, stateColumn } from '../elements/outgoing.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { Notice, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { roleName } from './roles.tsx'

export const payoutWords: StateWords = { planned: 'Planned', signed: 'Under way', landed: 'Paid', dropped: 'Dropped' }
const token = 'NATIVE'
/** Payouts occur without a payment, so they are polled. */
const everyMs = 5_000

export function PayoutsCard({ first }: { readonly first: Payouts | undefined }) {
  const turning = useTurning()
  const pulse = usePulse(turning.cursor === undefined ? everyMs : 0)
  const path = formatPath('/api/rewards/payouts', { limit: 10, cursor: turning.cursor })
  const loaded = useGiven<Payouts>(turning.cursor === undefined ? first : undefined, path, { follows: pulse })
  return (
    <Card id="payouts" title="Payouts">
      <When loaded={loaded}>
        {({ payouts, next }) =>
          payouts.length === 0 ? (
            <Notice title="No payouts yet">
              <p>Payees above the threshold are paid in the next run.</p>
            </Notice>
          ) : (
            <>
              <Table
                caption="Payouts, newest first"
                columns={columns}
                rows={payouts}
                rowKey={({ id }) => id}
                rowClass={({ id }) => markOpen('payout', id)}
              />
              <Pages {...turning.pages(next)} />
            </>
          )
        }
      </When>
    </Card>
  )
}

const columns: readonly Column<Payout>[] = [
  {
    name: 'Sent',
    class: 'number lead',
    cell: ({ id, amount, payees }) => (
      <Link href={changeAddress({ payout: id })} class="row-link" row={id}>
        <Amount amount={amount} token={token} />
        <span class="narrow">
          to <PayeeCount payees={payees} />
        </span>
      </Link>
    ),
  },
  stateColumn(payoutWords),
  { name: 'Payees', class: 'number wide', cell: ({ payees }) => <Count count={payees} /> },
  ...lastColumns,
]

function PayeeCount({ payees }: { readonly payees: number }) {
  return (
    <>
      <Count count={payees} /> {payees === 1 ? 'payee' : 'payees'}
    </>
  )
}

/** Open if the address names a payout. */
export function PayoutDrawer() {
  return (
    <RecordDrawer<PayoutDetail>
      title="Payout"
      parameter="payout"
      path="/api/rewards/payouts"
      everyMs={everyMs}
      missing={['Payout not found', 'look for it in the list']}
    >
      {(payout) => (
        <div class="detail">
          <DetailTop amount={payout.amount} token={token} badge={<OutBadge one={payout} words={payoutWords} />}>
            to <PayeeCount payees={payout.payees} />, <Moment at={payout.changedAt} />
          </DetailTop>
          <Part title="Payees">
            <ol class="lines">
              {payout.lines.map((line) => (
                <Line key={`${line.role} ${line.payee}`} line={line} />
              ))}
            </ol>
            {payout.lines.length > 1 && (
              <p class="line-sum">
                <span>Together</span>
                <Amount amount={addDecimals(payout.lines.map(({ sent }) => sent))} token={token} />
              </p>
            )}
          </Part>
          <Part title="On chain">
            <OutFacts one={payout} />
          </Part>
          {payout.tx !== null && <Check tx={payout.tx} />}
        </div>
      )}
    </RecordDrawer>
  )
}

function Line({ line }: { readonly line: PayoutLine }) {
  const { role, payee } = line
  return (
    <li>
      <p class="line-head">
        <span class="badge">{roleName[role]}</span>
        <Link href={changeAddress({ payout: undefined, payee: `${role}~${payee}` })}>
          <Name text={payee} />
        </Link>
        <CopyButton text={payee} what={role === 'cashback' ? 'the pseudonym' : 'the wallet'} />
      </p>
      <LineSums line={line} />
    </li>
  )
}

/** The amount owed, less deductions, equals the amount sent. */
export function LineSums({ line: { owed, rate, opening, sent } }: { readonly line: PayoutLine }) {
  const sums = [
    ['Owed', owed],
    ...(Number(rate) > 0
      ? [[`Reduced, because the rate of ${token} has risen since it was earned`, `-${rate}`] as const]
      : []),
    ...(Number(opening) > 0 ? [['Reduced by the rent of a new token account', `-${opening}`] as const] : []),
    ['Sent', sent],
  ] as const
  return (
    <dl class="line-sums">
      {sums.map(([name, amount]) => (
        <div key={name} class={name === 'Sent' ? 'is-sum' : undefined}>
          <dt>{name}</dt>
          <dd>
            <Amount amount={amount} token={token} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Check({ tx }: { readonly tx: string }) {
  return (
    <Part title="Check it by hand">
      <p class="muted">
        Request the transaction from any node, with its address in <code>RPC</code>. For every payee, the balance after
        (<code>postTokenBalances</code>) less the balance before (<code>preTokenBalances</code>) is the amount sent. The
        memo is among the instructions.
      </p>
      <Command text={checkCommand(tx)} />
      <p class="muted">Recompute all payouts and compare them with the chain:</p>
      <Command text="npx paystile rewards audit" />
    </Part>
  )
}
