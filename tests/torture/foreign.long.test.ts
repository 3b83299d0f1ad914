/** Unmodified clients of x402 and MPP buy from servers that are killed. `npm run torture -- --foreign` does it for longer. */
import { expect, it } from 'vitest'
import { runScript } from './script.ts'

const kills = 6
const least = 24
const sizes = ['--seconds', 4, '--kills', kills, '--least', least, '--servers', 3, '--buyers', 3]

const places: readonly (readonly [name: string, flags: readonly string[]])[] = [
  ['a file', ['--sqlite']],
  ['one database', []],
]

it.each(places)(
  'servers on %s are killed: each payment is served once, no thief is, and the sponsor pays the recorded fees',
  async (_name, flags) => {
    const tally = await runScript('./foreign.mjs', ...sizes.map(String), ...flags)
    expect(tally).toMatchObject({ doubles: 0, losses: 0, unserved: 0, forgotten: 0 })
    expect(tally).toMatchObject({ thefts: 0, misbooked: 0, feeDifference: 0 })
    expect(tally['kills']).toBeGreaterThanOrEqual(kills)
    expect(tally['payments']).toBeGreaterThanOrEqual(least)
    expect(tally['attempts']).toBeGreaterThanOrEqual(least)
  },
)
