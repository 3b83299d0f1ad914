/** Who is owed and was paid what, what waits and why; and one of them with all its payouts. */
import { formatAmount, formatRounded } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { useAnswer } from '../data/answer.ts'
import { pathOf } from '../data/ask.ts'
import type { Payee, PayeeDetail, Payees, Rewards } from '../data/outgoing.ts'
import { usePulse } from '../data/pulse.ts'
import { addressWith, change, place } from '../data/route.ts'
import { Dialog } from '../dialogs/dialog.tsx'
import { Amount, Count, Moment, Name } from '../elements/cells.tsx'
import { IdLine } from '../elements/copy.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Fact, Part } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { OutBadge, sentence } from '../elements/outgoing.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { Notice, When } from '../elements/states.tsx'
import { LineSums, payoutWords } from './payouts.tsx'
import { roleName, roleNames, takenOf } from './roles.tsx'

const token = 'NATIVE'
const everyMs = 10_000

/** Why what is due is not paid yet, in a few words; undefined where nothing is due. */
function waitOf({ due, waits, waitsUntil }: Payee, { threshold, paused }: Pick<Rewards, 'threshold' | 'paused'>) {
  if (waits !== '') return { text: sentence(waits), until: waitsUntil }
  if (compareDecimals(due, '0') <= 0) return undefined
  if (threshold !== null && compareDecimals(due, threshold) < 0)
    return { text: `Less than ${formatAmount(threshold, pageLocale())} ${token} is not sent yet.`, until: null }
  if (paused) return { text: 'Payouts are paused.', until: null }
  return { text: 'Paid in the next round.', until: null }
}

export function PayeesCard({ rewards }: { readonly rewards: Rewards }) {
  const { roles } = rewards
  const asked = place.value.query.get('role')
  const role = roles.find((one) => one.role === asked)?.role
  const turning = useTurning(role)
  const pulse = usePulse(turning.cursor === undefined ? everyMs : 0)
  const path = pathOf('/api/rewards/payees', { role, limit: 25, cursor: turning.cursor })
  const loaded = useAnswer<Payees>(path, { follows: pulse })
  const cells = () => [
    ['role', 'payee', 'token', 'accrued', 'due', 'underWay', 'paid', 'waits', 'waitsUntil'],
    ...(loaded.value?.payees ?? []).map((one) => [
      ...[one.role, one.payee, token, one.accrued, one.due, one.underWay, one.paid, one.waits],
      one.waitsUntil ?? '',
    ]),
  ]
  return (
    <section class="card" aria-labelledby="payees">
      <header class="card-head">
        <h2 id="payees">Payees</h2>
        <div class="card-tools">
          <CsvButton name="payees" rows={cells} isQuiet />
        </div>
      </header>
      <nav class="kinds" aria-label="Roles">
        <Link href={addressWith({ role: undefined })} isCurrent={role === undefined}>
          All{' '}
          <b>
            <Count count={roles.reduce((sum, one) => sum + one.payees, 0)} />
          </b>
        </Link>
        {roles.map((one) => (
          <Link key={one.role} href={addressWith({ role: one.role })} isCurrent={role === one.role}>
            {roleNames[one.role]}{' '}
            <b>
              <Count count={one.payees} />
            </b>
          </Link>
        ))}
      </nav>
      <When loaded={loaded}>
        {({ payees, next }) =>
          payees.length === 0 ? (
            <Notice title="Nobody yet">
              <p>Whoever earns something of a payment stands here from then on.</p>
            </Notice>
          ) : (
            <>
              <PayeesTable payees={payees} rewards={rewards} />
              <Pages {...turning.pages(next)} />
            </>
          )
        }
      </When>
    </section>
  )
}

interface PayeesTableProps {
  readonly payees: readonly Payee[]
  readonly rewards: Rewards
}

