/** Books on paper: sums are counted from the payments whenever somebody asks. What the real ones must agree with. */
import { knownCodes, type TokenCode } from '../../src/core/money/tokens.ts'
import type { PaymentListItem } from '../../src/core/payment/history.ts'
import type { Books, PaymentListMark, Period, ProblemKind, Sum, Usage } from '../../src/core/ports/reports.ts'
import { problemKinds } from '../../src/core/ports/reports.ts'

export interface PaperBooks extends Books {
  readonly payments: PaymentListItem[]
  readonly usages: Usage[]
}

const counts = ({ state }: PaymentListItem): boolean => state === 'confirmed' || state === 'finalized'
const isIn = (at: number, { from = 0, to = Number.POSITIVE_INFINITY }: Period): boolean => at >= from && at < to

const sumOf = (token: TokenCode, own: readonly PaymentListItem[]): Sum => ({
  token,
  payments: own.length,
  received: own.reduce((sum, { units }) => sum + units, 0n),
  worth: own.reduce((sum, { worth = 0n }) => sum + worth, 0n),
  unvalued: own.filter(({ worth }) => worth === undefined).length,
  refunded: 0n,
  refundedWorth: 0n,
})
const sumsOf = (all: readonly PaymentListItem[]): readonly Sum[] =>
  knownCodes
    .map((token) =>
      sumOf(
        token,
        all.filter((one) => one.token === token),
      ),
    )
    .filter((sum) => sum.payments > 0)

export function createPaperBooks(): PaperBooks {
  const books = createBooks()
  return {
    ...books,
    sumPayments: async (query) => {
      const listed = await books.listPayments(query)
      return sumsOf(listed.filter(counts)).map(({ token, payments, received, worth, unvalued, refundedWorth }) => {
        const others = listed.filter((one) => one.token === token && !counts(one))
        const notOnChain = others.filter(({ fault }) => fault === 'not_on_chain').length
        const sum = { token, payments, units: received, worth, unvalued, refundedWorth }
        return { ...sum, unaccepted: others.length - notOnChain, notOnChain }
      })
    },
  }
}

function createBooks(): Omit<PaperBooks, 'sumPayments'> {
  const payments: PaymentListItem[] = []
  const usages: Usage[] = []
  const earned = (period: Period) => payments.filter((one) => counts(one) && isIn(one.at, period))
  return {
    payments,
    usages,
    sums: async (period) => sumsOf(earned(period)),
    endpoints: async (period, most) => {
      const all = earned(period)
      const names = [...new Set(all.map(({ endpoint }) => endpoint))]
      const of = (name: string) => all.filter(({ endpoint }) => endpoint === name)
      return names
        .sort((one, other) => of(other).length - of(one).length)
        .slice(0, most)
        .flatMap((endpoint) => sumsOf(of(endpoint)).map((sum) => ({ ...sum, endpoint })))
    },
    series: async ({ from, to, step, endpoint }) => {
      const ms = step === 'hour' ? 3_600_000 : 86_400_000
      const all = earned({ from, to }).filter((one) => endpoint === undefined || one.endpoint === endpoint)
      const starts = [...new Set(all.map(({ at }) => Math.floor(at / ms) * ms))].sort((one, other) => one - other)
      return starts.flatMap((at) =>
        sumsOf(all.filter((one) => Math.floor(one.at / ms) * ms === at)).map((sum) => ({ ...sum, at })),
      )
    },
    listPayments: async ({ from, to, endpoint, token, status, state, payer, request, tx, after, order, most }) => {
      const sign = order === 'oldest' ? 1 : -1
      return payments
        .filter((one) => isIn(one.at, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }))
        .filter((one) => endpoint === undefined || one.endpoint === endpoint)
        .filter(
          (one) => (token === undefined || one.token === token) && (status === undefined || one.status === status),
        )
        .filter((one) => (state === undefined || one.state === state) && (payer === undefined || one.payer === payer))
        .filter((one) => (request === undefined || one.request === request) && (!tx || String(one.tx) === String(tx)))
        .sort((one, other) => sign * compare(one, other))
        .filter((one) => after === undefined || sign * compare(one, after) > 0)
        .slice(0, most)
    },
    payerSeries: async ({ payer, from, to }) => {
      const day = (at: number) => Math.floor(at / 86_400_000) * 86_400_000
      const own = earned({ from, to }).filter((one) => one.payer === payer)
      const days = [...new Set(own.map(({ at }) => day(at)))].sort((one, other) => one - other)
      return days.flatMap((at) => sumsOf(own.filter((one) => day(one.at) === at)).map((sum) => ({ ...sum, at })))
    },
    findPayers: async (from, to, most) =>
      [...new Set(payments.map(({ payer }) => payer))].filter((name) => name >= from && name <= to).slice(0, most),
    findTransactions: async (from, to, most) =>
      payments
        .map(({ tx }) => tx)
        .filter((tx) => Buffer.compare(tx, from) >= 0 && Buffer.compare(tx, to) <= 0)
        .slice(0, most),
    findPayment: async (tx) => payments.find((one) => String(one.tx) === String(tx)),
    history: async () => undefined,
    payers: async () => ({ payers: [] }),
    problems: async () => [],
    countProblems: async () => Object.fromEntries(problemKinds.map((kind) => [kind, 0])) as Record<ProblemKind, number>,
    countUndelivered: async (period) =>
      earned(period).flatMap(({ delivery, endpoint }) => (delivery === 'none' ? [{ endpoint, count: 1 }] : [])),
    count: async (lines) => void usages.push(...lines),
    usage: async (period) => usages.filter(({ at }) => isIn(at, period)).map((one) => ({ ...one, at: 0 })),
    audit: async () => [],
    rebuild: async () => {},
    reportToken: async () => 'USDC',
  }
}

function compare(one: PaymentListMark, other: PaymentListMark): number {
  return one.at - other.at || Buffer.compare(one.tx, other.tx)
}

/** A payment; what is not said is as it usually is. */
export function captureOf(number: number, more: Partial<PaymentListItem> = {}): PaymentListItem {
  const tx = new Uint8Array(64).fill(number % 256)
  new DataView(tx.buffer).setUint32(0, number)
  return {
    tx,
    at: Date.parse('2026-03-01T12:00:00Z') + number * 1_000,
    request: `request-${number}`,
    payer: `payer-${number % 3}`,
    recipient: 'the recipient',
    endpoint: '/api/a',
    token: 'USDC',
    units: 10_000n,
    worth: 10_000_000_000n,
    status: 'confirmed',
    state: 'finalized',
    delivery: 'all',
    ...more,
  }
}
