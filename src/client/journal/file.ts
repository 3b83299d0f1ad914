/**
 * The journal in a SQLite file that all processes of a user share. Budgets apply across processes, and crashes lose
 * nothing.
 */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { isNameAlive, processName } from '../../host/alive.ts'
import { JournalError } from '../errors.ts'
import { findExceeded, type Intent, isUsable, type Journal } from './journal.ts'
import { migrate } from './schema.ts'

const ownName = processName(process.pid)

interface Row {
  readonly request_id: string
  readonly units: string
  readonly under_way: number
  readonly holder: string | null
  readonly [column: string]: unknown
}

/** The journal, and its contents for the user who owns it. */
export interface FileJournal extends Journal {
  /** The amounts of a day that count against the budgets. */
  spentOn(day: string): readonly Spent[]
  /** The newest purchases of a wallet first. */
  latest(payer: string, count: number): readonly Intent[]
  findPurchase(payer: string, txOrRequestId: string): Intent | undefined
}

export type Spent = Pick<Intent, 'network' | 'token' | 'units'>

/** Opens or creates the journal. Throws one sentence that names the file if it is not usable. */
export function openFileJournal(path: string): FileJournal {
  const database = open(path)
  const held = new Set<string>()
  const turns = new Set<string>()
  const queries = prepare(database)
  const guard = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      throw createJournalError(path, error)
    }
  }
  const atomically = <Result>(work: () => Result): Result =>
    guard(() => {
      database.exec('begin immediate')
      try {
        const result = work()
        database.exec('commit')
        return result
      } catch (error) {
        // A full disk has already rolled it back.
        if (database.isTransaction) database.exec('rollback')
        throw error
      }
    })
  const isTaken = (scope: string): boolean => {
    const turn = queries.turn.get(scope) as { holder: string } | undefined
    return turn !== undefined && (turns.has(scope) || isHeldElsewhere(turn.holder))
  }
  const find = (scope: string, now: number): Intent | undefined =>
    (queries.landed.all(scope) as unknown as Row[])
      .map((row) => ({ intent: toIntent(row), underWay: row.under_way }))
      .find(({ intent, underWay }) => isUsable(intent, underWay, now))?.intent

  return {
    reserve: async (intent, limits) =>
      withoutFlush(database, () =>
        atomically(() => {
          if (queries.known.get(intent.requestId)) return { kind: 'repeated' } as const
          const rows = queries.spent.all(intent.day, intent.network, intent.token) as { units: string; host: string }[]
          const counted = rows.map((row) => ({ host: row.host, units: BigInt(row.units) }))
          const exceeded = findExceeded(counted, intent, limits)
          if (exceeded) return exceeded
          queries.insert.run(...toColumns(intent), ownName)
          held.add(intent.requestId)
          return { kind: 'reserved' } as const
        }),
      ),
    change: async (requestId, change) => {
      const { state, tx, wire, slot, credential, remaining, until } = change
      const values = [state, tx, wire, slot, credential, remaining, until].map((value) => value ?? null)
      const write = () => queries.update.run(...values, requestId)
      // A signed payment may be sent next. The loss of a later state costs some requests: the chain shows it again.
      guard(() => (state === undefined || state === 'signed' ? write() : withoutFlush(database, write)))
    },
    adopt: async (key) =>
      atomically(() => {
        const rows = queries.unfinished.all(key) as unknown as Row[]
        const free = rows.find((row) => !held.has(row.request_id) && !isHeldElsewhere(row.holder))
        if (!free) return undefined
        queries.hold.run(ownName, free.request_id)
        held.add(free.request_id)
        return toIntent(free)
      }),
    release: async (requestId) => {
      held.delete(requestId)
      guard(() => withoutFlush(database, () => queries.hold.run(null, requestId)))
    },
    find: async (scope, now) => guard(() => (isTaken(scope) ? undefined : find(scope, now))),
    share: async (scope, now) =>
      atomically(() => {
        if (isTaken(scope)) return { kind: 'busy' } as const
        const landed = find(scope, now)
        if (landed) return { kind: 'landed', intent: landed } as const
        queries.takeTurn.run(scope, ownName)
        turns.add(scope)
        const signed = queries.signed.get(scope) as unknown as Row | undefined
        return signed ? ({ kind: 'unfinished', intent: toIntent(signed) } as const) : ({ kind: 'turn' } as const)
      }),
    passTurn: async (scope) => {
      if (turns.delete(scope)) guard(() => queries.passTurn.run(scope, ownName))
    },
    begin: async (requestId) => {
      guard(() => queries.begin.run(requestId))
    },
    end: async (requestId, { remaining, until }) => {
      guard(() => queries.end.run(remaining ?? null, until ?? null, requestId))
    },
    spentOn: (day) => guard(() => (queries.day.all(day) as unknown as Row[]).map(toIntent)),
    latest: (payer, count) => guard(() => (queries.latest.all(payer, count) as unknown as Row[]).map(toIntent)),
    findPurchase: (payer, id) =>
      guard(() => {
        const row = queries.purchase.get(payer, id, id) as unknown as Row | undefined
        return row && toIntent(row)
      }),
  }
}

