import { expect, it } from 'vitest'
import { usualRateLimits } from '../core/money/rate-feed.ts'
import type { RateTable } from '../core/money/rates.ts'
import type { RateJournal } from '../core/ports/journal.ts'
import type { Clock } from '../core/runtime.ts'
import { shareRates } from './rates.ts'

const clock: Clock = { now: () => 5_000, monotonic: () => 5_000 }

/** A journal that fails as long as it is told to, and answers the last entry. */
function createJournal() {
  const noted: { readonly feed: string; readonly table: RateTable }[] = []
  const state = { fails: false }
  const journal: RateJournal = {
    note: async ({ feed, table }) => {
      if (state.fails) throw new Error('the disk is full')
      noted.push({ feed, table })
    },
    find: async () => {
      const last = noted.at(-1)
      return last && { ...last, source: 'own', at: 1 }
    },
  }
  return { journal, noted, state }
}

function createShared(journal: RateJournal) {
  const warned: string[] = []
  const log = { info: () => {}, warn: (event: string) => void warned.push(event), error: () => {} }
  const get = async () => expect.fail('nobody is asked over the network')
  return { shared: shareRates({ get, clock, log, journal }), warned }
}

it('journals nothing of rates by which nothing is valued', async () => {
  const { journal, noted } = createJournal()
  const { shared } = createShared(journal)
  await shared.open({ kind: 'fixed', table: { USDC: '1' } }, {}).ready()
  await shared.stop()
  expect(noted).toEqual([])
})

it('writes a fixed table once, under one name for each use, and another table under another', async () => {
  const { journal, noted } = createJournal()
  const { shared } = createShared(journal)
  const [low, high] = [{ USDC: '1', SOL: '100' } as const, { SOL: '200', USDC: '1' } as const]
  for (const table of [low, high, { SOL: '100', USDC: '1' } as const]) shared.open({ kind: 'fixed', table }, {}).keep()
  shared.open({ kind: 'fixed', table: low }, {}, 'rewards').keep()
  await expect.poll(() => noted.length).toBe(3)
  await shared.stop()
  expect(noted.map(({ table }) => table)).toEqual([low, high, low])
  const [first, second, third] = noted.map(({ feed }) => feed)
  expect(first).toMatch(/^prices\/fixed-/)
  expect(second).not.toBe(first)
  expect(third).toBe(first?.replace('prices', 'rewards'))
})

it('logs failures before the first success, and every change of a source', async () => {
  const { journal, noted, state } = createJournal()
  const { shared, warned } = createShared(journal)
  state.fails = true
  const source = { read: async () => [{ token: 'SOL' as const, rate: '100' }] }
  const rates = shared.open({ kind: 'own', source, limits: usualRateLimits }, {})
  rates.keep()
  await expect.poll(() => warned).toContain('rates.unjournaled')
  await expect(rates.find(1, ['SOL'])).rejects.toThrow('the disk is full')
  state.fails = false
  expect(await rates.find(1, ['SOL'])).toMatchObject({ feed: 'prices/own', table: { USDC: '1', SOL: '100' } })
  expect(noted).toEqual([{ feed: 'prices/own', table: { USDC: '1', SOL: '100' } }])
  await shared.stop()
})
