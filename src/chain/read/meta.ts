/**
 * Validates a node's report on an executed transaction before any of it is used.
 *
 * The signatures prove the author of the transaction, but the report relies on the node alone. A part that is missing
 * or out of range makes the whole report unusable, because a partial report is worse than none.
 */

import { type Fields, isFields } from '../../core/encoding/fields.ts'
import { readAddress, readCount, readDigits, readList, readU64 } from '../rpc/json.ts'
import type { Transaction } from './decode.ts'

export interface TokenBalance {
  readonly account: number
  readonly mint: string
  readonly owner: string
  readonly units: bigint
}

/** An instruction that a program called, grouped by the index of its top-level instruction. */
export interface InnerInstruction {
  readonly under: number
  readonly program: number
  readonly accounts: readonly number[]
  /** Still in base58: decoding is slow, and most of these instructions are irrelevant. */
  readonly data: string
  /** The depth of the call, starting at 2. Its caller is the last instruction before it with a depth lower by one. */
  readonly height: number | undefined
}

export interface Meta {
  readonly failed: boolean
  readonly fee: bigint
  readonly lamportsBefore: readonly bigint[]
  readonly lamportsAfter: readonly bigint[]
  readonly tokensBefore: ReadonlyMap<number, TokenBalance>
  readonly tokensAfter: ReadonlyMap<number, TokenBalance>
  readonly inner: readonly InnerInstruction[]
  /** The addresses loaded from lookup tables: first the writable, then the readonly ones. */
  readonly loaded: readonly string[]
}

export type MetaReading =
  | { readonly kind: 'meta'; readonly meta: Meta }
  | { readonly kind: 'unusable'; readonly why: string }

/** Well above the chain's limit of calls per transaction. */
const mostInner = 256

export function readMeta(value: unknown, transaction: Transaction): MetaReading {
  if (!isFields(value)) return unusable('the outcome is not recorded')
  // A missing value is not null: only an explicit null means success.
  const err = value['err']
  if (err !== null && typeof err !== 'string' && !isFields(err)) return unusable('the outcome is not recorded')
  const loaded = readLoaded(value['loadedAddresses'], transaction)
  if (!loaded) return unusable("the loaded addresses differ from the transaction's lookups")
  const total = transaction.keys.length + loaded.length
  const fee = readU64(value['fee'])
  const lamportsBefore = readList(value['preBalances'], readU64)
  const lamportsAfter = readList(value['postBalances'], readU64)
  if (fee === undefined || lamportsBefore?.length !== total || lamportsAfter?.length !== total)
    return unusable('the balances are not complete')
  const tokensBefore = readTokenBalances(value['preTokenBalances'], total)
  const tokensAfter = readTokenBalances(value['postTokenBalances'], total)
  if (!tokensBefore || !tokensAfter) return unusable('the token balances are not complete')
  const inner = readInner(value['innerInstructions'], transaction.instructions.length, total)
  if (!inner) return unusable('the inner instructions are not complete')
  const failed = err !== null
  return {
    kind: 'meta',
    meta: { failed, fee, lamportsBefore, lamportsAfter, tokensBefore, tokensAfter, inner, loaded },
  }
}

function readLoaded(value: unknown, { lookups }: Transaction): readonly string[] | undefined {
  if (lookups.length === 0 && (value === undefined || value === null)) return []
  if (!isFields(value)) return undefined
  const writable = readList(value['writable'], readAddress)
  const readonly = readList(value['readonly'], readAddress)
  if (!writable || !readonly) return undefined
  const asked = (part: 'writable' | 'readonly') => lookups.reduce((sum, lookup) => sum + lookup[part].length, 0)
  if (writable.length !== asked('writable') || readonly.length !== asked('readonly')) return undefined
  return [...writable, ...readonly]
}

function readTokenBalances(value: unknown, total: number): ReadonlyMap<number, TokenBalance> | undefined {
  const list = readList(value, (item) => readTokenBalance(item, total))
  if (!list) return undefined
  const byAccount = new Map(list.map((balance) => [balance.account, balance]))
  // An account listed twice would count twice.
  return byAccount.size === list.length ? byAccount : undefined
}

function readTokenBalance(value: unknown, total: number): TokenBalance | undefined {
  if (!isFields(value)) return undefined
  const account = readIndex(value['accountIndex'], total)
  const mint = readAddress(value['mint'])
  const owner = readAddress(value['owner'])
  const amount = value['uiTokenAmount']
  // Only the raw amount counts. The other fields are for display, and some mints scale them.
  const units = isFields(amount) ? readDigits(amount['amount']) : undefined
  if (account === undefined || mint === undefined || owner === undefined || units === undefined) return undefined
  return { account, mint, owner, units }
}

function readInner(value: unknown, instructions: number, total: number): readonly InnerInstruction[] | undefined {
  const lists = readList(value, (item) => {
    const under = isFields(item) ? readIndex(item['index'], instructions) : undefined
    if (!isFields(item) || under === undefined) return undefined
    const list = readList(item['instructions'], (entry) =>
      isFields(entry) ? readInnerInstruction(entry, under, total) : undefined,
    )
    return list && { under, list }
  })
  if (!lists || new Set(lists.map(({ under }) => under)).size !== lists.length) return undefined
  const all = lists.flatMap(({ list }) => list)
  return all.length <= mostInner ? all : undefined
}

function readInnerInstruction(value: Fields, under: number, total: number): InnerInstruction | undefined {
  const program = readIndex(value['programIdIndex'], total)
  const accounts = readList(value['accounts'], (item) => readIndex(item, total))
  const data = value['data']
  if (program === undefined || !accounts || typeof data !== 'string') return undefined
  return { under, program, accounts, data, height: readCount(value['stackHeight']) }
}

function readIndex(value: unknown, end: number): number | undefined {
  const index = readCount(value)
  return index !== undefined && index < end ? index : undefined
}

function unusable(why: string): MetaReading {
  return { kind: 'unusable', why }
}
