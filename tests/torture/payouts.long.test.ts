/** Real workers, killed while they pay. `npm run torture -- --payouts` does it 500 times. */
import { expect, it } from 'vitest'
import { runScript } from './script.ts'

const cycles = 8

const places: readonly (readonly [name: string, flag: string])[] = [
  ['one database', '--postgres'],
  ['one file', '--sqlite'],
]

it.each(places)(
  'T147, T148, T149, T150, T172: two workers on %s are killed behind a hostile node, and everybody is paid once',
  async (_name, flag) => {
    const tally = await runScript('./payouts.mjs', '--cycles', String(cycles), '--payers', '12', flag)
    expect(tally).toMatchObject({ isDone: true, doubles: 0, forgotten: 0, misbooked: 0, kills: cycles })
    expect(tally['transactions']).toBeGreaterThan(0)
    expect(tally['payouts']).toBeGreaterThan(4)
  },
)