function PayeesTable({ payees, rewards }: PayeesTableProps) {
  const figure = (amount: string) => (
    <span title={`${amount} ${token}`}>
      {Number(amount) === 0 ? <span class="muted">–</span> : formatRounded(amount, pageLocale())}
    </span>
  )
  return (
    <div class="table-box">
      <table>
        <caption class="unseen">Payees, in {token}</caption>
        <thead>
          <tr>
            <th scope="col">Payee</th>
            <th scope="col" class="number wide">
              Accrued
            </th>
            <th scope="col" class="number">
              Paid
            </th>
            <th scope="col" class="number wide">
              Under way
            </th>
            <th scope="col" class="number trail">
              Due
            </th>
            <th scope="col" class="wide">
              Waits
            </th>
          </tr>
        </thead>
        <tbody>
          {payees.map((one) => {
            const wait = waitOf(one, rewards)
            return (
              <tr key={one.id} class={place.value.query.get('payee') === one.id ? 'is-open' : undefined}>
                <td class="payee">
                  <Link href={addressWith({ payee: one.id })} class="row-link" row={one.id}>
                    <Name text={one.payee} /> <span class="payee-role">{roleName[one.role]}</span>
                  </Link>
                </td>
                <td class="number wide">{figure(one.accrued)}</td>
                <td class="number">{figure(one.paid)}</td>
                <td class="number wide">{figure(one.underWay)}</td>
                <td class="number trail">{figure(one.due)}</td>
                <td class="wide waits muted">
                  {wait?.text} {wait?.until && <Again at={wait.until} />}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function Again({ at }: { readonly at: string }) {
  return (
    <>
      Looked at again <Moment at={at} />
    </>
  )
}

/** Open whenever the address names a payee. */
export function PayeeDrawer({ rewards }: { readonly rewards: Rewards }) {
  const id = place.value.query.get('payee')
  if (id === null) return null
  return (
    <Dialog title="Payee" class="drawer" onClose={() => change({ payee: undefined })}>
      <Detail key={id} id={id} rewards={rewards} />
    </Dialog>
  )
}

function Detail({ id, rewards }: { readonly id: string; readonly rewards: Rewards }) {
  const pulse = usePulse(everyMs)
  const loaded = useAnswer<PayeeDetail>(`/api/rewards/payees/${encodeURIComponent(id)}`, { follows: pulse })
  if (loaded.trouble?.kind === 'missing')
    return (
      <Notice title="Nobody of that name earns here">
        <p>The link may be from another service. Close this, and look in the list.</p>
      </Notice>
    )
  return (
    <When loaded={loaded} lines={12}>
      {(payee) => <Facts payee={payee} wait={waitOf(payee, rewards)} />}
    </When>
  )
}

interface FactsProps {
  readonly payee: PayeeDetail
  readonly wait: ReturnType<typeof waitOf>
}

function Facts({ payee, wait }: FactsProps) {
  const taken = takenOf(payee)
  const isPseudonym = payee.role === 'cashback'
  return (
    <div class="detail">
      <div class="detail-top">
        <p class="detail-amount">
          <Amount amount={payee.due} token={token} />
        </p>
        <span class="badge">{roleName[payee.role]}</span>
        <p class="muted">
          due{wait && `. ${wait.text}`} {wait?.until && <Again at={wait.until} />}
        </p>
      </div>
      <Part title="Sums">
        <dl class="facts">
          <IdLine name={isPseudonym ? 'Payer (hash)' : 'Wallet'} text={payee.payee} />
          <Fact name="Accrued">
            <Amount amount={payee.accrued} token={token} />
          </Fact>
          <Fact name="Paid">
            <Amount amount={payee.paid} token={token} />
          </Fact>
          <Fact name="Under way">
            <Amount amount={payee.underWay} token={token} />
          </Fact>
          {compareDecimals(taken, '0') > 0 && (
            <Fact name="Rate, rent">
              <Amount amount={taken} token={token} /> <span class="muted">was not sent</span>
            </Fact>
          )}
        </dl>
        {isPseudonym && (
          <p class="muted">
            Payers are kept as keyed hashes; their wallets are read from the chain when they are paid.
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
                  <Link href={addressWith({ payee: undefined, payout: line.id })}>
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
