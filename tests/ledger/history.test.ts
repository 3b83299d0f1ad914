/** Processes with eight clients each on one ledger: all they were told is what one register would have said. */
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { postgresServer } from '../harness/database.ts'
import { cells, size } from '../harness/length.ts'
import { playHistory } from './replicas.ts'
import { createFolder } from './stores.ts'

const crowd = { replicas: size(2, 4), clients: 8 }
const calls = size(1_200, 100_000)

async function database(): Promise<string> {
  return postgresServer().place()
}

async function file(): Promise<string> {
  const folder = createFolder()
  onTestFinished(folder.remove)
  return join(folder.path, 'ledger.db')
}

/** Every answer that there is, so that a run in which one was never given proves nothing. */
const answers = [
  ...['granted', 'busy', 'spent', 'foreign', 'unknown'].map((answer) => `take ${answer}`),
  ...['open', 'busy', 'spent', 'unknown'].map((answer) => `peek ${answer}`),
  ...['renew', 'end'].flatMap((act) => [`${act} true`, `${act} false`]),
  ...['advance advanced', 'advance false', 'report reported', 'report false'],
]

const faults = ['checks, then takes', 'shows what was', 'ends for anybody']

describe.each([
  ['a database', database, ['writes over', ...faults]],
  ['a file', file, [...faults, 'adds up what was used']],
])('processes on %s', (_name, newPlace, ownFaults) => {
  it(`T92, T113, T121: make a linearizable history of ${calls} calls`, async () => {
    const account = await playHistory({ ...crowd, calls, place: await newPlace() })
    expect(account.anomalies.slice(0, 2)).toEqual([])
    expect(account.calls).toBeGreaterThanOrEqual(calls)
    expect(account.overlaps).toBeGreaterThan(calls / 2)
    for (const answer of answers) expect([answer, account.answers[answer]]).toEqual([answer, expect.any(Number)])
    expect(account.answers['take granted']).toBeGreaterThan(calls / 50)
  })

  it.each(cells(ownFaults, 4, ownFaults.indexOf('shows what was')))(
    'make one that is not, when their ledger %s',
    async (fault) => {
      const { anomalies } = await playHistory({
        ...crowd,
        fault,
        calls: 40_000,
        place: await newPlace(),
      })
      expect(anomalies.length).toBeGreaterThan(0)
      expect(anomalies[0]?.stuck.length).toBeGreaterThan(0)
    },
  )
})
