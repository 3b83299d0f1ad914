/** Servers with slices of bundles, killed under load. `npm run torture -- --slices` does the same. */
import { expect, it } from 'vitest'
import { runScript } from './script.ts'

const kills = 6
const bought = 800
const largestSlice = Math.min(64, Math.floor(bought / 16))

const runs: readonly (readonly [name: string, seed: number, flags: readonly string[]])[] = [
  ['a file', 1, ['--sqlite']],
  ['one database', 2, []],
  ['a file', 3, ['--sqlite']],
  ['one database', 4, []],
]

interface Bundle {
  readonly served: number
  /** The uses of each slice that its server did not return. */
  readonly slices: readonly number[]
  /** The uses that a dead server had taken alone. They go back to the payer. */
  readonly singles: number
}

it.each(runs)(
  'T195: two servers on %s are killed with slices: a bundle is served as bought, and at most three slices more (seed %i)',
  async (_name, seed, flags) => {
    const sizes = ['--kills', kills, '--uses', bought, '--seed', seed].map(String)
    const tally = await runScript('./slices.mjs', ...sizes, ...flags)
    const spent = { returned: 3, state: 'spent', remaining: 0, held: 0 }
    expect(tally).toMatchObject({ misbooked: 0, bundles: [spent, spent] })
    const [first, second] = tally['bundles'] as readonly [Bundle, Bundle]
    expect(first.slices.length).toBeGreaterThanOrEqual(3)
    expect(second.slices.length).toBeGreaterThanOrEqual(kills)
    for (const { served, slices, singles } of [first, second]) {
      const ordered = slices.toSorted((one, other) => other - one)
      expect(ordered[0]).toBeLessThanOrEqual(largestSlice)
      expect(served).toBeLessThanOrEqual(bought + sum(ordered.slice(0, 3)) + singles)
      // Without a fourth lost slice, the payer loses nothing.
      expect(served).toBeGreaterThanOrEqual(bought - sum(ordered.slice(0, -3)))
    }
  },
)

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
