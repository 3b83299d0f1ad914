import { describe, expect, it } from 'vitest'
import { createReferenceLedger } from '../../../tests/ledger/reference/ledger.ts'
import { createMeter } from '../../core/observability/metrics.ts'
import type { ListedTransaction, OutgoingWallet, WalletHistory } from '../../core/payouts/outgoing-wallet.ts'
import type { WalletCheckParts } from './unknown-transactions.ts'
import { acceptTransaction, createWalletCheck, withWalletCheck } from './unknown-transactions.ts'

const tag = 'own-tag_'
const idOf = (name: string, ofTag = tag) => `${ofTag}${name.padEnd(14, '-')}`
const transaction = (signature: string, slot: number, id: string): ListedTransaction => ({
  signature,
  slot,
  memos: `[31] paystile:${id}`,
})

function open({ waits = true, transactions = [] as ListedTransaction[], sent = (): boolean | undefined => true } = {}) {
  let now = 1_790_000_000_000
  const clock = { now: () => now, monotonic: () => now }
  const { outgoing, kv } = createReferenceLedger({ clock })
  const world = { slot: 1_000, expiry: undefined as number | undefined, isSilent: false, after: [] as number[] }
  const history: WalletHistory = {
    wallet: 'wallet',
    list: async (after) => {
      world.after.push(after)
      if (world.isSilent) return undefined
      const listed = transactions.filter(({ slot }) => slot > after && slot <= world.slot)
      return { slot: world.slot, transactions: listed }
    },
    hasSent: async () => sent(),
    readBlockhash: async () => ({ blockhash: 'hash', slot: world.slot }),
    readExpiry: async () => world.expiry,
  }
  const errors: unknown[] = []
  const log = { info: () => {}, warn: () => {}, error: (_event: string, facts?: object) => void errors.push(facts) }
  const parts: WalletCheckParts = { history, outgoing, kv, sealer: { tag }, clock, log, meter: createMeter(), waits }
  /** A transaction of the ledger, signed and landed with a signature. */
  const land = async (id: string, signature: string, slot: number) => {
    await outgoing.plan({ id, kind: 'payout', lockKey: '', about: '', lines: [] })
    await outgoing.sign(id, 1, { signature, lastValidBlockHeight: 9, slot, sealed: 'bytes' })
    await outgoing.land(id, 2, slot)
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { parts, world, transactions, outgoing, land, pass, errors, check: createWalletCheck(parts) }
}

describe('a check of a wallet', () => {
  it('is complete if the ledger has every transaction with its signature', async () => {
    const fixture = open({ transactions: [transaction('one', 20, idOf('a'))] })
    await fixture.land(idOf('b'), 'before', 10)
    await fixture.outgoing.plan({ id: idOf('a'), kind: 'payout', lockKey: '', about: '', lines: [] })
    await fixture.outgoing.sign(idOf('a'), 1, { signature: 'one', lastValidBlockHeight: 9, slot: 1, sealed: 'bytes' })
    expect(await fixture.check()).toEqual({ kind: 'complete' })
  })

  it.each<[string, ListedTransaction[]]>([
    ['a transaction of this service', [transaction('one', 20, idOf('a'))]],
    ['a transaction of an earlier version, without a tag', [transaction('one', 20, 'A'.repeat(16))]],
    ['another signature of a known transaction', [transaction('one', 20, idOf('known'))]],
  ])('finds %s that the ledger does not have', async (_name, transactions) => {
    const fixture = open({ transactions })
    await fixture.land(idOf('known'), 'other', 10)
    expect(await fixture.check()).toMatchObject({ kind: 'unknown', transactions: [{ signature: 'one' }] })
    // Also when a transaction that the ledger knows lands after it.
    await fixture.land(idOf('later'), 'later', 30)
    expect(await createWalletCheck(fixture.parts)()).toMatchObject({ kind: 'unknown' })
    await acceptTransaction(fixture.parts, 'one')
    expect(await fixture.check()).toEqual({ kind: 'complete' })
  })

  it('ignores transactions of another service, and memos that the wallet did not sign', async () => {
    const foreign = open({ transactions: [transaction('one', 20, idOf('a', 'another_'))] })
    expect(await foreign.check()).toEqual({ kind: 'complete' })
    const forged = open({ transactions: [transaction('one', 20, idOf('a'))], sent: () => false })
    expect(await forged.check()).toEqual({ kind: 'complete' })
  })

  it('waits while no node tells', async () => {
    const unread = open({ transactions: [transaction('one', 20, idOf('a'))], sent: () => undefined })
    expect(await unread.check()).toMatchObject({ kind: 'waiting' })
    const silent = open()
    silent.world.isSilent = true
    expect(await silent.check()).toMatchObject({ kind: 'waiting' })
  })

  it('continues in the next process after the last slot, once nothing that was signed before can land', async () => {
    const fixture = open()
    expect(await fixture.check()).toEqual({ kind: 'complete' })
    const next = createWalletCheck(fixture.parts)
    expect(await next()).toMatchObject({ kind: 'waiting' })
    fixture.world.expiry = 1_200
    fixture.world.slot = 1_199
    expect(await next()).toMatchObject({ kind: 'waiting' })
    fixture.transactions.push(transaction('late', 1_200, idOf('a')))
    fixture.world.slot = 1_200
    expect(await next()).toMatchObject({ kind: 'unknown', transactions: [{ signature: 'late' }] })
    await acceptTransaction(fixture.parts, 'late')
    expect(await next()).toEqual({ kind: 'complete' })
    expect(fixture.world.after).toEqual([0, 1_000, 1_000, 1_199, 1_199])
    expect(await createWalletCheck({ ...fixture.parts, waits: false })()).toEqual({ kind: 'complete' })
  })
})

describe('a checked wallet', () => {
  const signing = { kind: 'impossible', why: 'signed' } as const
  const wallet = { wallet: 'wallet', sign: async () => signing } as unknown as OutgoingWallet
  const order = { mint: undefined, transfers: [], memo: '' }

  it('signs nothing while a transaction is unknown, names it, and continues when it was taken over', async () => {
    const fixture = open({ transactions: [transaction('one', 20, idOf('a'))] })
    const checked = withWalletCheck(wallet, fixture.parts)
    const refused = await checked.sign(order)
    expect(refused).toMatchObject({ kind: 'unavailable', why: expect.stringMatching(/: one; .*rewards adopt$/) })
    expect(fixture.errors).toHaveLength(1)
    expect(fixture.parts.meter.format()).toContain('paystile_dispatches_unknown{wallet="wallet"} 1')
    await acceptTransaction(fixture.parts, 'one')
    expect(await checked.sign(order)).toEqual(refused)
    fixture.pass(2_000)
    expect(await checked.sign(order)).toEqual(signing)
    expect(fixture.parts.meter.format()).toContain('paystile_dispatches_unknown{wallet="wallet"} 0')
  })

  it('looks again after a minute', async () => {
    const fixture = open()
    const checked = withWalletCheck(wallet, fixture.parts)
    expect(await checked.sign(order)).toEqual(signing)
    fixture.world.slot = 2_000
    fixture.transactions.push(transaction('one', 2_000, idOf('a')))
    expect(await checked.sign(order)).toEqual(signing)
    fixture.pass(60_000)
    expect(await checked.sign(order)).toMatchObject({ kind: 'unavailable' })
  })
})
