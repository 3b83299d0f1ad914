/** The transactions of the chain, in its order. */
import { deserialize, serialize } from 'node:v8'
import type { Store } from '../store/store.ts'
import type { LoadedAddresses } from '../transaction/roles.ts'
import type { TokenBalance } from '../transaction/token-balances.ts'
import type { Execution } from './vm.ts'

/** The balances of all accounts of a transaction, before and after it. */
export interface Balances {
  readonly preBalances: readonly bigint[]
  readonly postBalances: readonly bigint[]
  readonly preTokenBalances: readonly TokenBalance[]
  readonly postTokenBalances: readonly TokenBalance[]
}

export interface TransactionRecord extends Place, Balances, Omit<Execution, 'changes'> {
  readonly signature: string
  readonly wire: Uint8Array
  readonly fee: bigint
  readonly unitPrice: bigint
  readonly loaded: LoadedAddresses
  readonly memo: string | undefined
  /** Accounts that changed. */
  readonly changed: readonly string[]
  /** Accounts that it could write. */
  readonly writable: readonly string[]
}

/** A position in the chain, ordered by slot and by index in the slot. */
export interface Place {
  readonly slot: number
  readonly position: number
}

export interface Reward {
  readonly lamports: bigint
  readonly postBalance: bigint
}

export function createHistory({ db }: Store) {
  const insert = db.prepare('insert into transactions (slot, position, signature, record) values (?, ?, ?, ?)')
  const mention = db.prepare('insert or ignore into mentions (address, slot, position) values (?, ?, ?)')
  const bySignature = db.prepare('select record from transactions where signature = ?')
  const bySlot = db.prepare('select record from transactions where slot = ? order by position')
  const since = db.prepare('select record from transactions where slot > ? and slot <= ? order by slot, position')
  const byAddress = db.prepare(`
    select t.record from mentions m join transactions t on t.slot = m.slot and t.position = m.position
    where m.address = ? and (m.slot, m.position) < (?, ?) and (m.slot, m.position) > (?, ?)
    order by m.slot desc, m.position desc limit ?`)
  const counted = db.prepare('select count(*) as count from transactions where slot > ?')
  const rewardQuery = db.prepare('select reward from blocks where slot = ?')
  const setReward = db.prepare('insert or replace into blocks (slot, reward) values (?, ?)')
  const signaturesAfter = db.prepare('select signature from transactions where slot > ? order by slot, position')
  const drops = ['transactions', 'mentions', 'blocks'].map((table) => db.prepare(`delete from ${table} where slot > ?`))
  let total = Number(counted.get(-1)?.['count'])

  return {
    add(record: TransactionRecord, mentioned: Iterable<string>) {
      insert.run(record.slot, record.position, record.signature, serialize(record))
      for (const address of mentioned) mention.run(address, record.slot, record.position)
      total += 1
    },
    find: (signature: string) => readRecord(bySignature.get(signature)),
    inSlot: (slot: number) => readRecords(bySlot.all(slot)),
    /** The latest first, strictly between the two positions. */
    ofAddress: (address: string, before: Place, after: Place, limit: number) =>
      readRecords(byAddress.all(address, before.slot, before.position, after.slot, after.position, limit)),
    count: () => total,
    lastSlot: () => Number(db.prepare('select max(slot) as slot from transactions').get()?.['slot'] ?? 0),
    countAfter: (slot: number) => Number(counted.get(slot)?.['count']),
    recent: (slot: number) => readRecords(since.all(slot, Number.MAX_SAFE_INTEGER)),
    /** After the first slot, up to and including the second. */
    between: (from: number, to: number) => readRecords(since.all(from, to)),
    reward(slot: number) {
      const bytes = rewardQuery.get(slot)?.['reward']
      return bytes ? (deserialize(bytes as Uint8Array) as Reward) : undefined
    },
    addReward(slot: number, reward: Reward) {
      setReward.run(slot, serialize(reward))
    },
    /** Removes all slots after this one. */
    drop(slot: number) {
      const signatures = signaturesAfter.all(slot).map((row: unknown) => String((row as Row)['signature']))
      for (const statement of drops) statement.run(slot)
      total -= signatures.length
      return signatures
    },
  }
}

export type History = ReturnType<typeof createHistory>

type Row = Record<string, unknown>

function readRecord(row: unknown): TransactionRecord | undefined {
  const bytes = (row as Row | undefined)?.['record']
  return bytes ? (deserialize(bytes as Uint8Array) as TransactionRecord) : undefined
}

function readRecords(rows: readonly unknown[]): readonly TransactionRecord[] {
  return rows.flatMap((row) => readRecord(row) ?? [])
}
