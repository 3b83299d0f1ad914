import { expect, it } from 'vitest'
import { createMeter, metrics } from './metrics.ts'

it("writes what was counted in Prometheus's format, in one order", () => {
  const meter = createMeter()
  meter.set('paystile_node_healthy', 1, { node: 'node 1' })
  meter.set('paystile_node_healthy', 0, { node: 'node 1' })
  meter.count('paystile_proofs_total', { outcome: 'admitted' })
  meter.count('paystile_proofs_total', { outcome: 'admitted' }, 2)
  meter.count('paystile_proofs_total', { outcome: 'payment_replay' })
  meter.set('paystile_watcher_current', 1)
  const told = meter
    .format()
    .split('\n')
    .filter((line) => !/ready|missed|concluded/.test(line))
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

it('begins with what one waits for, at zero, and says nothing of the rest', () => {
  const lines = createMeter()
    .format()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines).toEqual([
    'paystile_ready 0',
    'paystile_payments_missed_total 0',
    'paystile_payments_concluded_total{finality="finalized"} 0',
    'paystile_payments_concluded_total{finality="reverted"} 0',
  ])
})
