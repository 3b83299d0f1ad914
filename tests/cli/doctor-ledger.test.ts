/** The doctor and the ledger, which it looks at and never touches. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRpc } from '../../src/chain/rpc/rpc.ts'
import { checkClock } from '../../src/cli/doctor/clock.ts'
import { genesisHashes } from '../../src/core/money/tokens.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { startPostgres } from '../harness/postgres.mjs'
import {
  broken,
  directory,
  examine,
  makeLedger,
  node,
  own,
  settings,
  troubles,
  useDoctorFixture,
  world,
  write,
} from './doctor-fixture.ts'

useDoctorFixture()

describe('the ledger', () => {
  it('the ledger belongs to another secret, to another network, or to another program', async () => {
    const path = join(directory, 'ledger.sqlite')
    await makeLedger(path, { secret: `1:${'x'.repeat(40)}` })
    expect(await broken(settings(own()))).toMatch(
      /fail ledger: .* created with another root secret \(fingerprint .*\) → set PAYSTILE_SECRET to the keyring that created it, or start with a new ledger/,
    )
    const other = join(directory, 'other.sqlite')
    await makeLedger(other, { network: 'mainnet' })
    expect(await broken(settings({ ...own(), ledger: other }))).toMatch(
      /holds payments of mainnet, not of devnet → use one ledger per network/,
    )
    const { DatabaseSync } = await import('@photostructure/sqlite')
    const foreign = join(directory, 'foreign.sqlite')
    const db = new DatabaseSync(foreign)
    db.exec('CREATE TABLE mine (a)')
    db.close()
    expect(await broken(settings({ ...own(), ledger: foreign }))).toMatch(
      /database of another program → use a separate file/,
    )
  })

  it('the ledger is no database, is damaged, is a directory, or has no place', async () => {
    const path = join(directory, 'ledger.sqlite')
    writeFileSync(path, 'not a database at all, but long enough to be looked at')
    expect(await broken(settings(own()))).toMatch(/fail ledger: .*not a SQLite database, or is damaged/)
    const damaged = join(directory, 'damaged.sqlite')
    await makeLedger(damaged)
    const bytes = readFileSync(damaged)
    bytes.fill(0xff, 4096 * 2, 4096 * 4)
    writeFileSync(damaged, bytes)
    expect(await broken(settings({ ...own(), ledger: damaged }))).toMatch(
      /damaged.* → (stop the service and )?restore it/,
    )
    expect(await broken(settings({ ...own(), ledger: directory }))).toMatch(/is a directory → choose a file inside it/)
    const nowhere = join(directory, 'no', 'where.sqlite')
    expect(await broken(settings({ ...own(), ledger: nowhere }))).toMatch(
      /cannot be created → create the directory .*no, or choose another/,
    )
    mkdirSync(join(directory, 'no'))
    expect(troubles(await examine(write(settings({ ...own(), ledger: nowhere }))))).toEqual([])
  })
})

describe('PostgreSQL', () => {
  it('is inspected in the same way: creator, content and clock', async () => {
    const server = await startPostgres()
    const [url, other] = [await server.place(), await server.place()]
    try {
      const config = { mints: { USDC: world.usdc.address }, ledger: url }
      const fresh = await examine(write(settings(config)))
      expect(troubles(fresh)).toEqual([])
      expect(fresh.text).toContain('will be created at the first start')
      expect(await server.sql("SELECT to_regclass('paystile_meta') AS made", new URL(url).pathname.slice(1))).toEqual([
        { made: null },
      ])
      await makeLedger(url)
      const made = await examine(write(settings(config)))
      expect(troubles(made)).toEqual([])
      expect(made.text).toContain('matches the chain and the secret')
      await makeLedger(other, { secret: `1:${'x'.repeat(40)}` })
      expect(await broken(settings({ ...config, ledger: other }))).toMatch(/created with another root secret/)
      await server.kill()
      await server.start(['-c', 'fsync=off'])
      expect(await broken(settings(config))).toMatch(
        /fail ledger: .* runs with fsync=off and could lose payments → set fsync=on/,
      )
    } finally {
      await server.close()
    }
    expect(await broken(settings({ mints: { USDC: world.usdc.address }, ledger: url }))).toMatch(
      /fail ledger: The ledger .* cannot be used at the moment: .* → start the database/,
    )
  })

  it('T168: a clock of the database that is off is told, against the chain and against this machine', async () => {
    const { rpc, ground } = { rpc: node.url, ground: createHttpTransport() }
    const nodes = createRpc({ urls: [rpc], transport: ground.transport })
    const at = (aheadMs: number) => checkClock('devnet', { rpc: nodes, genesis: genesisHashes.devnet }, aheadMs)
    expect((await at(100)).map(({ level }) => level)).toEqual(['ok'])
    const off = await at(600_000)
    expect(off.map(({ level, finding }) => `${level} ${finding}`)).toEqual([
      expect.stringMatching(/^fail the database's clock is [\d.]+ s ahead of the chain, so nothing would be sold/),
      expect.stringMatching(/^warn the database's clock is 600\.0 s ahead of this machine's/),
    ])
    nodes.close()
    await ground.close()
  })
})
