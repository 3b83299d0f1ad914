/**
 * The metrics of a service, with their help texts. `docs/metrics.md` lists them, and a test compares both.
 *
 * Counting costs one map lookup, so every path may count except the path of an unpaid request.
 */

export const metrics = {
  paystile_ready: [
    'gauge',
    'Set to 1 after the service has started, 0 while the ledger or the chain prevents the start.',
  ],
  paystile_leading_pid: [
    'gauge',
    'Id of the process that watches the chain and sends payouts and webhooks, with serve --processes. 0 while none does.',
  ],
  paystile_paused: ['gauge', 'Set to 1 while a route sells nothing because its handler or upstream cannot deliver.'],
  paystile_clock_ahead_seconds: [
    'gauge',
    "Lead of the server's clock over the chain's time, negative if it lags. Beyond 30 s either way the service sells nothing.",
  ],
  paystile_requests_total: [
    'counter',
    'Requests by outcome: challenged, free, refused, reused, delivered, undelivered. Updated every second.',
  ],
  paystile_usage_flush_failures_total: ['counter', 'Failed writes of the request counts to the ledger.'],
  paystile_proofs_total: ['counter', 'Proofs by outcome: admitted, or the code of the refusal.'],
  paystile_proof_seconds: ['histogram', 'Time from the arrival of a proof to its outcome.'],
  paystile_ledger_seconds: ['histogram', 'Duration of ledger calls, by operation.'],
  paystile_ledger_failures_total: ['counter', 'Failed ledger calls, by operation.'],
  paystile_node_calls_total: ['counter', 'Calls to a node.'],
  paystile_node_failures_total: ['counter', 'Calls without a usable answer from the node.'],
  paystile_node_hedges_total: ['counter', 'Calls that were sent to another node because the first was slow.'],
  paystile_node_healthy: ['gauge', 'Set to 1 if the node answered the last call, otherwise 0.'],
  paystile_node_latency_seconds: ['gauge', 'Response time of a node, as a moving average.'],
  paystile_watcher_current: ['gauge', 'Set to 1 while the WebSocket reports payments as they land.'],
  paystile_watcher_connections_total: ['counter', 'WebSocket connections opened to nodes.'],
  paystile_payments_seen_total: ['counter', 'Payments seen on chain, by source: socket, or poll (a list, or a proof).'],
  paystile_payments_missed_total: [
    'counter',
    'Payments whose proof arrived although the WebSocket had not reported them.',
  ],
  paystile_payments_unfinal: ['gauge', 'Payments that the chain can still revert. At most 1,024 are counted.'],
  paystile_payments_concluded_total: ['counter', 'Payments that became finalized or reverted.'],
  paystile_webhooks_total: [
    'counter',
    'Attempts to deliver a webhook: told (delivered), delayed (will be retried) or failed (given up).',
  ],
  paystile_accruals_total: [
    'counter',
    'Final payments that were accrued (shared), or the reason why no payee earns from them: other_recipient, no_partner, insider, too_little, not_delivered.',
  ],
  paystile_dispatches_total: [
    'counter',
    'Steps of outgoing transactions, by kind (payout, conversion, refund) and outcome: landed, unsigned (must be signed again), dropped.',
  ],
  paystile_dispatches_unknown: ['gauge', 'Transactions of a wallet on chain that the ledger does not know, by wallet.'],
  paystile_dispatches_open: ['gauge', 'Outgoing transactions that are planned or signed and not concluded, by kind.'],
  paystile_payout_lamports: ['gauge', 'Balance of the outgoing wallet for fees, in lamports.'],
  paystile_sponsor_lamports: [
    'gauge',
    'Balance of the wallet that pays network fees for x402 and MPP clients, in lamports.',
  ],
  paystile_sponsor_low: [
    'gauge',
    'Set to 1 while the sponsor pays no fees: its balance is below the floor, or a limit is reached.',
  ],
  paystile_facilitator_total: [
    'counter',
    'Calls to the facilitator, by endpoint (verify, settle) and outcome: valid, settled, malformed, or the code of the refusal.',
  ],
  paystile_payout_native: ['gauge', 'Balance of the outgoing wallet for payouts, in whole NATIVE.'],
  paystile_rewards_owed: ['gauge', 'Rewards that are owed and not in progress, in whole NATIVE, by role.'],
} as const satisfies Record<string, readonly ['counter' | 'gauge' | 'histogram', string]>

export type Metric = keyof typeof metrics
export type Labels = Readonly<Record<string, string>>

export interface Meter {
  count(metric: Metric, labels?: Labels, by?: number): void
  /** Returns a function that adds one per call, for events that occur thousands of times a second. */
  counter(metric: Metric, labels?: Labels): () => void
  set(metric: Metric, value: number, labels?: Labels): void
  /** Adds to a histogram. */
  observe(metric: Metric, seconds: number, labels?: Labels): void
  dump(): MetricsDump
  /** In Prometheus's text format. */
  format(): string
}

/** Upper bounds of the histogram buckets, in seconds. */
const secondsBuckets: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** For these metrics the first event matters, so they are exported from the start with the value 0. */
const fromTheStart: readonly (readonly [Metric, Labels?])[] = [
  ['paystile_ready'],
  ['paystile_usage_flush_failures_total'],
  ['paystile_payments_missed_total'],
  ['paystile_payments_concluded_total', { finality: 'finalized' }],
  ['paystile_payments_concluded_total', { finality: 'reverted' }],
  ['paystile_webhooks_total', { outcome: 'failed' }],
]

