/** Rewards: accrued, due, in progress and paid, with the payees, the rules and the outgoing wallet. */

import { formatAmount, formatRounded } from '../../look/amounts.ts'
import { addDecimals, compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { Tile } from '../charts/tiles.tsx'
import { useAnswer } from '../data/answer.ts'
import type { Rewards as RewardsAnswer, Sums } from '../data/outgoing.ts'
import { usePulse } from '../data/pulse.ts'
import { Card } from '../elements/card.tsx'
import { Count } from '../elements/cells.tsx'
import { Command } from '../elements/copy.tsx'
import { ExportMenu } from '../elements/export.tsx'
import { Notice, When } from '../elements/states.tsx'
import { PayeeDrawer, PayeesCard } from '../tables/payees.tsx'
import { PayingWallet } from '../tables/paying-wallet.tsx'
import { PayoutDrawer, PayoutsCard } from '../tables/payouts.tsx'
import { RulesInWords } from '../tables/reward-rules.tsx'
import { computeTaken, RolesTable, sumUp } from '../tables/roles.tsx'
import { ScreenHead } from './shell.tsx'

const token = 'NATIVE'
const everyMs = 5_000

export function Rewards() {
  const pulse = usePulse(everyMs)
  const loaded = useAnswer<RewardsAnswer>('/api/rewards', { follows: pulse })
  const { value } = loaded
  return (
    <>
      <ScreenHead title="Rewards">
        {value && !isEmpty(value) && (
          <ExportMenu path="/api/rewards/export" without="xlsx" note="Every line of every payout." />
        )}
      </ScreenHead>
      <div class="framed">
        <When loaded={loaded} lines={8}>
          {(rewards) => (isEmpty(rewards) ? <Off /> : <Everything rewards={rewards} />)}
        </When>
      </div>
    </>
  )
}

/** Rewards are off, and the service has no payees. */
function isEmpty({ isOn, roles }: RewardsAnswer): boolean {
  return !isOn && roles.every(({ payees }) => payees === 0)
}

function Off() {
  return (
    <Notice title="Rewards are off">
      <p>
        Set the option <code>rewards</code> to share payments with partners, developers and payers;{' '}
        <code>docs/rewards.md</code> says how.
      </p>
    </Notice>
  )
}

function Everything({ rewards }: { readonly rewards: RewardsAnswer }) {
  const { roles, rules, wallet, threshold, paused, isOn, payouts } = rewards
  const sums = sumUp(roles)
  const unsent = payouts.filter(({ state }) => state === 'planned').map(({ amount }) => amount)
  return (
    <div class="stack">
      {paused && (
        <div class="note note-warn" role="status">
          <p>
            <b>Payouts, conversions and refunds are paused on all servers.</b> Rewards still accrue. To resume:
          </p>
          <Command text="npx paystile rewards resume" />
        </div>
      )}
      {!isOn && (
        <p class="note" role="status">
          This server accrues no rewards. The figures come from other servers on the same ledger, or from the past.
        </p>
      )}
      <Figures sums={sums} rewards={rewards} />
      <div class="grid">
        <div class="stack">
          <Card id="roles" title="By role">
            <RolesTable roles={roles} token={token} />
          </Card>
          <PayoutsCard first={rewards.first?.payouts} />
        </div>
        <div class="stack">
          <Card id="wallet" title="Paid from">
            <PayingWallet wallet={wallet} due={addDecimals([sums.due, ...unsent])} threshold={threshold} />
          </Card>
          {rules && (
            <Card id="rules" title="The rules">
              <RulesInWords rules={rules} />
            </Card>
          )}
        </div>
      </div>
      <PayeesCard rewards={rewards} />
      <PayoutDrawer />
      <PayeeDrawer rewards={rewards} />
    </div>
  )
}

function Figures({ sums, rewards }: { readonly sums: Sums; readonly rewards: RewardsAnswer }) {
  const locale = pageLocale()
  const taken = computeTaken(sums)
  const open = rewards.payouts.filter(({ state }) => state === 'planned' || state === 'signed').length
  const figure = (amount: string) => ({
    value: formatRounded(amount, locale),
    unit: token,
    exact: `${formatAmount(amount, locale)} ${token}`,
  })
  return (
    <dl class="tiles card">
      <Tile name="Accrued" {...figure(sums.accrued)}>
        <span class="trend muted" title="Final payments that have not been accrued yet">
          <Count count={rewards.ripening} /> {rewards.ripening === 1 ? 'payment pending' : 'payments pending'}
        </span>
      </Tile>
      <Tile name="Due" {...figure(sums.due)}>
        <span class="trend muted">
          {rewards.threshold === null ? 'not sent yet' : `payable from ${formatAmount(rewards.threshold, locale)}`}
        </span>
      </Tile>
      <Tile name="Under way" {...figure(sums.underWay)}>
        <span class="trend muted">{open === 0 ? 'no payout' : `${open} ${open === 1 ? 'payout' : 'payouts'}`}</span>
      </Tile>
      <Tile name="Paid" {...figure(sums.paid)}>
        <span class="trend muted">
          {compareDecimals(taken, '0') > 0
            ? `${formatRounded(taken, locale)} deducted for rates and rent`
            : 'no deductions'}
        </span>
      </Tile>
    </dl>
  )
}
