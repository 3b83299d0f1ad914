/** Verified developers on every store: what is written is what holds, whoever writes at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isNamed } from '../../src/api/developers/developers.ts'
import { createDeveloperBook } from '../../src/api/developers/registry.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { startDeveloperChecks } from '../../src/workers/developers.ts'
import { type Shelf, stores } from '../ledger/stores.ts'
import { type Host, openHost, origin, setUpDevelopers } from './developer-fixture.ts'
import { createHandClock } from './fake-services.ts'
import { createPerson } from './people.ts'

const dayMs = 86_400_000
const [one, other] = [createPerson(), createPerson()]

describe.each(stores)('on %s', (_name, open) => {
  let store: Shelf
  let host: Host
  const clock = createHandClock()
  const partsOf = ({ rewards, kv }: Ledger) => {
    if (!rewards || !kv) throw new Error('the ledger keeps no rewards')
    return { rewards, kv, clock }
  }

  beforeEach(async () => {
    store = await open(clock)
    host = await openHost([one, other].map(({ address }) => ({ wallet: address, service: origin })))
  })
  afterEach(async () => {
    host.close()
    await store.clear()
  })

  it('a host is verified, verified anew, revoked, and looked at', async () => {
    const { kv } = partsOf(store.ledger)
    const book = createDeveloperBook(partsOf(store.ledger))
    const fixture = setUpDevelopers([host.name], { book, kv, clock })
    const checks = startDeveloperChecks({
      ...fixture.parts,
      kv,
      isNamed: (reading, wallet) => isNamed(reading, wallet, fixture.parts),
    })
    const register = (person: typeof one) =>
      fixture.register(person, host.name, {
        said: { issuedAt: clock.now() },
        sent: { issuedAt: new Date(clock.now()).toISOString() },
      })
    const wallets = async () => (await book.all()).map(({ wallet }) => wallet)
    expect((await register(one)).status).toBe(200)
    expect(await wallets()).toEqual([one.address])
    clock.pass(1_000)
    expect((await register(other)).status).toBe(200)
    expect(await wallets()).toEqual([other.address])
    clock.pass(20 * dayMs)
    await checks.run()
    expect((await book.current(host.name))?.until).toBe(clock.now() + 30 * dayMs)
    host.say([])
    for (let day = 0; day < 3; day += 1) {
      clock.pass(dayMs)
      expect(await wallets()).toEqual([other.address])
      await checks.run()
    }
    expect(await wallets()).toEqual([])
    await checks.stop()
    await fixture.close()
  })

  it('of many parallel changes of a host, the last verification holds', async () => {
    const books = Array.from({ length: 4 }, () => createDeveloperBook(partsOf(store.ledger)))
    await books[0]?.assign(host.name, one.address)
    clock.pass(1)
    await Promise.all(
      books.flatMap((book, index) => [
        book.prolong(host.name, one.address),
        index === 2 ? book.assign(host.name, other.address) : book.end(host.name, one.address),
      ]),
    )
    expect((await books[0]?.current(host.name))?.wallet).toBe(other.address)
    const rows = await partsOf(store.ledger).rewards.verifications(host.name)
    for (const [index, row] of rows.entries()) expect(rows[index - 1]?.until ?? 0).toBeLessThanOrEqual(row.from)
  })
})
