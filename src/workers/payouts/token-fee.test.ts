/** Payouts in a token that keeps a part of every transfer. */
import { describe, expect, it } from 'vitest'
import {
  accrualOf,
  bytes,
  developer,
  lineOf,
  plannedBy,
  planOf,
  signedBy,
} from '../../../tests/ledger/payables-fixture.ts'
import { createTestClock } from '../../../tests/ledger/payments.ts'
import { createReferenceLedger } from '../../../tests/ledger/reference/ledger.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { formatMemo } from '../../core/payouts/outgoing-memo.ts'
import type { Reading } from '../../core/ports/chain.ts'
import { adoptTransaction } from './adopt.ts'
import { auditRewards } from './audit.ts'

const [wallet, payee, mint] = ['wallet', developer.payee, 'mint']
const native = { address: mint, decimals: 9, tokenProgram: 'program' }

/** The wallet sent so much, and one percent of it did not arrive. */
function createEffect(sent: bigint, memo: string): Effect {
  const transfer = { asset: mint, destination: 'account', destinationOwner: payee, sourceOwner: wallet, units: sent }
  const [before, after] = [0n, sent - sent / 100n]
  return {
    ...{ signature: 'signature-1', slot: 7, blockTime: 1, failed: false, feePayer: wallet, fee: 5_000n, memos: [memo] },
    transfers: [{ ...transfer, authority: wallet, signers: [wallet], memos: [memo] }],
    holdings: [{ asset: mint, account: 'account', ownerBefore: payee, ownerAfter: payee, before, after }],
  }
}

async function open() {
  const clock = createTestClock()
  const { rewards, outgoing, books, kv, rates } = createReferenceLedger({ clock })
  const accruals = Array.from({ length: 200 }, () => accrualOf({ 'developer:developer-wallet': 1n }))
  await rewards.accrue(0, accruals)
  const readAs = (effect: Effect) => ({ read: async (): Promise<Reading> => ({ kind: 'found', effect }) })
  return { clock, rewards, outgoing, books, kv, rates, readAs }
}

describe('a fee of the token', () => {
  it('T243: is no difference between a payout and the chain', async () => {
    const { rewards, outgoing, books, rates, clock, readAs } = await open()
    const { id, version } = plannedBy(await outgoing.plan(planOf({ lines: [await lineOf(rewards, developer)] })))
    await outgoing.land(id, signedBy(await outgoing.sign(id, version, bytes)).version, 7)
    const audit = await auditRewards({
      ...{ rewards, outgoing, books, rateJournal: rates, clock, native, reportToken: 'USDC' },
      chain: readAs(createEffect(200n, formatMemo(id))),
      addresses: { find: async (name) => ({ kind: 'found', address: name.payee }), sent: () => expect.fail() },
      nameOf: () => '',
      assetOf: () => undefined,
    })
    expect(audit.payouts).toBe(1)
    expect(audit.problems.filter((problem) => problem.startsWith('payout'))).toEqual([])
  })

  it('T243: is not paid again after the ledger was restored', async () => {
    const { rewards, outgoing, books, kv, clock, readAs } = await open()
    const id = 'payout-of-the-lost-one'
    const given = { rewards, outgoing, books, kv, clock, native, sealer: { tag: 'tag' } }
    const parts = { ...given, nameOf: () => '', tokenOf: () => undefined }
    const chain = readAs(createEffect(200n, formatMemo(id)))
    const unknown = { signature: 'signature-1', slot: 7, memos: formatMemo(id), ids: [id] }
    expect((await adoptTransaction({ ...parts, chain }, wallet, unknown)).kind).toBe('adopted')
    expect(await rewards.payee(developer)).toMatchObject({ owed: 0n, paid: 200n })
  })
})
