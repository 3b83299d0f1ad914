/** Thousands of stories about one promise: what is owed is paid once, whatever fails. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { OutgoingTransactions } from '../../src/core/payouts/ports/outgoing.ts'
import { size } from '../harness/length.ts'
import { type Flaws, type PayoutStory, playPayouts } from './payouts.ts'
import type { Schedule } from './schedule.ts'
import { type CreateStore, sound } from './stores.ts'

/** `PAYSTILE_SEEDS=100000` for more; `PAYSTILE_SEED=17` to see one again. */
const seeds = Number(process.env['PAYSTILE_SEEDS'] ?? size(15, 200))
const only = process.env['PAYSTILE_SEED']

const install = ({ timers }: Schedule): void => {
  vi.stubGlobal('setTimeout', timers.setTimeout)
  vi.stubGlobal('clearTimeout', timers.clearTimeout)
}
afterEach(() => {
  vi.unstubAllGlobals()
})

/** A store whose dispatches are broken in one place. */
const broken =
  (change: (outgoing: OutgoingTransactions) => Partial<OutgoingTransactions>): CreateStore =>
  (schedule) => {
    const ledger = sound(schedule)
    const { outgoing } = ledger
    return outgoing ? { ...ledger, outgoing: { ...outgoing, ...change(outgoing) } } : ledger
  }

describe('money out', () => {
  it('T147, T149, T150: pays the owed amounts once in every run', async () => {
    const sum = { landed: 0, failed: 0, signed: 0, deaths: 0 }
    let longest = 0
    for (const seed of only === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [Number(only)]) {
      const story = await playPayouts(seed, sound, install)
      expect(story.violations, `replay with PAYSTILE_SEED=${seed}`).toEqual([])
      for (const fact of ['landed', 'failed', 'signed', 'deaths'] as const) sum[fact] += story[fact]
      longest = Math.max(longest, story.days)
    }
    // Stories in which nothing goes wrong prove nothing.
    expect(sum.signed).toBeGreaterThan(sum.landed)
    expect(sum.landed).toBeGreaterThan(0)
    expect(sum.failed).toBeGreaterThan(0)
    expect(sum.deaths).toBeGreaterThan(0)
    // Where little may go out in a day, somebody was paid in parts.
    expect(longest).toBeGreaterThan(3)
  })

  it('tells the same story for the same seed', async () => {
    for (const seed of [1, 2, 3]) {
      expect(await playPayouts(seed, sound, install)).toEqual(await playPayouts(seed, sound, install))
    }
  })

  it.each<readonly [string, CreateStore, Flaws]>([
    ['T148: nodes are believed that something will never land because nobody has seen it', sound, { isHasty: true }],
    ['what went out before is not counted', sound, { isCapForgotten: true }],
    [
      'signed bytes are replaced whatever the version',
      broken((outgoing) => ({
        sign: async (id, _version, ...signed) => {
          const now = await outgoing.get(id)
          if (now?.state === 'signed') await outgoing.unsign(id, now.version, '')
          const next = await outgoing.get(id)
          return outgoing.sign(id, next?.version ?? 0, ...signed)
        },
      })),
      {},
    ],
    [
      'what was given up is owed again although its bytes may land',
      broken((outgoing) => ({
        unsign: async (id, version, why) => {
          const next = await outgoing.unsign(id, version, why)
          return next && ((await outgoing.drop(id, next.version, why)) ?? next)
        },
        sign: async (id, version, ...signed) => {
          const kept = await outgoing.sign(id, version, ...signed)
          if (kept.kind === 'signed' && kept.transaction.attempts === 1)
            await outgoing.unsign(id, kept.transaction.version, 'too early')
          return kept
        },
      })),
      {},
    ],
  ])('is caught when %s', async (_what, store, flaws) => {
    let caught: PayoutStory | undefined
    for (let seed = 1; seed <= 300 && !caught; seed += 1) {
      const story = await playPayouts(seed, store, install, flaws)
      if (story.violations.length > 0) caught = story
    }
    expect(caught?.violations).not.toEqual([])
    expect(caught).toBeDefined()
  })
})
