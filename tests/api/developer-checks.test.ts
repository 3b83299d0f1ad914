/** The daily look at hosts: what it ends, what it lets go on, and what it leaves alone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSites } from '../../src/api/auth/origins.ts'
import { isNamed } from '../../src/api/developers/developers.ts'
import { type DeveloperCheckParts, startDeveloperChecks } from '../../src/workers/developers.ts'
import { type Host, openHost, origin, setUpDevelopers } from './developer-fixture.ts'
import { createPerson } from './people.ts'

const dayMs = 86_400_000
const developer = createPerson()
const right = { wallet: developer.address, service: origin }
const about = { id: 'weather', sites: createSites(origin) }
let host: Host
let fixture: ReturnType<typeof setUpDevelopers>
const begun: ReturnType<typeof startDeveloperChecks>[] = []

beforeEach(async () => {
  host = await openHost(right)
  fixture = setUpDevelopers([host.name])
  await fixture.register(developer, host.name)
  host.asked.length = 0
})
afterEach(async () => {
  for (const checks of begun.splice(0)) await checks.stop()
  host.close()
  await fixture.close()
})

function begin(more: Partial<DeveloperCheckParts> = {}) {
  const checks = startDeveloperChecks({
    ...fixture.parts,
    kv: fixture.kv,
    isNamed: (reading, wallet) => isNamed(reading, wallet, about),
    ...more,
  })
  begun.push(checks)
  return checks
}
const held = () => fixture.book.current(host.name)

describe('a look at the hosts', () => {
  it('is made once a day, by one server', async () => {
    const servers = [begin(), begin(), begin()]
    await Promise.all(servers.map((one) => one.run()))
    await Promise.all(servers.map((one) => one.run()))
    fixture.clock.pass(3_600_000)
    await Promise.all(servers.map((one) => one.run()))
    expect(host.asked).toHaveLength(1)
    fixture.clock.pass(dayMs)
    await Promise.all(servers.map((one) => one.run()))
    expect(host.asked).toHaveLength(2)
  })

  it('lets a verification go on for as long as the document names the wallet', async () => {
    const checks = begin()
    for (let day = 0; day < 100; day += 1) {
      fixture.clock.pass(dayMs)
      await checks.run()
      expect((await held())?.wallet).toBe(developer.address)
    }
    // Not a row for every day, and no moment between two of them.
    const { rows } = fixture.ledger
    expect(rows.length).toBeLessThan(10)
    for (const [index, row] of rows.entries()) if (index > 0) expect(rows[index - 1]?.until).toBe(row.from)
  })

  it.each<[string, (host: Host) => void]>([
    ['does not name the wallet any more', (one) => one.say([])],
    ['names it for another service', (one) => one.say({ ...right, service: 'https://evil.example' })],
    ['is gone', (one) => one.answer((_request, response) => void response.writeHead(404).end())],
    ['leads elsewhere', (one) => one.answer((_request, response) => void response.writeHead(302).end())],
  ])('ends it on the third day on which the document %s', async (_what, change) => {
    change(host)
    const checks = begin()
    const days: boolean[] = []
    for (let day = 0; day < 4; day += 1) {
      for (let time = 0; time < 3; time += 1) await checks.run()
      days.push((await held()) !== undefined)
      fixture.clock.pass(dayMs)
    }
    expect(days).toEqual([true, true, false, false])
    expect(fixture.ledger.rows).toEqual([expect.objectContaining({ isRevoked: true })])
    expect(host.asked).toHaveLength(3)
  })

  it('counts days in a row: a document that comes back in time is forgiven', async () => {
    const checks = begin()
    for (const document of [[], [], right, [], [], right, [], []]) {
      host.say(document)
      await checks.run()
      fixture.clock.pass(dayMs)
    }
    expect((await held())?.wallet).toBe(developer.address)
  })

  it('ignores failures before a renewed verification', async () => {
    const checks = begin()
    host.say([])
    for (let day = 0; day < 2; day += 1) {
      await checks.run()
      fixture.clock.pass(dayMs)
    }
    host.say(right)
    expect((await fixture.register(developer, host.name)).status).toBe(200)
    fixture.clock.pass(1_000)
    host.say([])
    await checks.run()
    expect((await held())?.wallet).toBe(developer.address)
  })

  it('never ends one for trouble with the network alone: then its time runs out', async () => {
    const checks = begin()
    const troubles: ((one: Host) => void)[] = [
      (one) => one.answer((_request, response) => void response.writeHead(503).end()),
      (one) => one.answer((request) => request.socket.destroy()),
      (one) => one.answer((_request, response) => void response.writeHead(403).end()),
    ]
    for (let day = 0; day < 29; day += 1) {
      troubles[day % troubles.length]?.(host)
      await checks.run()
      expect((await held())?.wallet).toBe(developer.address)
      fixture.clock.pass(dayMs)
    }
    fixture.clock.pass(dayMs)
    expect(await held()).toBeUndefined()
    expect(fixture.ledger.rows).toEqual([expect.objectContaining({ isRevoked: false })])
  })

  it('comes again the same day to a host that could not be asked', async () => {
    const checks = begin()
    host.answer((_request, response) => void response.writeHead(503).end())
    await checks.run()
    await checks.run()
    expect(host.asked).toHaveLength(1)
    fixture.clock.pass(600_000)
    await checks.run()
    expect(host.asked).toHaveLength(2)
  })

  it('asks no host that the rules name no more', async () => {
    await begin({ hosts: () => [] }).run()
    expect(host.asked).toEqual([])
  })

  it('ignores a host that another developer has taken over', async () => {
    const other = createPerson()
    host.say([])
    let day = 0
    const checks = begin({
      readDocument: async () => {
        day += 1
        // While the host is being asked on the third day, another is verified.
        if (day === 3) await fixture.book.assign(host.name, other.address)
        return { kind: 'unusable', why: 'it does not exist (404)' }
      },
    })
    for (let time = 0; time < 3; time += 1) {
      await checks.run()
      fixture.clock.pass(dayMs)
    }
    expect((await held())?.wallet).toBe(other.address)
  })

  it('goes on after a ledger that was away', async () => {
    let isAway = true
    const checks = begin({
      book: {
        ...fixture.book,
        all: async () => {
          if (isAway) throw new Error('away')
          return fixture.book.all()
        },
      },
    })
    await checks.run()
    expect(fixture.logged).toContainEqual({ event: 'developers.failed', why: 'away' })
    isAway = false
    await checks.run()
    expect(host.asked).toHaveLength(1)
  })
})
