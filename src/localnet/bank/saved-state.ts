/** The state of a reopened chain besides its transactions: accounts, time anchors, and dropped slots. */
import { type Account, decodeAccount, encodeAccount } from '../accounts/account.ts'
import type { Store } from '../store/store.ts'
import type { Anchor, Gap } from './timeline.ts'

type Row = Record<string, unknown>

export interface Ledger {
  accounts(): Iterable<readonly [string, Account]>
  save(changes: Iterable<readonly [string, Account | undefined]>): void
  anchors(): readonly Anchor[]
  addAnchors(anchors: readonly Anchor[]): void
  gaps(): readonly Gap[]
  /** Merges older gaps inside the new one. */
  addGap(gap: Gap): void
}

export function createLedger({ db }: Store): Ledger {
  const put = db.prepare('insert or replace into accounts (address, account) values (?, ?)')
  const remove = db.prepare('delete from accounts where address = ?')
  const anchor = db.prepare('insert into anchors (slot, ms) values (?, ?)')
  const gap = db.prepare('insert into gaps (first, last) values (?, ?)')
  const number = (row: unknown, key: string) => Number((row as Row)[key])
  return {
    *accounts() {
      for (const row of db.prepare('select address, account from accounts').iterate())
        yield [String((row as Row)['address']), decodeAccount((row as Row)['account'] as Uint8Array)]
    },
    save(changes) {
      for (const [address, account] of changes) {
        if (account) put.run(address, encodeAccount(account))
        else remove.run(address)
      }
    },
    anchors: () =>
      db
        .prepare('select slot, ms from anchors order by position')
        .all()
        .map((row: unknown) => ({ slot: number(row, 'slot'), ms: number(row, 'ms') })),
    addAnchors(anchors) {
      for (const { slot, ms } of anchors) anchor.run(slot, ms)
    },
    gaps: () =>
      db
        .prepare('select first, last from gaps order by first')
        .all()
        .map((row: unknown) => ({ first: number(row, 'first'), last: number(row, 'last') })),
    addGap({ first, last }) {
      db.prepare('delete from gaps where last >= ?').run(first)
      gap.run(first, last)
    },
  }
}
