/** Unmodified clients of x402 and MPP buy from servers that are killed. `npm run torture -- --foreign` does it for longer. */
import { expect, it } from 'vitest'
import { cells, size } from '../harness/length.ts'
import { runScript } from './script.ts'

const kills = size(1, 12)
const least = size(2, 40)
const sizes = [
  '--seconds',
  size(0, 10),
  '--kills',
  kills,
  '--least',
  least,
  '--servers',
  size(2, 3),
  '--buyers',
  size(1, 3),
]

const places: readonly (readonly [name: string, flags: readonly string[]])[] = [
  ['a file', ['--sqlite']],
  ['one database', []],
]

it.each(cells(places, 2))(
  'servers on %s are killed: each payment is served once, no thief is, and the sponsor pays the recorded fees',
  async (_name, flags) => {
    const tally = await runScript('./foreign.mjs', ...sizes.map(String), ...flags)
    expect(tally).toMatchObject({ doubles: 0, losses: 0, unserved: 0, forgotten: 0 })
    expect(tally).toMatchObject({ thefts: 0, misbooked: 0, feeDifference: 0 })
    expect(tally['kills']).toBeGreaterThanOrEqual(kills)
    expect(tally['payments']).toBeGreaterThanOrEqual(least)
    expect(tally['attempts']).toBeGreaterThanOrEqual(size(0, least))
  },
)
