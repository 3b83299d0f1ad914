import { expect, it } from 'vitest'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { loadLitesvm, loadStore } from './binaries.ts'

const machine = `${process.platform}-${process.arch}`
const elsewhere = "use network: 'devnet', or a localnet on another machine as rpc"
const fail = () => Promise.reject(new Error('Cannot find native binding. npm has a bug.'))

it('names litesvm and an alternative where it has no binary', async () => {
  await expect(loadLitesvm(fail)).rejects.toEqual(
    new ConfigurationError([
      `the localnet needs litesvm, but its binary does not load on ${machine} (Cannot find native binding); ` +
        `install it with npm's optional dependencies, or ${elsewhere}`,
    ]),
  )
})

it('names SQLite and an alternative where it has no binary', async () => {
  await expect(loadStore(fail)).rejects.toEqual(
    new ConfigurationError([
      `the localnet needs @photostructure/sqlite, but its binary does not load on ${machine} (Cannot find native binding); ${elsewhere}`,
    ]),
  )
})