/**
 * A change without a flush of the disk: a crash of the process does not undo it, a power failure may. The next change
 * with a flush keeps both.
 */
export function withoutFlush<Result>(database: DatabaseSyncInstance, work: () => Result): Result {
  database.exec('pragma synchronous = normal')
  try {
    return work()
  } finally {
    database.exec('pragma synchronous = full')
  }
}

const columns =
  'request_id, key, url, host, day, network, genesis, token, units, payer, proof, claim, state, unit, scope, protocol, memo, holder'

function prepare(database: DatabaseSyncInstance) {
  const query = (text: string) => database.prepare(text)
  return {
    known: query('select 1 from intents where request_id = ?'),
    spent: query("select units, host from intents where day = ? and network = ? and token = ? and state <> 'dead'"),
    insert: query(`insert into intents (${columns}) values (${columns.replaceAll(/\w+/g, '?')})`),
    update: query(
      `update intents set state = coalesce(?, state), tx = coalesce(?, tx), wire = coalesce(?, wire),
       slot = coalesce(?, slot), credential = coalesce(?, credential), remaining = coalesce(?, remaining),
       until = coalesce(?, until) where request_id = ?`,
    ),
    day: query("select * from intents where day = ? and state <> 'dead'"),
    latest: query('select * from intents where payer = ? order by rowid desc limit ?'),
    purchase: query('select * from intents where payer = ? and (tx = ? or request_id = ?)'),
    unfinished: query("select * from intents where key = ? and scope is null and state in ('signed', 'landed')"),
    hold: query('update intents set holder = ? where request_id = ?'),
    landed: query("select * from intents where scope = ? and state = 'landed' order by rowid"),
    signed: query("select * from intents where scope = ? and state = 'signed' order by rowid"),
    turn: query('select holder from turns where scope = ?'),
    takeTurn: query('insert or replace into turns (scope, holder) values (?, ?)'),
    passTurn: query('delete from turns where scope = ? and holder = ?'),
    begin: query('update intents set under_way = under_way + 1 where request_id = ?'),
    end: query(
      `update intents set under_way = under_way - 1, remaining = coalesce(?, remaining), until = coalesce(?, until)
       where request_id = ?`,
    ),
  } as const
}

function open(path: string): DatabaseSyncInstance {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // The file contains the secrets of unclaimed payments.
    closeSync(openSync(path, 'a', 0o600))
    const database = new DatabaseSync(path, { timeout: 5000 })
    database.exec('pragma journal_mode = wal; pragma synchronous = full;')
    migrate(database)
    return database
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new JournalError(
      `The payment journal ${path} cannot be used (${why}); move the file (it may contain unused payments), or set PAYSTILE_HOME.`,
    )
  }
}

/** A failure while the journal is in use, such as a full disk. The payments in it stay valid. */
function createJournalError(path: string, error: unknown): JournalError {
  const why = error instanceof Error ? error.message : String(error)
  return new JournalError(
    `The payment journal ${path} cannot be used now (${why}). Free disk space or repair the file, then call again: a recorded payment is not made twice.`,
    { cause: error },
  )
}

/** A payment held by another process is left alone while that process runs. */
function isHeldElsewhere(holder: string | null): boolean {
  return holder !== null && holder !== ownName && isNameAlive(holder)
}

function toColumns(intent: Intent): (string | null)[] {
  const { requestId, key, url, host, day, network, genesis, token, units, payer, proof, state } = intent
  const { claim = null, unit = null, scope = null, protocol = null, memo = null } = intent
  return [
    ...[requestId, key, url, host, day, network, genesis, token, String(units), payer, proof],
    ...[claim, state, unit, scope, protocol, memo],
  ]
}

function toIntent(row: Row): Intent {
  const optional = (...names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => row[name] !== null).map((name) => [name, row[name]]))
  return {
    requestId: row.request_id,
    key: row['key'],
    url: row['url'],
    host: row['host'],
    day: row['day'],
    network: row['network'],
    genesis: row['genesis'],
    token: row['token'],
    units: BigInt(row.units),
    payer: row['payer'],
    proof: row['proof'],
    state: row['state'],
    ...optional('claim', 'tx', 'wire', 'slot', 'unit', 'scope', 'protocol', 'credential', 'memo', 'remaining', 'until'),
  } as Intent
}
