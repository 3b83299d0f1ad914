/** The report of a transaction, with the balances before and after it, and its stored record. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { attempt } from '../../core/errors/attempt.ts'
import type { Account } from '../accounts/account.ts'
import { memoPrograms } from '../accounts/addresses.ts'
import { listTokenBalances } from '../transaction/token-balances.ts'
import type { Message, Transaction } from '../transaction/wire.ts'
import type { Outcome } from './evaluate.ts'
import type { Balances, Place, TransactionRecord } from './history.ts'

export interface Report extends Balances {
  readonly outcome: Outcome
}

export function createReport(
  transaction: Transaction,
  outcome: Outcome,
  before: (address: string) => Account | undefined,
): Report {
  const { roles, changes } = outcome
  const changed = new Map(changes)
  const after = (address: string) => (changed.has(address) ? changed.get(address) : before(address))
  return {
    outcome,
    preBalances: roles.map(({ address }) => before(address)?.lamports ?? 0n),
    postBalances: roles.map(({ address }) => after(address)?.lamports ?? 0n),
    preTokenBalances: listTokenBalances(transaction.message, roles, before),
    postTokenBalances: listTokenBalances(transaction.message, roles, after),
  }
}

export function createRecord(
  transaction: Transaction,
  report: Report,
  place: Place,
  changed: readonly string[],
): TransactionRecord {
  const { outcome, ...balances } = report
  const { units, inner, logs, returnData } = outcome.execution
  return {
    ...place,
    ...balances,
    signature: encodeBase58(transaction.signatures[0] as Uint8Array),
    wire: transaction.bytes,
    failure: outcome.failure,
    fee: outcome.fee,
    unitPrice: outcome.budget.unitPrice,
    ...{ units, inner, logs, returnData },
    loaded: outcome.loaded,
    memo: formatMemo(transaction.message),
    changed,
    writable: outcome.roles.filter(({ writable }) => writable).map(({ address }) => address),
  }
}

/** Memos in the format of a validator: the length in brackets, then the text. */
function formatMemo(message: Message): string | undefined {
  const memos = message.instructions
    .filter(({ program }) => memoPrograms.has(message.keys[program] ?? ''))
    .map(({ data }) => `[${data.length}] ${readText(data) ?? '(unparsable)'}`)
  return memos.length === 0 ? undefined : memos.join('; ')
}

function readText(data: Uint8Array): string | undefined {
  return attempt(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data))
}