interface Histogram {
  /** Observations per bucket, and last those above all bounds. */
  readonly counts: number[]
  sum: number
}

type Rows<Value> = Map<Metric, Map<string, Value>>

/** The values of a meter, by metric and labels. */
export interface MetricsDump {
  readonly values: Rows<number>
  readonly histograms: Rows<Histogram>
}

export function createMeter(): Meter {
  const dump: MetricsDump = { values: new Map(), histograms: new Map() }
  const { values, histograms } = dump
  for (const [metric, labels] of fromTheStart) rowOf(values, metric).set(formatLabels(labels), 0)
  return {
    count: (metric, labels, by = 1) => {
      const row = rowOf(values, metric)
      const name = formatLabels(labels)
      row.set(name, (row.get(name) ?? 0) + by)
    },
    counter: (metric, labels) => {
      const row = rowOf(values, metric)
      const name = formatLabels(labels)
      return () => void row.set(name, (row.get(name) ?? 0) + 1)
    },
    set: (metric, value, labels) => void rowOf(values, metric).set(formatLabels(labels), value),
    observe: (metric, seconds, labels) => {
      const row = rowOf(histograms, metric)
      const name = formatLabels(labels)
      const histogram = row.get(name) ?? { counts: [...secondsBuckets, 0].map(() => 0), sum: 0 }
      row.set(name, histogram)
      const place = secondsBuckets.findIndex((end) => seconds <= end)
      const index = place < 0 ? secondsBuckets.length : place
      histogram.counts[index] = (histogram.counts[index] ?? 0) + 1
      histogram.sum += seconds
    },
    dump: () => dump,
    format: () => formatMetrics(dump),
  }
}

function rowOf<Value>(rows: Rows<Value>, metric: Metric): Map<string, Value> {
  const row = rows.get(metric) ?? new Map<string, Value>()
  rows.set(metric, row)
  return row
}

/** In Prometheus's text format. */
export function formatMetrics({ values, histograms }: MetricsDump): string {
  const linesOf = (metric: Metric): readonly string[] => [
    ...[...(values.get(metric) ?? [])].map(([labels, value]) => `${metric}${braced(labels)} ${value}`),
    ...[...(histograms.get(metric) ?? [])].flatMap(([labels, histogram]) => formatHistogram(metric, labels, histogram)),
  ]
  return (Object.keys(metrics) as Metric[])
    .map((metric) => ({ metric, lines: linesOf(metric) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ metric, lines }) => {
      const [type, help] = metrics[metric]
      return `# HELP ${metric} ${help}\n# TYPE ${metric} ${type}\n${lines.join('\n')}\n`
    })
    .join('')
}

/** These gauges are 1 if all is well, so the whole is as well as its worst part. */
const isWorstOf: readonly Metric[] = ['paystile_ready', 'paystile_node_healthy']

/**
 * The metrics of several processes as those of one: counters and histograms are added. The highest gauge counts,
 * because most gauges have a value in one process only.
 */
export function joinMetrics(dumps: readonly MetricsDump[]): MetricsDump {
  const joined: MetricsDump = { values: new Map(), histograms: new Map() }
  for (const { values, histograms } of dumps) {
    for (const [metric, rows] of values) {
      const row = rowOf(joined.values, metric)
      for (const [labels, value] of rows) row.set(labels, joinValues(metric, row.get(labels), value))
    }
    for (const [metric, rows] of histograms) {
      const row = rowOf(joined.histograms, metric)
      for (const [labels, { counts, sum }] of rows) {
        const before = row.get(labels)
        const added = counts.map((count, index) => count + (before?.counts[index] ?? 0))
        row.set(labels, { counts: added, sum: sum + (before?.sum ?? 0) })
      }
    }
  }
  return joined
}

function joinValues(metric: Metric, before: number | undefined, value: number): number {
  if (before === undefined) return value
  if (metrics[metric][0] === 'counter') return before + value
  return isWorstOf.includes(metric) ? Math.min(before, value) : Math.max(before, value)
}

/** The part of a dump that outlives its process: a counter never decreases. */
export function keepCounters({ values, histograms }: MetricsDump): MetricsDump {
  return { values: new Map([...values].filter(([metric]) => metrics[metric][0] === 'counter')), histograms }
}

/** Writes cumulative buckets, as Prometheus requires. */
function formatHistogram(metric: Metric, labels: string, { counts, sum }: Histogram): readonly string[] {
  let total = 0
  const buckets = counts.map((count, index) => {
    total += count
    const end = `le="${secondsBuckets[index] ?? '+Inf'}"`
    return `${metric}_bucket${braced(labels === '' ? end : `${labels},${end}`)} ${total}`
  })
  return [...buckets, `${metric}_sum${braced(labels)} ${sum}`, `${metric}_count${braced(labels)} ${total}`]
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

/** Runs for every paid request, so it allocates no arrays. */
function formatLabels(labels: Labels = {}): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escapeValue(labels[name] ?? '')}"`
  return text
}

function escapeValue(value: string): string {
  return /["\\\n]/.test(value) ? value.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n') : value
}
