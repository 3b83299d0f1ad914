/** Accruals, lines and plans for the tests of what is owed and what goes out. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { FrozenRates } from '../../src/core/money/rates.ts'
import type {
  KeptBytes,
  OutgoingTransaction,
  OutgoingTransactions,
  PayoutLine,
  PlannedTransaction,
  Planning,
  SigningResult,
} from '../../src/core/payouts/ports/outgoing.ts'
import type { Accrual, PayeeName, Rewards } from '../../src/core/payouts/ports/rewards.ts'
import type { RewardRole } from '../../src/core/payouts/rewards.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { startOfTests } from './payments.ts'

export const rates: FrozenRates = {
  table: { USDC: '1', NATIVE: '0.5' },
  source: 'fixed',
  at: startOfTests,
  decimals: { USDC: 6, NATIVE: 9 },
}

export const partner: PayeeName = { role: 'partner', payee: 'partner-wallet' }
export const developer: PayeeName = { role: 'developer', payee: 'developer-wallet' }

export function rewardsOf({ rewards }: Ledger): Rewards {
  if (!rewards) throw new Error('this ledger knows nothing of rewards')
  return rewards
}

export function dispatchesOf({ outgoing: dispatches }: Ledger): OutgoingTransactions {
  if (!dispatches) throw new Error('this ledger sends nothing')
  return dispatches
}

/** Shares by `role:payee`. */
export function accrualOf(shares: Readonly<Record<string, bigint>>, changes: Partial<Accrual> = {}): Accrual {
  const parts = Object.entries(shares).map(([name, units]) => {
    const [role, payee = ''] = name.split(':')
    return { role: role as RewardRole, payee, units }
  })
  return {
    tx: new Uint8Array(randomBytes(64)),
    at: startOfTests,
    recipient: 'collector',
    payer: 'payer-1',
    endpoint: '/api/data',
    token: 'USDC',
    units: 10_000n,
    paidAt: startOfTests - 1000,
    rates,
    rules: 'rules-1',
    developer: '',
    spent: 0n,
    worth: 10_000_000_000n,
    whole: parts.reduce((sum, { units }) => sum + units, 0n),
    rate: 500_000_000_000n,
    why: '',
    shares: parts,
    ...changes,
  }
}

/** Writes accruals down one after another, whatever was last. */
export async function accrue(rewards: Rewards, ...accruals: readonly Accrual[]): Promise<void> {
  const { last } = await rewards.accruable(0)
  if (!(await rewards.accrue(last, accruals))) throw new Error('somebody accrued in between')
}

/** A line that settles all that is owed now. */
export async function lineOf(
  rewards: Rewards,
  name: PayeeName,
  changes: Partial<PayoutLine> = {},
): Promise<PayoutLine> {
  const owed = await rewards.owed(name)
  if (!owed) throw new Error('nothing is owed')
  const { from, through, units } = owed
  return { ...name, from, through, gross: units, units, opening: 0n, ...changes }
}

export function planOf(changes: Partial<PlannedTransaction> = {}): PlannedTransaction {
  return { id: randomUUID(), kind: 'payout', lockKey: '', about: '', lines: [], ...changes }
}

export function plannedBy(planning: Planning): OutgoingTransaction {
  if (planning.kind !== 'planned') throw new Error(`not planned but ${planning.kind}`)
  return planning.transaction
}

export function signedBy(result: SigningResult): OutgoingTransaction {
  if (result.kind !== 'signed') throw new Error(`not signed but ${result.kind}`)
  return result.transaction
}

export const bytes: KeptBytes = { signature: 'signature-1', lastValidBlockHeight: 500, slot: 340, sealed: 'sealed-1' }

export async function sumsOf(rewards: Rewards, name: PayeeName) {
  const [payee] = (await rewards.payees({ most: 1000 })).filter((one) => isSame(one, name))
  return payee && [payee.accrued, payee.owed, payee.reserved, payee.paid]
}

function isSame(one: PayeeName, other: PayeeName): boolean {
  return one.role === other.role && one.payee === other.payee
}
