/** The journal of rates: which rates hold for a payment at a time. The same in every store. */
import { describe, expect, it } from 'vitest'
import type { RateTable } from '../../src/core/money/rates.ts'
import { ratesKeptMs } from '../../src/core/ports/journal.ts'
import { useDesk } from './grants-fixture.ts'
import { createPayment, startOfTests, takeOf } from './payments.ts'
import { places } from './places.ts'
import { stores } from './stores.ts'

const at = (seconds: number): number => startOfTests + seconds * 1_000
const [low, high] = [
  { USDC: '1', SOL: '100' },
  { USDC: '1', SOL: '200' },
] as const
const off = { USDC: '1' } as const

describe.each(stores)('the rates of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const journal = () => desk.ledger.rates ?? expect.fail('this ledger keeps no rates')
  const note = (table: RateTable, feed = 'prices/pyth') => journal().note({ feed, source: 'pyth', table })
  const find = (time: number, tokens: readonly ('SOL' | 'NATIVE')[] = ['SOL'], feed = 'prices/pyth') =>
    journal().find({ feed, time, tokens })
  /** Each a second after the one before, from the start on. */
  const tell = async (...entries: readonly (readonly [RateTable, string?])[]): Promise<void> => {
    for (const [table, feed] of entries) {
      await note(table, feed)
      desk.clock.advance(1_000)
    }
  }

  it('are unknown before the first', async () => {
    expect(await find(at(0))).toBeUndefined()
    expect(await find(at(0), [])).toBeUndefined()
  })

  it('hold from their moment on until the next, whenever they are asked for', async () => {
    await tell([low], [high], [low])
    const wanted = [
      [at(0), at(0), low],
      [at(1) - 1, at(0), low],
      [at(1), at(1), high],
      [at(2), at(2), low],
      [at(9_999), at(2), low],
    ] as const
    for (const [time, since, table] of wanted)
      expect(await find(time)).toEqual({ feed: 'prices/pyth', source: 'pyth', at: since, table })
  })

  it('are written down only where they have changed', async () => {
    await tell([low], [low], [low], [high])
    expect((await find(at(2)))?.at).toBe(at(0))
    expect((await find(at(3)))?.at).toBe(at(3))
  })

  it('keep the last of those that changed within a millisecond', async () => {
    await note(low)
    await note(high)
    expect((await find(at(0)))?.table).toEqual(high)
  })

  it('that lack a token give way to the first after them that have it, and to no other feed', async () => {
    await tell([high, 'prices/jupiter'], [off], [off, 'prices/jupiter'], [low])
    expect((await find(at(1)))?.at).toBe(at(3))
    expect((await find(at(1), []))?.at).toBe(at(1))
    expect((await find(at(1), ['NATIVE']))?.at).toBe(at(1))
  })

  it('of a feed that came later are those of the feed before it, of the same use', async () => {
    await tell([low, 'prices/fixed-1'], [off, 'rewards/fixed-2'], [high, 'prices/fixed-3'])
    expect((await find(at(1), ['SOL'], 'prices/fixed-3'))?.feed).toBe('prices/fixed-1')
    expect((await find(at(2), ['SOL'], 'prices/fixed-3'))?.feed).toBe('prices/fixed-3')
    expect((await find(at(2), ['SOL'], 'prices/fixed-1'))?.feed).toBe('prices/fixed-1')
    expect((await find(at(-1), ['SOL'], 'prices/fixed-3'))?.feed).toBe('prices/fixed-1')
    expect((await find(at(-1), ['NATIVE'], 'prices/fixed-3'))?.feed).toBe('prices/fixed-3')
    expect(await find(at(9), ['SOL'], 'rewards/fixed-9')).toBeUndefined()
  })

  it('are forgotten when no payment of their time can come any more, but for those in force until then', async () => {
    await tell([low], [high], [low, 'prices/gone'])
    desk.clock.advance(ratesKeptMs)
    await tell([low])
    expect((await find(at(0)))?.at).toBe(at(1))
    expect((await find(at(1)))?.table).toEqual(high)
    expect((await find(at(2), ['SOL'], 'prices/gone'))?.table).toEqual(low)
  })

  it('T246: outlive a clock that is far ahead for a moment, except the oldest', async () => {
    const tables = Array.from({ length: 40 }, (_, index): RateTable => ({ USDC: '1', SOL: `${100 + index}` }))
    await tell(...tables.map((table): [RateTable] => [table]))
    desk.clock.advance(400 * 86_400_000)
    await tell([low], [high])
    desk.clock.advance(-400 * 86_400_000)
    for (const [index, table] of tables.entries()) {
      if (index >= 20) expect(await find(at(index))).toMatchObject({ at: at(index), table })
    }
  })

  it('T62: of a payment that lands again are those of its new block', async () => {
    const first = createPayment({ token: 'SOL', worth: 5n })
    await desk.ledger.take(takeOf(first))
    await desk.journal().conclude([{ tx: first.tx, finality: 'reverted' }])
    const decimals = { SOL: 9, USDC: 6 }
    const rates = { table: high, source: 'pyth', feed: 'prices/pyth', at: at(1), decimals }
    const again = { ...first, finality: 'finalized' as const, slot: 9, paidAt: at(2), worth: 7n, rates }
    expect(await desk.kindOf(takeOf(again))).not.toBe('unknown')
    expect(await desk.books().findPayment(first.tx)).toMatchObject({ at: at(2), worth: 7n })
    expect(await desk.books().sums({})).toMatchObject([{ token: 'SOL', worth: 7n }])
    expect(await desk.books().audit()).toEqual([])
    // 10,000 lamports at 200 USDC: what was frozen is what is reckoned with.
    await desk.books().rebuild('USDC')
    expect((await desk.books().findPayment(first.tx))?.worth).toBe(2_000_000_000n)
  })
})

describe.each(places)('a %s ledger that is opened again', (_name, make) => {
  it('has the rates', async () => {
    const place = await make()
    const ledger = await place.open()
    await ledger.rates.note({ feed: 'prices/pyth', source: 'pyth', table: low })
    await ledger.close()
    const again = await place.open()
    const found = await again.rates.find({ feed: 'prices/pyth', time: startOfTests, tokens: ['SOL'] })
    expect(found).toEqual({ feed: 'prices/pyth', source: 'pyth', at: startOfTests, table: low })
  })
})
