/** Thousands of stories about one promise: at most one access per payment, and never a payment without access. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { size } from '../harness/length.ts'
import { play, type Story } from './claims.ts'
import type { Schedule } from './schedule.ts'
import { type CreateStore, checksThenInserts, releasesWithoutFence, sound } from './stores.ts'

/** `PAYSTILE_SEEDS=100000` for more; `PAYSTILE_SEED=17` to see one again. */
const seeds = Number(process.env['PAYSTILE_SEEDS'] ?? size(150, 5_000))
const only = process.env['PAYSTILE_SEED']

const install = ({ timers }: Schedule): void => {
  vi.stubGlobal('setTimeout', timers.setTimeout)
  vi.stubGlobal('clearTimeout', timers.clearTimeout)
}
afterEach(() => {
  vi.unstubAllGlobals()
})

async function firstBroken(store: CreateStore): Promise<{ seed: number; story: Story } | undefined> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const story = await play(seed, store, install)
    if (story.violations.length > 0) return { seed, story }
  }
  return undefined
}

describe('the claim protocol', () => {
  it('keeps its promise in every story', async () => {
    const sum = { grants: 0, deaths: 0, served: 0 }
    for (const seed of only === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [Number(only)]) {
      const story = await play(seed, sound, install)
      expect(story.violations, `replay with PAYSTILE_SEED=${seed}`).toEqual([])
      for (const fact of ['grants', 'deaths', 'served'] as const) sum[fact] += story[fact]
    }
    // Stories in which nothing happens prove nothing.
    expect(sum.grants).toBeGreaterThan(sum.served)
    expect(sum.deaths).toBeGreaterThan(0)
  })

  it('tells the same story for the same seed', async () => {
    for (const seed of [1, 2, 3]) expect(await play(seed, sound, install)).toEqual(await play(seed, sound, install))
  })

  it.each<[string, CreateStore]>([
    ['looks before it writes', checksThenInserts],
    ['ends grants without looking at the fence', releasesWithoutFence],
  ])('a store that %s is caught', async (_name, store) => {
    const broken = await firstBroken(store)
    expect(broken?.story.violations).not.toEqual([])
    expect(broken?.seed).toBeLessThan(seeds)
  })
})
