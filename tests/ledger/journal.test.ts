/** What every store writes down beside the payments: what was seen on chain, up to where, and what the chain took back. */
import { describe, expect, it } from 'vitest'
import type { Sighting } from '../../src/core/ports/journal.ts'
import { useDesk } from './grants-fixture.ts'
import { againOf, createPayment, createSighting, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const aSighting = (changes: Partial<Sighting> = {}) => createSighting({ received: 2n ** 64n - 1n, ...changes })

describe.each(stores)('the journal of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { journal, registered } = desk

  describe('observed payments', () => {
    it('are recorded once, for any number of observers', async () => {
      const [one, two] = [aSighting(), aSighting()]
      const answers = await Promise.all([[one], [one, two], [two], []].map((seen) => journal().sight(seen)))
      expect(answers.flat().map(({ tx }) => tx)).toHaveLength(2)
      expect(await journal().unclaimed(10)).toHaveLength(2)
    })

    it('is read back as it was written, the latest first', async () => {
      const [early, late] = [aSighting({ slot: 3 }), aSighting({ slot: 9, request: '', token: 'SOL', received: 1n })]
      await journal().sight([early, late])
      expect(await journal().unclaimed(10)).toEqual([late, early])
      expect(await journal().unclaimed(1)).toEqual([late])
    })

    it('is unclaimed until its proof is accepted, which a late payment is not', async () => {
      const [payment, late] = [createPayment(), createPayment()]
      await journal().sight([aSighting({ tx: payment.tx }), aSighting({ tx: late.tx })])
      await desk.ledger.recordLate(late)
      await desk.grantOf(takeOf(payment))
      expect((await journal().unclaimed(10)).map(({ tx }) => tx)).toEqual([late.tx])
    })

    it('goes together with how far the address was read, which never goes back', async () => {
      expect(await journal().mark('a')).toBeUndefined()
      const sighting = aSighting()
      await journal().sight([sighting], { address: 'a', mark: { signature: 's9', slot: 9 } })
      await journal().sight([], { address: 'a', mark: { signature: 's8', slot: 8 } })
      expect(await journal().mark('a')).toEqual({ signature: 's9', slot: 9 })
      expect(await journal().mark('b')).toBeUndefined()
      await journal().sight([sighting], { address: 'a', mark: { signature: 's9b', slot: 9 } })
      expect(await journal().mark('a')).toEqual({ signature: 's9b', slot: 9 })
    })
  })

  describe('T62: unfinalized payments', () => {
    it('is listed from the oldest, until the chain has decided', async () => {
      const [second, first] = [await registered({ slot: 20 }), await registered({ slot: 10 })]
      const { tx } = await registered({ slot: 30, finality: 'finalized' })
      expect((await journal().unfinal(10)).map((open) => open.slot)).toEqual([10, 20])
      expect(await journal().unfinal(1)).toEqual([{ tx: first.tx, slot: 10 }])
      expect(await journal().unfinal(10, 11)).toEqual([{ tx: second.tx, slot: 20 }])
      const decided = [
        { tx: first.tx, finality: 'finalized' },
        { tx: second.tx, finality: 'reverted' },
        { tx, finality: 'reverted' },
      ] as const
      expect(await journal().conclude(decided)).toEqual(decided.slice(0, 2))
      expect(await journal().conclude(decided)).toEqual([])
      expect(await journal().conclude([])).toEqual([])
      expect(await journal().unfinal(10)).toEqual([])
      expect(await desk.stateOf(first)).toBe('busy')
      expect(await desk.stateOf(second)).toBe('reverted')
    })

    it('adds up by recipient, payer and token; late payments were never served and do not count', async () => {
      await registered({ received: 2n ** 63n })
      await registered({ received: 2n ** 63n })
      await registered({ payer: 'payer-2', received: 5n })
      await registered({ token: 'SOL', received: 7n })
      await registered({ recipient: 'recipient-2', received: 9n })
      await registered({ finality: 'finalized', received: 11n })
      await desk.ledger.recordLate(createPayment({ received: 13n }))
      const sums = (await journal().exposure()).map((one) => [one.recipient, one.payer, one.token, one.units])
      expect(new Set(sums.map((sum) => sum.join(' ')))).toEqual(
        new Set([
          `recipient-1 payer-1 USDC ${2n ** 64n}`,
          'recipient-1 payer-2 USDC 5',
          'recipient-1 payer-1 SOL 7',
          'recipient-2 payer-1 USDC 9',
        ]),
      )
    })
  })

  describe('T62: a payment that the chain took back', () => {
    const taken = async (outcome: 'delivered' | 'not_started') => {
      const payment = createPayment()
      await desk.use(takeOf(payment), outcome)
      await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
      return payment
    }

    it('gives nothing, not even to a proof that would register it', async () => {
      const payment = await taken('not_started')
      expect(await desk.kindOf(againOf(payment))).toBe('unknown')
      expect(await desk.kindOf(takeOf(payment))).toBe('unknown')
      expect(await desk.stateOf(payment)).toBe('reverted')
    })

    it('are worth their unused rest when they land again and become final', async () => {
      const payment = await taken('not_started')
      const landed = { ...payment, slot: 99, finality: 'finalized' as const }
      expect(await desk.use(takeOf(landed), 'delivered')).toBe(true)
      expect(await desk.stateOf(payment)).toBe('spent')
    })

    it('stays used when it lands again, and counts as received', async () => {
      const payment = await taken('delivered')
      const landed = { ...payment, slot: 99, finality: 'finalized' as const }
      expect(await desk.kindOf(takeOf(landed))).toBe('spent')
      expect(await desk.stateOf(payment)).toBe('spent')
      expect(await journal().unfinal(10)).toEqual([])
    })

    it('is still another request that cannot have it', async () => {
      const payment = await taken('not_started')
      const landed = { ...payment, request: 'request-2', finality: 'finalized' as const }
      expect(await desk.kindOf(takeOf(landed))).toBe('foreign')
    })

    it('can be ended by their holder, so that the use is recorded', async () => {
      const payment = createPayment()
      const grant = await desk.grantOf(takeOf(payment))
      await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
      expect(await desk.ledger.end(grant, 'delivered', 1n)).toBe(true)
      expect(await desk.kindOf(takeOf({ ...payment, finality: 'finalized' }))).toBe('spent')
    })

    it('T208: renews no lease, and gives no more bytes to a response that is running', async () => {
      const payment = createPayment({ allowance: { unit: 'byte', amount: 1_000n } })
      const grant = await desk.grantOf(takeOf(payment, { amount: 100n }))
      await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
      expect(await desk.ledger.renew(grant, 1000)).toBe(false)
      expect(await desk.ledger.advance(grant, 100n, 100n)).toBeUndefined()
      expect(await desk.ledger.end(grant, 'delivered', 100n)).toBe(true)
      const landed = { ...payment, finality: 'finalized' as const }
      expect(await desk.grantOf(takeOf(landed, { amount: 1_000n }))).toMatchObject({ amount: 900n })
    })
  })
})
