/**
 * The ledger in one SQLite file, for one machine. Several processes may share the file.
 *
 * Every call holds the write lock while the rule of `account.ts` decides, takes effect as a whole or not at all, and is
 * on the disk before the answer is given.
 */
import { resolve } from 'node:path'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { Unit } from '../core/allowance.ts'
import type { TokenCode } from '../core/network.ts'
import type { Clock, Ledger, PaymentRecord } from '../core/ports.ts'
import { formatPositions, parsePositions } from '../core/positions.ts'
import type { Account, Finality, Holding, Lease } from './account.ts'
import {
  advanced,
  checkAdvance,
  checkLease,
  checkRecord,
  checkTake,
  checkTx,
  checkUsed,
  judgeTake,
  renewed,
  standingOf,
  tallyAfter,
  timeOf,
} from './account.ts'
import type { LedgerIdentity, Remembered } from './identity.ts'
import { checkIdentity } from './identity.ts'
import { formatScope, parseScope } from './scope-text.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { openSqliteFile } from './sqlite-file.ts'
import { createSqliteJournal } from './sqlite-journal.ts'

export interface SqliteParts {
  readonly clock: Clock
  readonly identity: LedgerIdentity
  /** How long a call waits while another process holds the lock. */
  readonly busyTimeoutMs?: number
}

export async function openSqliteLedger(path: string, parts: SqliteParts): Promise<Ledger> {
  const full = resolve(path)
  const file = await openSqliteFile(full, parts.busyTimeoutMs ?? 5000, (db) => remember(db, full, parts.identity))
  return createSqliteLedger(file, parts.clock)
}

/** The ledger over a file that is already open and up to date. */
export function createSqliteLedger(file: SqliteFile, clock: Clock): Ledger {
  const rows = prepareRows(file.db)
  return {
    async peek(tx) {
      checkTx(tx)
      const now = timeOf(clock)
      const held = await file.read(() => rows.find(tx, now))
      return held && standingOf(held, now)
    },
    async take(take) {
      checkTake(take)
      return file.write(() => {
        const now = timeOf(clock)
        const held = rows.find(take.tx, now)
        const { taken, registers, restores, lease } = judgeTake(take, held, now)
        const id = registers ? rows.register(registers, now) : held?.id
        if (restores && id !== undefined) {
          rows.restore.run(BigInt(restores.slot), BigInt(restores.paidAt), restores.finality, id)
        }
        if (taken.kind === 'granted' && lease && id !== undefined) {
          rows.lapse.run(id, BigInt(now))
          rows.grant.run(id, taken.grant.fence, lease.amount, BigInt(lease.deadline), lease.from)
          rows.setFence.run(taken.grant.fence, id)
        }
        return taken
      })
    },
    async renew(grant, leaseMs) {
      checkTx(grant.tx)
      checkLease(leaseMs)
      return file.write(() => {
        const lease = rows.lease(grant.tx, grant.fence)
        if (!lease) return false
        const deadline = renewed(lease.deadline, leaseMs, timeOf(clock))
        rows.setDeadline.run(BigInt(deadline), lease.id, grant.fence)
        return true
      })
    },
    async advance(grant, used, more) {
      checkTx(grant.tx)
      checkAdvance(used, more)
      return file.write(() => {
        const now = timeOf(clock)
        const lease = rows.lease(grant.tx, grant.fence)
        const held = lease && rows.find(grant.tx, now)
        if (!lease || !held) return undefined
        const next = advanced(held, lease, used, more, now)
        rows.lapseOthers.run(lease.id, BigInt(now), grant.fence)
        rows.setPart.run(next.lease.amount, next.lease.from, lease.id, grant.fence)
        rows.setUsed.run(next.used, lease.id)
        return next.lease.amount
      })
    },
    async end(grant, consequence, used) {
      checkTx(grant.tx)
      checkUsed(used)
      return file.write(() => {
        const lease = rows.lease(grant.tx, grant.fence)
        const held = lease && rows.find(grant.tx, timeOf(clock))
        if (!lease || !held) return false
        const tally = tallyAfter(held.account, lease, consequence, used)
        rows.drop.run(lease.id, grant.fence)
        const positions = formatPositions(tally.positions)
        rows.setTally.run(tally.used, tally.deliveries, tally.freeUses, positions, lease.id)
        return true
      })
    },
    async recordLate(payment) {
      checkRecord(payment)
      await file.write(() => {
        const now = timeOf(clock)
        if (!rows.find(payment.tx, now)) rows.register(payment, now, 'late')
      })
    },
    journal: createSqliteJournal(file),
    async close() {
      await file.close()
    },
  }
}

interface PaymentRow {
  readonly id: bigint
  readonly request: string
  readonly payer: string
  readonly scope: string
  readonly token: TokenCode
  readonly received: string
  readonly unit: Unit
  readonly amount: bigint
  readonly usable_until: bigint
  readonly registered_at: bigint
  readonly state: 'valid' | 'late'
  readonly finality: Finality
  readonly used: bigint
  readonly deliveries: bigint
  readonly free_uses: bigint
  readonly fence: bigint
  readonly positions: string
  /** `amount:deadline:first` of each grant that is live; null where there is none. */
  readonly live: string | null
}

