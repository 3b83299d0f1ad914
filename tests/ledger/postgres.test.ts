/** What is special about PostgreSQL: databases that must not be used, many servers on one, and outages that pass. */
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { LedgerConfigurationError, type LedgerIdentity } from '../../src/ledger/identity.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { type Database, openDatabase } from '../../src/ledger/postgres/database.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/ledger.ts'
import { createRows } from '../../src/ledger/postgres/payments-and-grants.ts'
import { postgresServer } from '../harness/database.ts'
import { startPostgres } from '../harness/postgres.mjs'
import { eventually, standStill } from '../harness/shop.ts'
import { createWire } from '../harness/wire.ts'
import { granted } from './grants-fixture.ts'
import { planOf } from './payables-fixture.ts'
import { againOf, createPayment, createTestClock, identity, takeOf } from './payments.ts'

async function newPlace(): Promise<string> {
  return postgresServer().place()
}

async function open(url: string, who: LedgerIdentity = identity, clock = createTestClock()) {
  const ledger = await openPostgresLedger(url, { identity: who, clock, timeoutMs: 2_000 })
  onTestFinished(() => ledger.close())
  return ledger
}

const schemaOf = (url: string) => decodeURIComponent(url).split('search_path=')[1] ?? ''
/** The same place as another user. */
const as = (url: string, user: string) => url.replace('//postgres@', `//${user}@`)

