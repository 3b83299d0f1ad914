import { describe, expect, it } from 'vitest'
import type { AccountState } from './outgoing-wallet.ts'
import { draftLine, type PayoutTerms } from './payout-lines.ts'
import type { Owed } from './ports/rewards.ts'
import type { RewardRole } from './rewards.ts'

const owed: Owed = {
  from: 3,
  through: 9,
  units: 1_000n,
  atRates: [
    { rate: 100n, units: 400n },
    { rate: 200n, units: 600n },
  ],
  tx: new Uint8Array(64),
}
const terms: PayoutTerms = { rate: 200n, least: 100n, opening: 300n }
const draft = (role: RewardRole, account: AccountState, change: Partial<PayoutTerms> = {}) =>
  draftLine({ role, payee: 'somebody', owed, account }, { ...terms, ...change })

describe('a line of a payout', () => {
  it('settles the owed amount, at the lower rate for payees outside', () => {
    const line = { role: 'partner', payee: 'somebody', from: 3, through: 9, gross: 1_000n, units: 800n, opening: 0n }
    expect(draft('partner', 'ready')).toEqual({ kind: 'line', line })
  })
  it.each(['developer', 'cashback'] as const)('is lower for a %s, too', (role) => {
    expect(draft(role, 'ready')).toMatchObject({ line: { units: 800n } })
  })
  it.each(['treasury', 'buyback', 'incentives'] as const)('is all for the %s of the operator', (role) => {
    expect(draft(role, 'ready')).toMatchObject({ line: { units: 1_000n } })
  })
  it('T155: deducts the rent of a new account from its owner', () => {
    expect(draft('partner', 'missing')).toMatchObject({ kind: 'line', line: { units: 500n, opening: 300n } })
  })
  it.each<readonly [string, AccountState, Partial<PayoutTerms>, 'wait' | 'park']>([
    ['it is less than is sent', 'ready', { least: 801n }, 'wait'],
    ['the rent would take more than half of it', 'missing', { opening: 401n }, 'wait'],
    ['less than is sent would be left after the rent', 'missing', { least: 501n }, 'wait'],
    ['what an account costs is not known', 'missing', { opening: undefined }, 'wait'],
    ['the account is frozen', 'frozen', {}, 'park'],
    ['the account takes nothing', 'unusable', {}, 'park'],
  ])('is none while %s', (_what, account, change, kind) => {
    expect(draft('partner', account, change)).toMatchObject({ kind })
  })
  it('is none of nothing', () => {
    expect(draft('partner', 'ready', { rate: 10n ** 9n, least: 0n })).toMatchObject({ kind: 'wait' })
  })
})