interface LeaseRow {
  readonly amount: bigint
  readonly deadline: bigint
  readonly first: bigint
}

function prepareRows(db: DatabaseSyncInstance) {
  const prepare = (sql: string): StatementSyncInstance => {
    const statement = db.prepare(sql)
    statement.setReadBigInts(true)
    return statement
  }
  // One statement: who only looks holds no lock, and would between two see a payment and the grants of another moment.
  const find = prepare(`
    SELECT id, request, payer, scope, token, received, unit, amount, usable_until, registered_at, state, finality, used,
      deliveries, free_uses, fence, positions,
      (SELECT group_concat(grants.amount || ':' || deadline || ':' || first, ' ') FROM grants
        WHERE payment = payments.id AND deadline > ?) AS live
    FROM payments WHERE tx = ?`)
  // A new payment, or one that replaces its late record: the rule has made sure that it is one of the two.
  const register = prepare(`
    INSERT OR REPLACE INTO payments (tx, request, payer, scope, recipient, token, required, received, unit, amount, slot,
      paid_at, usable_until, registered_at, finality, state)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`)
  const lease = prepare(`
    SELECT payments.id, grants.amount, grants.deadline, grants.first FROM payments JOIN grants ON grants.payment = payments.id
    WHERE payments.tx = ? AND grants.fence = ?`)

  return {
    find: (tx: Uint8Array, now: number): (Holding & { readonly id: bigint }) | undefined => {
      const row = find.get(BigInt(now), tx) as PaymentRow | undefined
      return row && { id: row.id, account: readAccount(row), live: parseLive(row.live) }
    },
    register: (payment: PaymentRecord, now: number, state: PaymentRow['state'] = 'valid'): bigint => {
      const { tx, request, payer, recipient, token, required, received, allowance } = payment
      const people = [request, payer, formatScope(payment.scope), recipient] as const
      const money = [token, String(required), String(received), allowance.unit, allowance.amount] as const
      const times = [payment.slot, payment.paidAt, payment.usableUntil, now].map(BigInt)
      return (register.get(tx, ...people, ...money, ...times, payment.finality, state) as { readonly id: bigint }).id
    },
    lease: (tx: Uint8Array, fence: bigint) => {
      const row = lease.get(tx, fence) as (LeaseRow & { readonly id: bigint }) | undefined
      return row && { id: row.id, ...readLease(row) }
    },
    restore: prepare('UPDATE payments SET slot = ?, paid_at = ?, finality = ? WHERE id = ?'),
    lapse: prepare('DELETE FROM grants WHERE payment = ? AND deadline <= ?'),
    lapseOthers: prepare('DELETE FROM grants WHERE payment = ? AND deadline <= ? AND fence <> ?'),
    grant: prepare('INSERT INTO grants (payment, fence, amount, deadline, first) VALUES (?, ?, ?, ?, ?)'),
    drop: prepare('DELETE FROM grants WHERE payment = ? AND fence = ?'),
    setDeadline: prepare('UPDATE grants SET deadline = ? WHERE payment = ? AND fence = ?'),
    setFence: prepare('UPDATE payments SET fence = ? WHERE id = ?'),
    setPart: prepare('UPDATE grants SET amount = ?, first = ? WHERE payment = ? AND fence = ?'),
    setUsed: prepare('UPDATE payments SET used = ? WHERE id = ?'),
    setTally: prepare('UPDATE payments SET used = ?, deliveries = ?, free_uses = ?, positions = ? WHERE id = ?'),
  }
}

function readAccount(row: PaymentRow): Account {
  const { request, payer, token, used, deliveries, fence } = row
  return {
    request,
    payer,
    scope: parseScope(row.scope),
    token,
    received: BigInt(row.received),
    allowance: { unit: row.unit, amount: row.amount },
    usableUntil: Number(row.usable_until),
    registeredAt: Number(row.registered_at),
    late: row.state === 'late',
    finality: row.finality,
    used,
    deliveries,
    freeUses: row.free_uses,
    positions: parsePositions(row.positions),
    fence,
  }
}

function parseLive(text: string | null): readonly Lease[] {
  const parts = text === null ? [] : text.split(' ').map((lease) => lease.split(':').map(BigInt))
  return parts.map(([amount = 0n, deadline = 0n, first = 0n]) => readLease({ amount, deadline, first }))
}

function readLease({ amount, deadline, first }: LeaseRow): Lease {
  return { amount, deadline: Number(deadline), from: first }
}

function remember(db: DatabaseSyncInstance, path: string, identity: LedgerIdentity): void {
  checkIdentity(path, readMemory(db), identity)
  writeMemory(db, { ...identity })
}

function readMemory(db: DatabaseSyncInstance): Remembered {
  const rows = db.prepare('SELECT key, value FROM meta').all() as { readonly key: string; readonly value: string }[]
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

/** What is remembered already stays as it is. */
function writeMemory(db: DatabaseSyncInstance, facts: Remembered): void {
  const write = db.prepare('INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)')
  for (const [key, value] of Object.entries(facts)) if (value !== undefined) write.run(key, value)
}
