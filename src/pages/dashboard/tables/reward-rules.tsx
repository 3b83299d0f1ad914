/** The rules of the rewards, in words. */
import { type ComponentChildren, Fragment } from 'preact'
import { formatAmount, formatPercent } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import type { RewardsRules } from '../data/outgoing.ts'
import { Name } from '../elements/cells.tsx'
import { roleNames } from './roles.tsx'

const percent = (share: string): string => formatPercent(Number(share) / 100, pageLocale())

/** `a, b and c`. */
function listed(items: readonly ComponentChildren[]): ComponentChildren {
  return items.map((item, index) => (
    <Fragment key={index}>
      {index === 0 ? '' : index === items.length - 1 ? ' and ' : ', '}
      {item}
    </Fragment>
  ))
}

function Tier({ from, share }: RewardsRules['cashback'][number]) {
  return (
    <>
      <b>{percent(share)}</b>
      {from !== '0' && ` from ${formatAmount(from, pageLocale(), 0)} USDC on`}
    </>
  )
}

export function RulesInWords({ rules }: { readonly rules: RewardsRules }) {
  const { partners, developers, cashback, rest, withoutPartner } = rules
  return (
    <ul class="rules">
      {partners.map(({ name, wallet, share, endpoints }) => (
        <li key={`${name} ${wallet}`}>
          <b>{name}</b> <Name text={wallet} /> gets <b>{percent(share)}</b> of{' '}
          {endpoints.length === 0
            ? 'no routes yet.'
            : listed(endpoints.map((endpoint) => <code key={endpoint}>{endpoint}</code>))}
        </li>
      ))}
      {Number(developers) > 0 && (
        <li>
          Verified developers get <b>{percent(developers)}</b> of the payments for their endpoints.
        </li>
      )}
      {cashback.length > 0 && (
        <li>
          Payers get back {listed(cashback.map((tier) => <Tier key={tier.from} {...tier} />))}
          {cashback.some(({ from }) => from !== '0') && ' that they spent within 7 days'}.
        </li>
      )}
      <li>
        The rest goes to{' '}
        {listed(
          rest.map(({ role, wallet }) => (
            <Fragment key={role}>
              {roleNames[role].toLowerCase()} <Name text={wallet} />
            </Fragment>
          )),
        )}{' '}
        by <b class="whole">{rest.map(({ weight }) => weight).join(' : ')}</b>.
      </li>
      <li class="muted">
        {withoutPartner
          ? 'On routes without a partner, you pay the rewards of developers and payers and keep the rest.'
          : 'On routes without a partner, no rewards are paid, and you keep the full amount.'}
      </li>
    </ul>
  )
}
