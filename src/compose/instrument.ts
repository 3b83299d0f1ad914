/** Wraps ledger and chain with metrics and traces: duration, failures, and spans. */
import { formatMetrics, type Meter } from '../core/observability/metrics.ts'
import type { Chain } from '../core/ports/chain.ts'
import type { Ledger } from '../core/ports/ledger.ts'
import type { Processes } from '../core/ports/processes.ts'
import type { Books } from '../core/ports/reports.ts'
import type { Clock, Trace } from '../core/runtime.ts'
import type { RuntimeParts } from '../paywall/runtime/runtime.ts'
import type { Stops } from './network.ts'

export interface Observers {
  readonly meter: Meter
  readonly trace: Trace
  readonly clock: Clock
}

export function observeLedger(ledger: Ledger, { meter, trace, clock }: Observers): Ledger {
  const timed =
    <Args extends readonly unknown[], Result>(operation: string, call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const askedAt = clock.monotonic()
      try {
        return await call(...args)
      } catch (error) {
        meter.count('paystile_ledger_failures_total', { operation })
        throw error
      } finally {
        meter.observe('paystile_ledger_seconds', (clock.monotonic() - askedAt) / 1000, { operation })
      }
    }
  const take = timed('take', (order: Parameters<Ledger['take']>[0]) => ledger.take(order))
  return {
    ...(ledger.clock && { clock: ledger.clock }),
    ...(ledger.storage && { storage: ledger.storage }),
    journal: ledger.journal,
    books: observeBooks(ledger.books, meter),
    kv: ledger.kv,
    events: ledger.events,
    rewards: ledger.rewards,
    outgoing: ledger.outgoing,
    rates: ledger.rates,
    submissions: ledger.submissions,
    peek: timed('peek', (tx) => ledger.peek(tx)),
    take: (order) =>
      trace.span('paystile.ledger.take', { 'paystile.registers': order.payment !== undefined }, async (note) => {
        const taken = await take(order)
        note({ 'paystile.outcome': taken.kind })
        return taken
      }),
    renew: timed('renew', (grant, leaseMs) => ledger.renew(grant, leaseMs)),
    advance: timed('advance', (grant, used, more) => ledger.advance(grant, used, more)),
    reportSlice: timed('reportSlice', (grant, report) => ledger.reportSlice(grant, report)),
    end: timed('end', (grant, outcome, used) => ledger.end(grant, outcome, used)),
    recordLate: timed('recordLate', (payment) => ledger.recordLate(payment)),
    close: () => ledger.close(),
  }
}

/**
 * Request outcomes are counted in memory and written every second. The metrics are updated with that write, so that
 * single requests do not bear the cost.
 */
function observeBooks(books: Books, meter: Meter): Books {
  return {
    sums: (period) => books.sums(period),
    endpoints: (period, most) => books.endpoints(period, most),
    series: (query) => books.series(query),
    payerSeries: (query) => books.payerSeries(query),
    listPayments: (query) => books.listPayments(query),
    sumPayments: (query) => books.sumPayments(query),
    findPayers: (from, to, most) => books.findPayers(from, to, most),
    findTransactions: (from, to, most) => books.findTransactions(from, to, most),
    findPayment: (tx) => books.findPayment(tx),
    history: (tx) => books.history(tx),
    payers: (query) => books.payers(query),
    problems: (query) => books.problems(query),
    countProblems: (most) => books.countProblems(most),
    countUndelivered: (period) => books.countUndelivered(period),
    count: async (usage) => {
      try {
        await books.count(usage)
      } catch (error) {
        meter.count('paystile_usage_flush_failures_total')
        throw error
      }
      for (const { event, count } of usage) meter.count('paystile_requests_total', { outcome: event }, count)
    },
    usage: (period) => books.usage(period),
    audit: () => books.audit(),
    rebuild: (reportToken) => books.rebuild(reportToken),
    reportToken: () => books.reportToken(),
  }
}

export function observeChain(chain: Chain, trace: Trace): Chain {
  return {
    ...chain,
    read: (signature, waitMs, options) =>
      trace.span('paystile.chain.read', { 'paystile.commitment': options?.commitment ?? 'confirmed' }, async (note) => {
        const reading = await chain.read(signature, waitMs, options)
        note({ 'paystile.outcome': reading.kind })
        return reading
      }),
  }
}

/** The metrics and the background work of one of several processes, or of the only one. */
export function shareMeter(
  meter: Meter,
  processes: Processes | undefined,
  stops: Stops,
): Pick<RuntimeParts, 'formatMetrics' | 'leads'> {
  if (!processes) return { formatMetrics: async () => meter.format(), leads: () => true }
  stops.push(processes.addMeter(meter))
  return { formatMetrics: async () => formatMetrics(await processes.readMetrics()), leads: processes.leads }
}
