/** Unmodified clients of x402 and MPP buy from servers that are killed. `npm run torture -- --foreign` does it for longer. */
import { expect, it } from 'vitest'
import { cells, size } from '../harness/length.ts'
import { runScript } from './script.ts'

const kills = size(2, 12)
const least = size(3, 40)

const places: readonly (readonly [name: string, flags: readonly string[]])[] = [
  ['a file', ['--sqlite']],
  ['one database', []],
]

it.each(cells(places, 2))(
  'three servers on %s are killed: each payment is served once, no thief is, and the sponsor pays the recorded fees',
  async (_name, flags) => {
    const sizes = ['--seconds', String(size(1, 10)), '--kills', String(kills), '--least', String(least)]
    const tally = await runScript('./foreign.mjs', ...sizes, ...flags)
    expect(tally).toMatchObject({ doubles: 0, losses: 0, unserved: 0, forgotten: 0 })
    expect(tally).toMatchObject({ thefts: 0, misbooked: 0, feeDifference: 0 })
    expect(tally['kills']).toBeGreaterThanOrEqual(kills)
    expect(tally['payments']).toBeGreaterThanOrEqual(least)
  },
  size(90_000, 540_000),
)
