/** Writes into a ledger what a service has that shared out payments for a while: who is owed, what was sent and what waits. */
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { OutgoingTransaction, OutgoingTransactions } from '../../src/core/payouts/ports/outgoing.ts'
import type { Accrual, PayeeName, Rewards } from '../../src/core/payouts/ports/rewards.ts'
import type { Share } from '../../src/core/payouts/rewards.ts'
import { signedBy } from '../ledger/payables-fixture.ts'

export const wallets = {
  partner: walletOf(1),
  developer: walletOf(2),
  treasury: walletOf(3),
  buyback: walletOf(4),
  incentives: walletOf(5),
} as const
/** A pseudonym may begin like a formula. */
export const payers = ['-XhhbXBsZS1wYXllci1vbmU', 'ZXhhbXBsZS1wYXllci10d28'] as const

const whole = 1_000_000_000n

function walletOf(seed: number): string {
  return encodeBase58(new Uint8Array(32).fill(200 + seed))
}

export function signatureOf(seed: number): string {
  return encodeBase58(new Uint8Array(64).fill(seed))
}

/** 100 NATIVE: 85 to the partner, 4 to the developer, 1 to the payer, 10 to the rest. */
export function accrualAt(index: number, at: number): Accrual {
  const shares: readonly Share[] = [
    { role: 'partner', payee: wallets.partner, units: 85n * whole },
    { role: 'developer', payee: wallets.developer, units: 4n * whole },
    { role: 'cashback', payee: payers[index % 2] ?? '', units: whole },
    { role: 'treasury', payee: wallets.treasury, units: 5n * whole },
    { role: 'buyback', payee: wallets.buyback, units: 3n * whole },
    { role: 'incentives', payee: wallets.incentives, units: 2n * whole },
  ]
  const decimals = { NATIVE: 9, USDC: 6, SOL: 9 }
  return {
    tx: new Uint8Array(64).fill(index + 1),
    at,
    recipient: walletOf(9),
    payer: payers[index % 2] ?? '',
    endpoint: '/data',
    token: 'USDC',
    units: 10_000_000n,
    paidAt: at - 60_000,
    rates: { table: { USDC: '1', NATIVE: '0.1' }, source: 'fixed', at, decimals },
    rules: 'rules',
    developer: wallets.developer,
    spent: 0n,
    worth: 10_000_000_000_000n,
    whole: 100n * whole,
    rate: 100_000_000_000n,
    why: '',
    shares,
  }
}

export interface PaidOut {
  readonly landed: OutgoingTransaction
  readonly signed: OutgoingTransaction
  readonly dropped: OutgoingTransaction
}

/** Four payments are shared out; one payout has landed, one is under way, one was given up, and somebody is parked. */
export async function fillRewards(rewards: Rewards, outgoing: OutgoingTransactions, now: number): Promise<PaidOut> {
  await rewards.start()
  const at = now - 3_600_000
  await rewards.accrue(0, [accrualAt(0, at), accrualAt(1, at)])
  // The partner is paid by the lower rate of today, the treasury has no account yet.
  const landed = await pay('bGFuZGVkLXBheW91dA', [
    [{ role: 'partner', payee: wallets.partner }, 150n * whole, 0n],
    [{ role: 'treasury', payee: wallets.treasury }, 7n * whole, 3n * whole],
    [{ role: 'cashback', payee: payers[0] }, whole, 0n],
  ])
  const first = await sign(landed, 1)
  const done = await outgoing.land(first.id, first.version, 4_242)
  if (!done) throw new Error('it did not land')
  await rewards.accrue(2, [accrualAt(2, now - 60_000), accrualAt(3, now - 60_000)])
  const dropped = await pay('ZHJvcHBlZC1wYXlvdXQ', [[{ role: 'developer', payee: wallets.developer }, 16n * whole, 0n]])
  const given = await outgoing.drop(dropped.id, dropped.version, 'manage the wallet for payments holds too little')
  if (!given) throw new Error('it was not dropped')
  const second = await sign(
    await pay('c2lnbmVkLXBheW91dA', [[{ role: 'partner', payee: wallets.partner }, 170n * whole, 0n]]),
    2,
  )
  await rewards.park(
    { role: 'cashback', payee: payers[1] },
    'the payee has no token account, and opening one would cost too large a part of the amount',
    now + 3_600_000,
  )
  return { landed: done, signed: second, dropped: given }

  async function pay(id: string, to: readonly (readonly [PayeeName, bigint, bigint])[]): Promise<OutgoingTransaction> {
    const lines = await Promise.all(
      to.map(async ([name, units, opening]) => {
        const [owed, payee] = [await rewards.owed(name), await rewards.payee(name)]
        if (!owed || !payee) throw new Error(`nothing is owed to ${name.payee}`)
        return { ...name, from: payee.settledThrough, through: owed.through, gross: owed.units, units, opening }
      }),
    )
    const planning = await outgoing.plan({ id, kind: 'payout', lockKey: '', about: '', lines })
    if (planning.kind !== 'planned') throw new Error(`not planned: ${planning.kind}`)
    return planning.transaction
  }

  async function sign({ id, version }: OutgoingTransaction, seed: number): Promise<OutgoingTransaction> {
    const kept = { signature: signatureOf(seed), lastValidBlockHeight: 900, slot: 800, sealed: 'sealed' }
    return signedBy(await outgoing.sign(id, version, kept))
  }
}
