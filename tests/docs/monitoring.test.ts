/** Dashboard and alerts speak of metrics that exist, in ways in which they can be spoken of. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type Metric, metrics } from '../../src/core/observability/metrics.ts'
import { refusals } from '../../src/core/payment/refusals.ts'
import { usageEvents } from '../../src/core/ports/reports.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
  }[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}
interface Alerts {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly labels: { readonly severity: string }
      readonly annotations: Readonly<Record<string, string>>
    }[]
  }[]
}

const dashboard = JSON.parse(read('deploy/grafana/paystile.json')) as Dashboard
const { groups } = parse(read('deploy/prometheus/alerts.yaml')) as Alerts
const rules = groups.flatMap((group) => group.rules)
const panelTargets = dashboard.panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })))
const expressions = [
  ...panelTargets.map(({ title, expr }) => [title, expr] as const),
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
]

/** As docs/metrics.md has them; `le` and `instance` come from Prometheus. */
const labelsOf = new Map(
  [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \| \w+ \| ([^|]*)\|/gm)].map(([, name = '', labels = '']) => [
    name,
    [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
  ]),
)
const valuesOf: Readonly<Record<string, readonly string[]>> = {
  'paystile_proofs_total outcome': ['admitted', ...Object.keys(refusals)],
  'paystile_requests_total outcome': usageEvents,
  'paystile_webhooks_total outcome': ['told', 'delayed', 'failed'],
  'paystile_payments_concluded_total finality': ['finalized', 'reverted'],
  'paystile_ledger_seconds operation': ['peek', 'take', 'renew', 'advance', 'end', 'recordLate'],
}

interface Use {
  readonly metric: Metric
  readonly part: string
  readonly selector: string
  /** What stands before it and behind it. */
  readonly before: string
  readonly after: string
}

function usesIn(expression: string): readonly Use[] {
  return [...expression.matchAll(/\b(paystile_\w+?)(_bucket|_sum|_count)?(?!\w)(?:\{([^}]*)\})?/g)].map((match) => ({
    metric: match[1] as Metric,
    part: match[2] ?? '',
    selector: match[3] ?? '',
    before: expression.slice(0, match.index),
    after: expression.slice(match.index + match[0].length),
  }))
}

describe.each(expressions)('%s: %s', (_title, expression) => {
  const uses = usesIn(expression)

  it('names metrics that exist, by the parts that their kind has', () => {
    expect(uses.length).toBeGreaterThan(0)
    for (const { metric, part } of uses) {
      expect(Object.keys(metrics)).toContain(metric)
      expect(part !== '').toBe(metrics[metric][0] === 'histogram')
    }
  })

  it('looks at counters by their growth, and at gauges as they are', () => {
    for (const { metric, before, after } of uses) {
      const isGrowth = /(rate|increase)\($/.test(before) && /^\[[\w$]+\]\)/.test(after)
      expect([metric, isGrowth]).toEqual([metric, metrics[metric][0] !== 'gauge'])
    }
  })

  it('selects and groups by labels that they have, with values that occur', () => {
    const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
    for (const { metric, selector } of uses) {
      const known = [...(labelsOf.get(metric) ?? []), 'instance', ...(metrics[metric][0] === 'histogram' ? ['le'] : [])]
      const selected = [...selector.matchAll(/(\w+)(=~?)"([^"]*)"/g)]
      expect(selected.map(([, label]) => label).filter((label) => !known.includes(label ?? ''))).toEqual([])
      expect(grouped.filter((label) => !known.includes(label))).toEqual([])
      for (const [, label, sign, value = ''] of selected) {
        if (label === 'instance') continue
        const values = sign === '=~' ? value.split('|') : [value]
        expect(valuesOf[`${metric} ${label}`]).toEqual(expect.arrayContaining(values))
      }
    }
  })

  it('has all its brackets closed', () => {
    for (const [open, close] of ['()', '[]', '{}']) {
      expect(expression.split(open ?? '').length).toBe(expression.split(close ?? '').length)
    }
  })
})

describe('the dashboard', () => {
  it('shows every metric', () => {
    const shown = new Set(panelTargets.flatMap(({ expr }) => usesIn(expr).map(({ metric }) => metric)))
    expect([...shown].sort()).toEqual(Object.keys(metrics).sort())
  })

  it('names lines by labels that are left', () => {
    for (const { expr, legendFormat } of panelTargets) {
      for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        expect(expr).toMatch(new RegExp(`by \\([^)]*\\b${label}\\b`))
    }
  })

  it('has no two panels in one place', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true)
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  })

  it('asks only for variables that it has', () => {
    const names = dashboard.templating.list.map(({ name }) => name)
    const asked = [...read('deploy/grafana/paystile.json').matchAll(/\$\{?(?!__)(\w+)/g)].map(([, name]) => name ?? '')
    expect(asked.filter((name) => !names.includes(name))).toEqual([])
  })
})

describe('the alerts', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s names problem and action', (_alert, rule) => {
    expect(['critical', 'warning']).toContain(rule.labels.severity)
    const { summary = '', description = '', runbook = '' } = rule.annotations
    expect(summary.length).toBeGreaterThan(10)
    expect(description.length).toBeGreaterThan(10)
    const [file = '', anchor = ''] = runbook.split('#')
    expect(existsSync(join(root, file))).toBe(true)
    const anchors = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slug(heading))
    expect(anchors).toContain(anchor)
  })

  it('have names of their own', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  })
})

/** As GitHub makes anchors. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replace(/\s+/g, '-')
}
