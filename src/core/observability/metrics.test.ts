import { expect, it } from 'vitest'
import { createMeter, formatMetrics, joinMetrics, keepCounters, metrics } from './metrics.ts'

it('tells nothing of a counter that has not counted', () => {
  const meter = createMeter()
  const before = meter.format()
  meter.counter('paystile_proofs_total', { outcome: 'admitted' })
  expect(meter.format()).toBe(before)
})

it('writes counters in the Prometheus format, in a fixed order', () => {
  const meter = createMeter()
  meter.set('paystile_node_healthy', 1, { node: 'node 1' })
  meter.set('paystile_node_healthy', 0, { node: 'node 1' })
  meter.count('paystile_proofs_total', { outcome: 'admitted' })
  const countAdmitted = meter.counter('paystile_proofs_total', { outcome: 'admitted' })
  countAdmitted()
  countAdmitted()
  meter.count('paystile_proofs_total', { outcome: 'payment_replay' })
  meter.set('paystile_watcher_current', 1)
  const told = meter
    .format()
    .split('\n')
    .filter((line) => !/ready|missed|concluded|flush|webhooks/.test(line))
  expect(told).toEqual([
    `# HELP paystile_proofs_total ${metrics.paystile_proofs_total[1]}`,
    '# TYPE paystile_proofs_total counter',
    'paystile_proofs_total{outcome="admitted"} 3',
    'paystile_proofs_total{outcome="payment_replay"} 1',
    `# HELP paystile_node_healthy ${metrics.paystile_node_healthy[1]}`,
    '# TYPE paystile_node_healthy gauge',
    'paystile_node_healthy{node="node 1"} 0',
    `# HELP paystile_watcher_current ${metrics.paystile_watcher_current[1]}`,
    '# TYPE paystile_watcher_current gauge',
    'paystile_watcher_current 1',
    '',
  ])
})

it('starts the expected counters at zero, and omits all others', () => {
  const lines = createMeter()
    .format()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines).toEqual([
    'paystile_ready 0',
    'paystile_usage_flush_failures_total 0',
    'paystile_payments_missed_total 0',
    'paystile_payments_concluded_total{finality="finalized"} 0',
    'paystile_payments_concluded_total{finality="reverted"} 0',
    'paystile_webhooks_total{outcome="failed"} 0',
  ])
})

it('tells how long things took: in classes, each with all below it, their sum and their number', () => {
  const meter = createMeter()
  for (const seconds of [0.0005, 0.001, 0.03, 99])
    meter.observe('paystile_ledger_seconds', seconds, { operation: 'take' })
  meter.observe('paystile_proof_seconds', 0.2)
  const lines = meter.format().split('\n')
  const told = lines.filter((line) => /^paystile_ledger_seconds/.test(line))
  expect(told.slice(0, 5)).toEqual([
    'paystile_ledger_seconds_bucket{operation="take",le="0.001"} 2',
    'paystile_ledger_seconds_bucket{operation="take",le="0.005"} 2',
    'paystile_ledger_seconds_bucket{operation="take",le="0.01"} 2',
    'paystile_ledger_seconds_bucket{operation="take",le="0.025"} 2',
    'paystile_ledger_seconds_bucket{operation="take",le="0.05"} 3',
  ])
  expect(told.slice(-4)).toEqual([
    'paystile_ledger_seconds_bucket{operation="take",le="10"} 3',
    'paystile_ledger_seconds_bucket{operation="take",le="+Inf"} 4',
    'paystile_ledger_seconds_sum{operation="take"} 99.0315',
    'paystile_ledger_seconds_count{operation="take"} 4',
  ])
  expect(lines).toContain('# TYPE paystile_ledger_seconds histogram')
  expect(lines).toContain('paystile_proof_seconds_bucket{le="0.25"} 1')
  expect(lines).toContain('paystile_proof_seconds_sum 0.2')
})

it('T139: escapes labels, so that input cannot end a line or a label', () => {
  const meter = createMeter()
  meter.count('paystile_node_calls_total', { node: 'a"} 1\nforged{x="\\' })
  const lines = meter.format().split('\n')
  expect(lines).toContain(String.raw`paystile_node_calls_total{node="a\"} 1\nforged{x=\"\\"} 1`)
  expect(lines.filter((line) => line.startsWith('forged'))).toEqual([])
})

it('joins the metrics of processes: counters and histograms are added, the highest gauge counts', () => {
  const [one, other] = [createMeter(), createMeter()]
  one.count('paystile_node_calls_total', { node: '0' }, 2)
  other.count('paystile_node_calls_total', { node: '0' }, 3)
  one.set('paystile_payments_unfinal', 7)
  one.set('paystile_ready', 1)
  for (const meter of [one, other]) meter.observe('paystile_proof_seconds', 0.2)
  const lines = formatMetrics(joinMetrics([one.dump(), other.dump()])).split('\n')
  expect(lines).toContain('paystile_node_calls_total{node="0"} 5')
  expect(lines).toContain('paystile_payments_unfinal 7')
  expect(lines).toContain('paystile_ready 0')
  expect(lines).toContain('paystile_proof_seconds_bucket{le="0.25"} 2')
  expect(lines).toContain('paystile_proof_seconds_sum 0.4')
})

it('keeps the counters of a process that ended, and not its gauges', () => {
  const ended = createMeter()
  ended.count('paystile_node_calls_total', { node: '0' }, 2)
  ended.set('paystile_payments_unfinal', 7)
  const text = formatMetrics(keepCounters(ended.dump()))
  expect([/^paystile_node_calls_total.* 2$/m.test(text), text.includes('unfinal')]).toEqual([true, false])
})
