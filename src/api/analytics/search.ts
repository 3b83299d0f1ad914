/** Lists payments: those with a name, or its first characters, or both of its ends; and by time or by value. */
import { decodeAddress, decodeSignature, encodeBase58, listSignatureRanges } from '../../core/encoding/base58.ts'
import type { DecimalsOf, TokenCode } from '../../core/money/tokens.ts'
import { worthDecimals } from '../../core/money/valuation.ts'
import type { PaymentListItem } from '../../core/payment/history.ts'
import type { Books, ListSum, PaymentListMark, PaymentListQuery } from '../../core/ports/reports.ts'
import { openRequest } from '../../core/protocol/request-id.ts'
import type { Cursors } from './cursor.ts'
import { isNotOnChain } from './format.ts'
import type { PageQuery } from './queries.ts'

export interface SearchParts {
  readonly books: Pick<Books, 'listPayments' | 'findPayers' | 'findPayment' | 'findTransactions'>
  readonly cursors: Pick<Cursors, 'read'>
  /** Returns the pseudonym of a requestId. */
  readonly nameOf: (requestId: string) => string
  /** Returns the pseudonym of a wallet. */
  readonly payerOf: (wallet: Uint8Array) => string
}

type Names = Pick<PaymentListQuery, 'tx' | 'request' | 'payer'>

/** Shorter texts match too many names. */
const shortestStart = 4
/** Names that are compared with the end of a text, and names that a search combines. */
const mostCompared = 50
const mostCombined = 10

export interface Found {
  readonly payments: readonly PaymentListItem[]
  /** The payments have one of these names; without a search, one that admits all. */
  readonly names: readonly Names[]
}

/** The payments that an order by value compares. There is no index by value. */
const mostRanked = 2_000

interface ListParts extends SearchParts {
  readonly decimalsOf: DecimalsOf
}

interface ListQuery extends Omit<PaymentListQuery, 'order'> {
  readonly order: PageQuery['order']
  readonly q: string | undefined
  /** The token of the values. */
  readonly revenueToken: TokenCode
}

export interface ListedPayments extends Found {
  /** Whether there are payments that were not compared. Undefined for an order by time. */
  readonly isCut?: boolean
}

/** The payments in the order of the query. An order by value ranks the latest ones. */
export async function listInOrder(
  parts: ListParts,
  { order, q, revenueToken, ...query }: ListQuery,
  mayNameTransactions: boolean,
): Promise<ListedPayments> {
  if (order === 'latest' || order === 'oldest')
    return searchPayments(parts, { ...query, order }, q, mayNameTransactions)
  const { after, most, ...filter } = query
  const asked = { ...filter, order: 'latest', most: mostRanked + 1 } as const
  const [{ payments, names }, last] = await Promise.all([
    searchPayments(parts, asked, q, mayNameTransactions),
    after && parts.books.findPayment(after.tx),
  ])
  const compare = compareByValue((payment) => computeValue(parts, payment, revenueToken), order)
  const ranked = payments.slice(0, mostRanked).sort(compare)
  // The place of a payment follows from its value, so new payments do not shift the next page.
  const rest = after === undefined ? ranked : ranked.filter((one) => last !== undefined && compare(one, last) > 0)
  return { payments: rest.slice(0, most), names, isCut: payments.length > mostRanked }
}

/** In units of 10⁻¹² of the revenue token. A payment in this token has a value before it has a rate. */
function computeValue(
  { decimalsOf }: Pick<ListParts, 'decimalsOf'>,
  { token, units, worth, fault }: PaymentListItem,
  revenueToken: TokenCode,
): bigint | undefined {
  if (isNotOnChain({ fault })) return undefined
  const decimals = token === revenueToken ? decimalsOf(token) : undefined
  if (worth !== undefined || decimals === undefined) return worth
  return (units * 10n ** BigInt(worthDecimals)) / 10n ** BigInt(decimals)
}

