/**
 * What a service counts. Every name is here, with what it means; `docs/metrics.md` lists the same, and a test compares.
 *
 * Counting costs one look into a map, so it may stand on any path but that of an unpaid request.
 */

export const metrics = {
  paystile_ready: ['gauge', 'Whether the service has started: 0 while ledger or chain keep it from it.'],
  paystile_proofs_total: ['counter', 'Proofs by outcome: admitted, or the code of the refusal.'],
  paystile_node_calls_total: ['counter', 'Questions to a node.'],
  paystile_node_failures_total: ['counter', 'Questions that a node gave no usable answer to.'],
  paystile_node_hedges_total: ['counter', 'Times another node was asked because the first was slow.'],
  paystile_node_healthy: ['gauge', 'Whether the last question to a node was answered.'],
  paystile_node_latency_seconds: ['gauge', 'How long answers of a node take, as a moving average.'],
  paystile_watcher_current: ['gauge', 'Whether the WebSocket tells of payments as they land.'],
  paystile_watcher_connections_total: ['counter', 'WebSockets that were opened to nodes.'],
  paystile_payments_seen_total: [
    'counter',
    'Payments seen on chain, by what told of them: socket or poll (a list, or their proof).',
  ],
  paystile_payments_missed_total: ['counter', 'Payments whose proof came although the WebSocket had not told of them.'],
  paystile_payments_unfinal: [
    'gauge',
    'Payments that the chain might still take back, as far as they are looked at in one go (1,024).',
  ],
  paystile_payments_concluded_total: ['counter', 'Payments that became finalized or reverted.'],
  paystile_webhooks_total: [
    'counter',
    'Attempts to tell a webhook: told, delayed (it is tried again) or failed (it is not).',
  ],
} as const satisfies Record<string, readonly ['counter' | 'gauge', string]>

export type Metric = keyof typeof metrics
export type Labels = Readonly<Record<string, string>>

export interface Meter {
  count(metric: Metric, labels?: Labels, by?: number): void
  set(metric: Metric, value: number, labels?: Labels): void
  /** In Prometheus's text format. */
  format(): string
}

/** Of these the first one matters, so they are told from the beginning. */
const fromTheStart: readonly (readonly [Metric, Labels?])[] = [
  ['paystile_ready'],
  ['paystile_payments_missed_total'],
  ['paystile_payments_concluded_total', { finality: 'finalized' }],
  ['paystile_payments_concluded_total', { finality: 'reverted' }],
]

export function createMeter(): Meter {
  const values = new Map<Metric, Map<string, number>>()
  const rowOf = (metric: Metric): Map<string, number> => {
    const row = values.get(metric) ?? new Map<string, number>()
    values.set(metric, row)
    return row
  }
  for (const [metric, labels] of fromTheStart) rowOf(metric).set(formatLabels(labels), 0)
  return {
    count: (metric, labels, by = 1) => {
      const row = rowOf(metric)
      const name = formatLabels(labels)
      row.set(name, (row.get(name) ?? 0) + by)
    },
    set: (metric, value, labels) => void rowOf(metric).set(formatLabels(labels), value),
    format: () =>
      (Object.keys(metrics) as Metric[])
        .filter((metric) => values.has(metric))
        .map((metric) => {
          const [type, help] = metrics[metric]
          const lines = [...rowOf(metric)].map(([labels, value]) => `${metric}${labels} ${value}`)
          return `# HELP ${metric} ${help}\n# TYPE ${metric} ${type}\n${lines.join('\n')}\n`
        })
        .join(''),
  }
}

/** Values come from our own code: names of nodes and codes, which need no escape. */
function formatLabels(labels: Labels = {}): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}