describe('a database that must not be used', () => {
  type Case = [name: string, prepare: (url: string) => Promise<string>, why: RegExp, who?: LedgerIdentity]
  const made = async (url: string, who = identity) => {
    await (await openPostgresLedger(url, { identity: who, clock: createTestClock() })).close()
    return url
  }
  const sql = async (statement: string) => postgresServer().sql(statement)
  it.each<Case>([
    [
      'forgets what it has committed',
      async (url) => {
        await sql('CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET synchronous_commit = off')
        return as(url, 'hasty')
      },
      /runs with synchronous_commit=off and could lose payments: set synchronous_commit=on/,
    ],
    [
      'cannot be written to',
      async (url) => {
        await sql('CREATE ROLE reader SUPERUSER LOGIN; ALTER ROLE reader SET default_transaction_read_only = on')
        return as(url, 'reader')
      },
      /cannot be written to \(default_transaction_read_only=on\): set it off for this user and database/,
    ],
    [
      'T240: shows a transaction the state before its locks',
      async (url) => {
        const role = 'CREATE ROLE repeater SUPERUSER LOGIN; ALTER ROLE repeater'
        await sql(`${role} SET default_transaction_isolation = 'repeatable read'`)
        return as(url, 'repeater')
      },
      /default_transaction_isolation='repeatable read' and could both refund and serve a payment: set it to 'read committed'/,
    ],
    [
      'gives too few rights',
      async (url) => {
        await sql(`CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA ${schemaOf(url)} TO guest`)
        return as(url, 'guest')
      },
      /gives this user too few rights \(permission denied for schema .*\): grant it CREATE/,
    ],
    [
      'has no schema',
      async (url) => url.replace(/ledger_\w+$/, 'nowhere'),
      /has no schema for the tables: set search_path/,
    ],
    [
      'does not exist',
      async (url) => url.replace('/postgres?', '/nowhere?'),
      /does not exist on its server: create it/,
    ],
    ['does not know the user', async (url) => as(url, 'nobody'), /refuses this user/],
    [
      'is newer than the code',
      async (url) => {
        await made(url)
        await sql(`UPDATE ${schemaOf(url)}.paystile_meta SET value = '99' WHERE key = 'schema'`)
        return url
      },
      /newer paystile \(schema 99, this version supports 1\): run that version/,
    ],
    ['is of another network', made, /of localnet, not of mainnet/, { ...identity, network: 'mainnet' }],
    ['is of another root secret', made, /another root secret/, { ...identity, fingerprint: 'fingerprint-2' }],
    [
      'is of another chain',
      (url) => made(url, { ...identity, genesis: 'genesis-1' }),
      /another chain \(genesis hash genesis-1, not genesis-2\)/,
      { ...identity, genesis: 'genesis-2' },
    ],
    ['is no address', async () => 'postgres://[', /is not a PostgreSQL address: write postgres:\/\//],
  ])('%s: one sentence states the problem and the next step', async (_name, prepare, why, who = identity) => {
    const url = await prepare(await newPlace())
    const error: Error = await openPostgresLedger(url, { identity: who, timeoutMs: 2_000 }).then(
      () => expect.fail('it was opened'),
      (reason) => reason,
    )
    expect(error).toBeInstanceOf(LedgerConfigurationError)
    expect(error.message).toMatch(why)
    expect(error.message).toMatch(/^The ledger .*\.$/)
  })

  it('never shows its password', async () => {
    const url = (await newPlace()).replace('//postgres@', '//nobody:geheim@')
    await expect(open(url)).rejects.toThrow(expect.not.objectContaining({ message: expect.stringContaining('geheim') }))
    await expect(openLedger('mysql://nobody:geheim@host/db', { identity, clock: createTestClock() })).rejects.toThrow(
      /^(?!.*geheim)/,
    )
  })

  it('T120: of a server that does not wait for its disk is refused', async () => {
    const server = await startPostgres(['-c', 'fsync=off'])
    onTestFinished(server.close)
    await expect(open(await server.place())).rejects.toThrow(/runs with fsync=off and could lose payments/)
  })

  it('that may be written to but not changed in its shape is fine once it was made', async () => {
    const url = await newPlace()
    await made(url)
    const schema = schemaOf(url)
    await sql(`CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA ${schema} TO clerk;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO clerk`)
    expect((await (await open(as(url, 'clerk'))).take(takeOf(createPayment()))).kind).toBe('granted')
  })
})

describe('many servers on one database', () => {
  it('T92: may all start at once on an empty one', async () => {
    const url = await newPlace()
    const ledgers = await Promise.all(Array.from({ length: 8 }, () => open(url)))
    const payment = createPayment()
    const kinds = await Promise.all(ledgers.map(async (ledger) => (await ledger.take(takeOf(payment))).kind))
    expect(kinds.toSorted()).toEqual([...Array(7).fill('busy'), 'granted'])
  })

  it('T85: serve one payment once, however often it comes, and a lapsed grant settles nothing', async () => {
    const [url, clock] = [await newPlace(), createTestClock()]
    const [one, two] = [await open(url, identity, clock), await open(url, identity, clock)]
    const payment = createPayment()
    const first = granted(await one.take(takeOf(payment))).grant
    expect((await two.take(takeOf(payment))).kind).toBe('busy')
    clock.advance(1_001)
    const second = granted(await two.take(againOf(payment))).grant
    expect([await one.renew(first, 1_000), await one.end(first, 'delivered', 1n)]).toEqual([false, false])
    expect(await two.end(second, 'delivered', 1n)).toBe(true)
    expect((await one.take(againOf(payment))).kind).toBe('spent')
  })

  it('T169: do not lock each other out when they want the same payments in another order', async () => {
    const url = await newPlace()
    const [one, two] = [await open(url), await open(url)]
    const payments = Array.from({ length: 40 }, () => createPayment({ allowance: { unit: 'request', amount: 1_000n } }))
    const use = async (ledger: typeof one, order: typeof payments) => {
      for (let round = 0; round < 10; round += 1) {
        const taken = await Promise.all(order.map((payment) => ledger.take(takeOf(payment))))
        const ended = taken.map((one) => ledger.end(granted(one).grant, 'delivered', 1n))
        expect((await Promise.all(ended)).every(Boolean)).toBe(true)
      }
    }
    await Promise.all([use(one, payments), use(two, payments.toReversed())])
    for (const { tx } of payments) expect((await one.peek(tx))?.remaining).toBe(980n)
  })

  it.each(['read committed', 'serializable'])(
    'T240: refund a payment or serve it, in either order, with %s as the usual isolation',
    async (level) => {
      const place = await newPlace()
      const url = `${place}%20-c%20default_transaction_isolation%3D${level.replace(' ', '%5C%20')}`
      const [server, one, two] = [postgresServer(), await open(url), await open(url)]
      const waiting = (count: number) =>
        eventually(
          () =>
            server.sql(
              `SELECT FROM pg_locks WHERE NOT granted AND relation::regclass::text LIKE '${schemaOf(place)}.%'`,
            ),
          ({ length }) => length === count,
        )
      const other = openDatabase(place, 2_000)
      onTestFinished(other.close)
      const outcomes = async (held: string, first: 'refund' | 'take') => {
        const payment = createPayment()
        const plan = planOf({ kind: 'refund', lockKey: `refund/${first}`, voids: payment.tx })
        const calls = { refund: () => one.outgoing.plan(plan), take: () => two.take(takeOf(payment)) }
        const second = first === 'refund' ? 'take' : 'refund'
        const begun = await other.transact(async (query) => {
          await query(`LOCK TABLE ${held} MODE`)
          const earlier = calls[first]()
          await waiting(1)
          const later = calls[second]()
          await waiting(2)
          return [earlier, later]
        })
        return (await Promise.all(begun)).map(({ kind }) => kind)
      }
      expect(await outcomes('paystile_gate IN ROW SHARE', 'refund')).toEqual(['planned', 'spent'])
      expect(await outcomes('paystile_rollups IN EXCLUSIVE', 'take')).toEqual(['granted', 'in_use'])
    },
  )

  it("T168: go by the database's clock, not by their own", async () => {
    const url = await newPlace()
    const ledger = await openPostgresLedger(url, { identity })
    onTestFinished(() => ledger.close())
    const [row] = await postgresServer().sql('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
    expect(Math.abs(ledger.clock.now() - Number(row?.['now']))).toBeLessThan(1_000)
    expect(ledger.clock.now()).not.toBe(createTestClock().now())
  })
})

it('T202: a server that was paused, without its own clocks showing it, learns from the database that its leases ended', async () => {
  const url = await newPlace()
  let pausedMs = 0
  const monotonic = () => performance.now() - pausedMs
  const [paused, other] = [
    await openPostgresLedger(url, { identity, monotonic }),
    await openPostgresLedger(url, { identity }),
  ]
  onTestFinished(async () => void (await Promise.all([paused.close(), other.close()])))
  const [payment, leaseMs] = [createPayment(), 300]
  const deadline = paused.clock.monotonic() + leaseMs
  const { grant } = granted(await paused.take({ ...takeOf(payment), leaseMs }))
  // The database's clock goes on, and another server takes over.
  pausedMs = 60_000
  const again = () => other.take({ ...againOf(payment), leaseMs })
  await eventually(again, ({ kind }) => kind === 'granted')
  await eventually(
    async () => paused.clock.monotonic() >= deadline,
    (isOver) => isOver,
  )
  expect(Math.abs(paused.clock.now() - other.clock.now())).toBeLessThan(1_000)
  expect(await paused.renew(grant, leaseMs)).toBe(false)
  expect(await paused.end(grant, 'delivered', 1n)).toBe(false)
})

describe('claims that arrive together', () => {
  it('share their statements', async () => {
    const url = await newPlace()
    await (await openPostgresLedger(url, { identity, clock: createTestClock() })).close()
    const database = openDatabase(url, 2_000)
    onTestFinished(database.close)
    let statements = 0
    const counted: Database = {
      ...database,
      query: (...query) => {
        statements += 1
        return database.query(...query)
      },
    }
    const rows = createRows(counted, 0)
    const found = await Promise.all(Array.from({ length: 200 }, () => rows.find(createPayment().tx)))
    expect([found.every((entry) => entry === undefined), statements]).toEqual([true, 1])
  })
})

describe('an outage', () => {
  it('T119: of the server is told as such, passes by itself, and loses nothing that was acknowledged', async () => {
    const server = await startPostgres()
    onTestFinished(server.close)
    const ledger = await open(await server.place())
    const [paid, used] = [createPayment(), createPayment()]
    granted(await ledger.take(takeOf(paid)))
    expect(await ledger.end(granted(await ledger.take(takeOf(used))).grant, 'delivered', 1n)).toBe(true)
    await server.kill()
    for (const call of [() => ledger.peek(paid.tx), () => ledger.take(takeOf(createPayment()))]) {
      await expect(call()).rejects.toThrow(LedgerUnavailable)
    }
    await server.start()
    expect([(await ledger.peek(paid.tx))?.state, (await ledger.peek(used.tx))?.state]).toEqual(['busy', 'spent'])
    expect((await ledger.take(takeOf(createPayment()))).kind).toBe('granted')
  })

  it('T119: between two statements of one connection does not end the process', async () => {
    const server = await startPostgres()
    onTestFinished(server.close)
    const database = openDatabase(await server.place(), 2_000)
    onTestFinished(database.close)
    const cut = database.transact(async (query) => {
      await query('SELECT 1')
      await server.kill()
      // The connection breaks while nobody waits for an answer on it.
      await new Promise((resolve) => setTimeout(resolve, 50))
      return query('SELECT 2')
    })
    await expect(cut).rejects.toThrow(LedgerUnavailable)
  })

  it('T189: of one server in the middle of a transaction keeps its locks from the others for a moment only', async () => {
    const server = postgresServer()
    const place = await server.place()
    const wire = await createWire(server.port)
    const [one, other] = [
      openDatabase(place.replace(`:${server.port}/`, `:${wire.port}/`), 1_000),
      openDatabase(place, 4_000),
    ]
    onTestFinished(async () => {
      await wire.close()
      await Promise.all([one.close(), other.close()])
    })
    await other.query('CREATE TABLE kept (x int)')
    const lock = 'LOCK TABLE kept IN EXCLUSIVE MODE'
    const cutOff = one.transact(async (query) => {
      await query(lock)
      wire.cut()
      await query('INSERT INTO kept VALUES (1)')
    })
    await expect(cutOff).rejects.toThrow(LedgerUnavailable)
    await other.transact((query) => query(lock))
    expect(await other.query('SELECT x FROM kept')).toEqual([])
  })

  it('T189: and a server that stood still for longer loses the transaction, and goes on with the next', async () => {
    const database = openDatabase(await newPlace(), 400)
    onTestFinished(database.close)
    await database.query('CREATE TABLE kept (x int)')
    const late = database.transact(async (query) => {
      await query('INSERT INTO kept VALUES (1)')
      standStill(600)
      await query('INSERT INTO kept VALUES (2)')
    })
    await expect(late).rejects.toThrow(LedgerUnavailable)
    expect(await database.query('SELECT x FROM kept')).toEqual([])
  })

  it.each([
    ['127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'],
    ['127.0.0.1:1,127.0.0.1:2', 'connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.1:2'],
  ])('T119: at start of %s is told as such, with the action to take', async (hosts, why) => {
    const opening = open(`postgres://postgres:s3cret@${hosts}/ledger`)
    await expect(opening).rejects.toThrow(LedgerUnavailable)
    await expect(opening).rejects.toThrow(
      `cannot be used at the moment: ${why}. Check that PostgreSQL runs there, and the host and port of the ledger.`,
    )
  })

  it('T119: of the right to write, as on a standby, is told as such', async () => {
    const url = `${await newPlace()}%20-c%20default_transaction_read_only%3Don`
    const database = openDatabase(url, 2_000)
    onTestFinished(database.close)
    await expect(database.query('CREATE TABLE anything (x int)')).rejects.toThrow(LedgerUnavailable)
  })
})

describe('several servers, of which one may be written to', () => {
  /** Two servers, the second as good as a standby, and a place where there is none. */
  const startPair = async () => {
    const pair = await Promise.all([startPostgres(), startPostgres(['-c', 'default_transaction_read_only=on'])])
    for (const server of pair) onTestFinished(server.close)
    const [leader, standby] = pair
    const hosts = (...ports: number[]) => ports.map((port) => `127.0.0.1:${port}`).join(',')
    const database = openDatabase(`postgres://postgres@${hosts(1, standby.port, leader.port)}/postgres`, 4_000)
    onTestFinished(database.close)
    const portNow = async () => Number((await database.query('SELECT inet_server_port() AS port'))[0]?.['port'])
    return { leader, standby, hosts, database, portNow }
  }
  const promote = async (server: Awaited<ReturnType<typeof startPostgres>>) => {
    await server.kill()
    await server.start([])
  }

  it('that one is found, and found again when another has taken over', async () => {
    const { leader, standby, portNow } = await startPair()
    expect(await portNow()).toBe(leader.port)
    await leader.kill()
    await expect(portNow()).rejects.toThrow(LedgerUnavailable)
    await expect(portNow()).rejects.toThrow(/ECONNREFUSED.*; the server is a standby/)
    await promote(standby)
    expect(await portNow()).toBe(standby.port)
  })

  it('one that becomes a standby while it is connected is left without an error', async () => {
    const { leader, standby, database, portNow } = await startPair()
    expect(await portNow()).toBe(leader.port)
    await promote(standby)
    await leader.sql('ALTER SYSTEM SET default_transaction_read_only = on')
    await leader.sql('SELECT pg_reload_conf()')
    await expect
      .poll(() => database.query('SHOW default_transaction_read_only'))
      .toEqual([{ default_transaction_read_only: 'on' }])
    await database.query('CREATE TABLE here (x int)')
    expect(await portNow()).toBe(standby.port)
  })

  it('the problem that the operator must solve comes first', async () => {
    const { leader, hosts } = await startPair()
    const database = openDatabase(`postgres://postgres@${hosts(1, leader.port)}/nowhere`, 2_000)
    onTestFinished(database.close)
    await expect(database.query('SELECT 1')).rejects.toThrow(/does not exist on its server: create it/)
  })

  it('is refused where a standby may take over without the last payments', async () => {
    const { leader, hosts } = await startPair()
    const url = (user: string) => `postgres://${user}@${hosts(leader.port, 1)}/postgres`
    const why = /could lose payments when a standby takes over: set synchronous_commit=on and synchronous_standby_names/
    await expect(open(url('postgres'))).rejects.toThrow(why)
    await leader.sql('CREATE ROLE hasty SUPERUSER LOGIN')
    await leader.sql('ALTER ROLE hasty SET synchronous_commit = local')
    await leader.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await leader.sql('SELECT pg_reload_conf()')
    await expect.poll(() => leader.sql('SHOW synchronous_standby_names')).toEqual([{ synchronous_standby_names: '*' }])
    await expect(open(url('hasty'))).rejects.toThrow(why)
  })
})

describe("the database's clock", () => {
  it('is not taken for later than it is, however long a new connection takes', async () => {
    const server = postgresServer()
    const door = await createSlowDoor(server.port)
    onTestFinished(door.close)
    const url = await server.place()
    const [near, far] = await Promise.all([
      openPostgresLedger(url, { identity }),
      openPostgresLedger(url.replace(`:${server.port}`, `:${door.port}`), { identity }),
    ])
    onTestFinished(async () => void (await Promise.all([near.close(), far.close()])))
    door.slowDown(1_600)
    let worst = 0
    // Two measurements, with the time that a connection takes.
    for (const end = performance.now() + 6_000; performance.now() < end; ) {
      worst = Math.max(worst, Math.abs(far.clock.now() - near.clock.now()))
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(worst).toBeLessThan(500)
  })
})

it('lets go of a lease a little later for others than for its holder, since clocks are measured', async () => {
  const url = await newPlace()
  const [one, other] = await Promise.all([openPostgresLedger(url, { identity }), openPostgresLedger(url, { identity })])
  onTestFinished(async () => void (await Promise.all([one.close(), other.close()])))
  const payment = createPayment({ usableUntil: Date.now() + 86_400_000 })
  const began = performance.now()
  granted(await one.take(takeOf(payment, { leaseMs: 300 })))
  let taken = await other.take(againOf(payment))
  while (taken.kind === 'busy') {
    await new Promise((resolve) => setTimeout(resolve, 10))
    taken = await other.take(againOf(payment))
  }
  expect(taken.kind).toBe('granted')
  expect(performance.now() - began).toBeGreaterThan(450)
})

/** A way to a server on which connections can be cut, and new ones then take a while, as in a failover. */
async function createSlowDoor(port: number) {
  let delayMs = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    sockets.add(client.on('error', () => {}).pause())
    setTimeout(() => {
      const onward = createConnection(port, '127.0.0.1').on('error', () => client.destroy())
      client.once('close', () => onward.destroy())
      onward.once('close', () => client.destroy())
      client.pipe(onward).pipe(client)
    }, delayMs)
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    slowDown: (ms: number) => {
      delayMs = ms
      cut()
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
