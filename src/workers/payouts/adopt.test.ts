/** A transaction that a lost ledger sent is booked once, also if the command that takes it over is ended. */
import { describe, expect, it } from 'vitest'
import { accrualOf, developer, lineOf, plannedBy, planOf } from '../../../tests/ledger/payables-fixture.ts'
import { createTestClock } from '../../../tests/ledger/payments.ts'
import { createReferenceLedger } from '../../../tests/ledger/reference/ledger.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { formatId, formatMemo } from '../../core/payouts/outgoing-memo.ts'
import { type AdoptionParts, adoptTransaction, dropPlanned } from './adopt.ts'

const [wallet, payee, mint, signature] = ['wallet', developer.payee, 'mint', 'a-signature-with-more-than-14-characters']
const id = formatId('the-tag-', 'payout', 'of-lost-ledger')
const unknown = { signature, slot: 7, memos: formatMemo(id), ids: [id] }

const transfer = { asset: mint, destination: 'account', destinationOwner: payee, sourceOwner: wallet, units: 100n }
const effect: Effect = {
  ...{ signature, slot: 7, blockTime: 1, failed: false, feePayer: wallet, fee: 5_000n, memos: [unknown.memos] },
  transfers: [{ ...transfer, authority: wallet, signers: [wallet], memos: [unknown.memos] }],
  holdings: [{ asset: mint, account: 'account', ownerBefore: payee, ownerAfter: payee, before: 0n, after: 100n }],
}

/** Two hundred units are owed. The ledger has the id of the transaction for a payout that was dropped. */
async function open() {
  const clock = createTestClock()
  const { rewards, outgoing, books, kv } = createReferenceLedger({ clock })
  await rewards.accrue(
    0,
    Array.from({ length: 200 }, () => accrualOf({ 'developer:developer-wallet': 1n })),
  )
  const plan = { ...planOf({ lines: [await lineOf(rewards, developer)] }), id }
  await outgoing.drop(id, plannedBy(await outgoing.plan(plan)).version, 'the ledger was restored from a backup')
  const parts: AdoptionParts = {
    ...{ rewards, outgoing, books, kv, clock, nameOf: () => '', tokenOf: () => undefined },
    native: { address: mint, decimals: 9, tokenProgram: 'program' },
    sealer: { tag: 'the-tag-' },
    chain: { read: async () => ({ kind: 'found', effect }) },
  }
  return { parts, rewards }
}

/** The same parts in a process that ends at this step. */
const endingAt = (parts: AdoptionParts, step: 'sign' | 'land' | 'put'): AdoptionParts => {
  const end = async () => {
    throw new Error('the process ended')
  }
  return step === 'put'
    ? { ...parts, kv: { ...parts.kv, put: end } }
    : { ...parts, outgoing: { ...parts.outgoing, [step]: end } }
}

describe('T260: a transaction whose id the ledger has', () => {
  it.each(['sign', 'land', 'put'] as const)('is booked once if the process ends at %s', async (step) => {
    const { parts, rewards } = await open()
    await expect(adoptTransaction(endingAt(parts, step), wallet, unknown)).rejects.toThrow('the process ended')
    await dropPlanned(parts, [unknown])
    expect(await adoptTransaction(parts, wallet, unknown)).toMatchObject({
      kind: 'adopted',
      receipts: [{ owner: payee, units: 100n, settled: 100n }],
    })
    expect(await rewards.payee(developer)).toMatchObject({ owed: 100n, paid: 100n })
  })
})
