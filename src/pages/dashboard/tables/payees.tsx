/** Payees with their amounts owed and paid, and the reasons for waiting; and one payee with all its payouts. */
import { createColumnFormat, formatAmount } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { useGiven } from '../data/answer.ts'
import { formatPath } from '../data/ask.ts'
import type { Payee, PayeeDetail, Payees, Rewards, Sums } from '../data/outgoing.ts'
import { usePulse } from '../data/pulse.ts'
import { changeAddress, markOpen, place } from '../data/route.ts'
import { RecordDrawer } from '../dialogs/drawer.tsx'
import { Card } from '../elements/card.tsx'
import { Amount, Moment, Name } from '../elements/cells.tsx'
import { KindLinks } from '../elements/choice.tsx'
import { IdLine } from '../elements/copy.tsx'
import { CsvButton } from '../elements/export.tsx'
import { AmountFact, DetailTop, Fact, Part } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { OutBadge, sentence } from '../elements/outgoing.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { Notice, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { LineSums, payoutWords } from './payouts.tsx'
import { computeTaken, roleName, roleNames } from './roles.tsx'

const token = 'NATIVE'
const everyMs = 10_000

/** The reason that an amount due is not paid yet; undefined if nothing is due. */
function describeWait({ due, waits, waitsUntil }: Payee, { threshold, paused }: Pick<Rewards, 'threshold' | 'paused'>) {
  if (waits !== '') return { text: sentence(waits), until: waitsUntil }
  if (compareDecimals(due, '0') <= 0) return undefined
  if (threshold !== null && compareDecimals(due, threshold) < 0)
    return { text: `Less than ${formatAmount(threshold, pageLocale())} ${token} is not sent yet.`, until: null }
  if (paused) return { text: 'Payouts are paused.', until: null }
  return { text: 'Paid in the next run.', until: null }
}

export function PayeesCard({ rewards }: { readonly rewards: Rewards }) {
  const { roles } = rewards
  const asked = place.value.query.get('role')
  const role = roles.find((one) => one.role === asked)?.role
  const turning = useTurning(role)
  const pulse = usePulse(turning.cursor === undefined ? everyMs : 0)
  const path = formatPath('/api/rewards/payees', { role, limit: 25, cursor: turning.cursor })
  const isFirst = role === undefined && turning.cursor === undefined
  const loaded = useGiven<Payees>(isFirst ? rewards.first?.payees : undefined, path, { follows: pulse })
  const cells = () => [
    ['role', 'payee', 'token', 'accrued', 'due', 'underWay', 'paid', 'waits', 'waitsUntil'],
    ...(loaded.value?.payees ?? []).map((one) => [
      ...[one.role, one.payee, token, one.accrued, one.due, one.underWay, one.paid, one.waits],
      one.waitsUntil ?? '',
    ]),
  ]
  return (
    <Card id="payees" title="Payees" tools={<CsvButton name="payees" rows={cells} isQuiet />}>
      <KindLinks
        label="Roles"
        parameter="role"
        kinds={roles.map((one) => [one.role, roleNames[one.role], one.payees])}
        value={role}
      />
      <When loaded={loaded}>
        {({ payees, next }) =>
          payees.length === 0 ? (
            <Notice title="No payees yet">
              <p>Payees appear here with their first reward.</p>
            </Notice>
          ) : (
            <>
              <Table
                caption={`Payees, in ${token}`}
                columns={createColumns(rewards, payees)}
                rows={payees}
                rowKey={({ id }) => id}
                rowClass={({ id }) => markOpen('payee', id)}
              />
              <Pages {...turning.pages(next)} />
            </>
          )
        }
      </When>
    </Card>
  )
}

function createColumns(rewards: Rewards, payees: readonly Payee[]): readonly Column<Payee>[] {
  const figure = (name: string, field: keyof Sums, where: string): Column<Payee> => {
    const format = createColumnFormat(
      payees.map((one) => one[field]),
      pageLocale(),
    )
    return {
      name,
      class: where,
      cell: (one) => (
        <span title={`${one[field]} ${token}`}>
          {Number(one[field]) === 0 ? <span class="muted">–</span> : format(one[field])}
        </span>
      ),
    }
  }
  return [
    {
      name: 'Payee and role',
      cellClass: 'payee',
      cell: ({ id, payee, role }) => (
        <Link href={changeAddress({ payee: id })} class="row-link" row={id}>
          <Name text={payee} /> <span class="payee-role">{roleName[role]}</span>
        </Link>
      ),
    },
    figure('Accrued', 'accrued', 'number wide'),
    figure('Paid', 'paid', 'number'),
    figure('Under way', 'underWay', 'number wide'),
    figure('Due', 'due', 'number trail'),
    {
      name: 'Waits',
      class: 'wide',
      cellClass: 'waits muted',
      cell: (one) => {
        const wait = describeWait(one, rewards)
        return (
          <>
            {wait?.text} {wait?.until && <Again at={wait.until} />}
          </>
        )
      },
    },
  ]
}

function Again({ at }: { readonly at: string }) {
  return (
    <>
      Checked again <Moment at={at} />
    </>
  )
}

/** Open if the address names a payee. */
export function PayeeDrawer({ rewards }: { readonly rewards: Rewards }) {
  return (
    <RecordDrawer<PayeeDetail>
      title="Payee"
      parameter="payee"
      path="/api/rewards/payees"
      everyMs={everyMs}
      missing={['Payee not found', 'look in the list']}
    >
      {(payee) => <Facts payee={payee} wait={describeWait(payee, rewards)} />}
    </RecordDrawer>
  )
}

function Facts({ payee, wait }: { readonly payee: PayeeDetail; readonly wait: ReturnType<typeof describeWait> }) {
  const taken = computeTaken(payee)
  const isPseudonym = payee.role === 'cashback'
  return (
    <div class="detail">
      <DetailTop amount={payee.due} token={token} badge={<span class="badge">{roleName[payee.role]}</span>}>
        due{wait && `. ${wait.text}`} {wait?.until && <Again at={wait.until} />}
      </DetailTop>
      <Part title="Sums">
        <dl class="facts">
          <IdLine name={isPseudonym ? 'Payer (hash)' : 'Wallet'} text={payee.payee} />
          <AmountFact name="Accrued" amount={payee.accrued} token={token} />
          <AmountFact name="Paid" amount={payee.paid} token={token} />
          <AmountFact name="Under way" amount={payee.underWay} token={token} />
          {compareDecimals(taken, '0') > 0 && (
            <Fact name="Deducted">
              <Amount amount={taken} token={token} /> <span class="muted">for rates and rent</span>
            </Fact>
          )}
        </dl>
        {isPseudonym && (
          <p class="muted">
            Payers are stored as keyed hashes. The service reads their wallets from the chain when it pays them.
          </p>
        )}
      </Part>
      <Part title="Payouts">
        {payee.payouts.length === 0 ? (
          <p class="muted">None yet.</p>
        ) : (
          <ol class="lines">
            {payee.payouts.map((line) => (
              <li key={line.id}>
                <p class="line-head">
                  <OutBadge one={line} words={payoutWords} />
                  <Link href={changeAddress({ payee: undefined, payout: line.id })}>
                    <Moment at={line.changedAt} isExact />
                  </Link>
                </p>
                <LineSums line={line} />
              </li>
            ))}
          </ol>
        )}
      </Part>
    </div>
  )
}
