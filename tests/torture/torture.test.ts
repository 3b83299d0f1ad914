/** Real servers, killed under load. `npm run torture -- --seconds 60` does it for longer. */
import { expect, it } from 'vitest'
import { cells, size } from '../harness/length.ts'
import { runScript } from './script.ts'

const kills = String(size(1, 3))

const places: readonly (readonly [name: string, flags: readonly string[]])[] = [
  ['four servers on one database', []],
  ['one server on a file', ['--sqlite']],
]

it.each(cells(places, 2, 1))(
  'T115, T116: %s are killed under load, and every payment is served, once',
  async (_name, flags) => {
    const tally = await runScript(
      './run.mjs',
      '--seconds',
      String(size(2, 5)),
      '--least',
      '5',
      '--kills',
      kills,
      ...flags,
    )
    expect(tally).toMatchObject({ doubles: 0, losses: 0, unservable: 0, misbooked: 0 })
    expect(tally['serverKills']).toBeGreaterThanOrEqual(Number(kills))
    expect(tally['payments']).toBeGreaterThanOrEqual(5)
  },
)