/** Payments without a value are last in both orders. Of equal ones, the latest is first. */
function compareByValue(readValue: (payment: PaymentListItem) => bigint | undefined, order: 'largest' | 'smallest') {
  return (one: PaymentListItem, other: PaymentListItem): number => {
    const [left, right] = [readValue(one), readValue(other)]
    if (left === right) return compareMarks(other, one)
    if (left === undefined || right === undefined) return left === undefined ? 1 : -1
    return left < right === (order === 'smallest') ? -1 : 1
  }
}

/**
 * Tries each meaning of the search text and returns the first that exists.
 *
 * The start of a transaction is a meaning only for a reader who may know transactions: others could guess one letter
 * by letter.
 */
export async function searchPayments(
  parts: SearchParts,
  query: PaymentListQuery,
  q: string | undefined,
  mayNameTransactions: boolean,
): Promise<Found> {
  if (q === undefined) return { payments: await parts.books.listPayments(query), names: [{}] }
  for (const names of interpretExactly(parts, q)) {
    const found = await listAny(parts, query, [names])
    if (found.payments.length > 0) return found
  }
  return listAny(parts, query, await interpretStart(parts, q, mayNameTransactions))
}

function interpretExactly(parts: SearchParts, q: string): readonly Names[] {
  if (!/^[\w-]+$/.test(q)) return []
  const tx = parts.cursors.read(q)?.tx ?? decodeSignature(q)
  if (tx) return [{ tx }]
  if (openRequest(q)) return [{ request: parts.nameOf(q) }]
  const wallet = decodeAddress(q)
  return wallet ? [{ payer: parts.payerOf(wallet) }] : [{ request: q }, { payer: q }]
}

async function interpretStart(
  { books }: SearchParts,
  q: string,
  mayNameTransactions: boolean,
): Promise<readonly Names[]> {
  const [start = '', end = ''] = q.split(/…|\.\.\./)
  if (start.length < shortestStart) return []
  // '~' follows all characters of a pseudonym.
  const payers = await books.findPayers(start, `${start}~`, mostCompared)
  const ranges = mayNameTransactions ? listSignatureRanges(start) : []
  const found = await Promise.all(ranges.map(([from, to]) => books.findTransactions(from, to, mostCompared)))
  const transactions = found.flat().filter((tx) => encodeBase58(tx).endsWith(end))
  const byPayer = payers.filter((payer) => payer.endsWith(end)).slice(0, mostCombined)
  const others = await Promise.all(transactions.slice(0, mostCombined).map((tx) => books.findPayment(tx)))
  // The sums would count a payment of these payers twice.
  const byTransaction = others.flatMap((payment) => (payment && !byPayer.includes(payment.payer) ? [payment] : []))
  return [...byPayer.map((payer) => ({ payer })), ...byTransaction.map(({ tx }) => ({ tx }))].slice(0, mostCombined)
}

/** The payments with any of these names, in the order of the query. A payer in the query excludes the others. */
async function listAny({ books }: SearchParts, query: PaymentListQuery, names: readonly Names[]): Promise<Found> {
  const possible = names.filter((one) => one.payer === undefined || (query.payer ?? one.payer) === one.payer)
  const lists = await Promise.all(possible.map((one) => books.listPayments({ ...query, ...one })))
  const direction = query.order === 'latest' ? -1 : 1
  const seen = new Map(lists.flat().map((payment) => [encodeBase58(payment.tx), payment]))
  const payments = [...seen.values()].sort((one, other) => direction * compareMarks(one, other)).slice(0, query.most)
  return { payments, names: possible }
}

function compareMarks(one: PaymentListMark, other: PaymentListMark): number {
  const at = one.tx.findIndex((byte, index) => byte !== other.tx[index])
  return one.at - other.at || (one.tx[at] ?? 0) - (other.tx[at] ?? 0)
}

/** The sums of everything that was found, on all pages. */
export async function sumFound(
  books: Pick<Books, 'sumPayments'>,
  query: PaymentListQuery,
  names: readonly Names[],
): Promise<readonly ListSum[]> {
  const sums = await Promise.all(names.map((one) => books.sumPayments({ ...query, ...one })))
  return sums.flat()
}
