/** Real workers, killed while they pay. `npm run torture -- --payouts` does it 500 times. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { size } from '../harness/length.ts'

const cycles = size(5, 20)
const script = fileURLToPath(new URL('./payouts.mjs', import.meta.url))

it.each([
  ['one database', ['--postgres']],
  ['one file', ['--sqlite']],
])(
  'T147, T148, T149, T150: two workers on %s are killed behind a hostile node, and everybody is paid once',
  async (_name, flags) => {
    const args = [script, '--json', '--cycles', String(cycles), '--payers', '12', ...flags]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const tally = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    expect(tally).toMatchObject({ isDone: true, doubles: 0, forgotten: 0, misbooked: 0, kills: cycles })
    expect(tally.transactions).toBeGreaterThan(0)
    expect(tally.payouts).toBeGreaterThan(size(1, 4))
  },
  120_000,
)
