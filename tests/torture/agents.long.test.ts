/** Real agents, killed while they pay. `npm run torture -- --agents` buys 300 resources and kills 60. */
import { expect, it } from 'vitest'
import { runScript } from './script.ts'

const kills = 8

it('T159, T172: agents are killed behind a hostile node, and every resource is paid for once and served', async () => {
  const tally = await runScript('./agents.mjs', '--purchases', '30', '--kills', String(kills), '--sqlite')
  expect(tally).toMatchObject({ isDone: true, doubles: 0, forgotten: 0 })
  expect(tally['kills']).toBeGreaterThanOrEqual(kills)
  // A fork may take back a payment that was delivered.
  expect(tally['payments']).toBeGreaterThan(0)
})
