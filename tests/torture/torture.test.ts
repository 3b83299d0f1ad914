/** Real servers, killed under load. `npm run torture -- --seconds 60` does it for longer. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { size } from '../harness/length.ts'

const script = fileURLToPath(new URL('./run.mjs', import.meta.url))

it.each([
  ['four servers on one database', []],
  ['one server on a file', ['--sqlite']],
])(
  'T115, T116: %s are killed under load, and every payment is served, once',
  async (_name, flags) => {
    const args = [script, '--json', '--seconds', String(size(2, 5)), '--least', '5', ...flags]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const tally = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    expect(tally).toMatchObject({ doubles: 0, losses: 0, unservable: 0, misbooked: 0 })
    expect(tally.serverKills).toBeGreaterThan(size(0, 2))
    expect(tally.payments).toBeGreaterThanOrEqual(5)
  },
  90_000,
)
