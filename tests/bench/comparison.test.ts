import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

type Row = Readonly<Record<'name' | 'unit', string>> &
  Readonly<Record<'value' | 'baseline' | 'ratio' | 'spread', number>>

const { formatComparison } = (await import(new URL('../../bench/comparison.mjs', import.meta.url).href)) as {
  formatComparison: (rows: readonly Row[]) => string
}
const ends = ['unpaid-cpu', 'time', 'cpu', 'deliveries', 'deliveries-2']
const rows = ['x402', 'mpp', 'faremeter'].flatMap((name, index) =>
  ends.map((end) => ({ name: `peers/${name}-${end}`, unit: '', value: 1, baseline: index, ratio: 0.5, spread: 0 })),
)

it('shows the deliveries, and how many times as much the others take', () => {
  const [, , deliveries, ...measured] = formatComparison(rows).split('\n')
  expect(deliveries).toMatch(/ \| 1 · 1 \| 0 · 0 \| 1 · 1 \| 2 · 2 \|$/)
  expect(measured).toHaveLength(3)
  for (const line of measured) expect(line).toMatch(/, relative \| 1 \| 2 \| 2 \| 2 \|$/)
})

it('is empty if a row is absent', () => {
  expect(formatComparison(rows.slice(1))).toBe('')
})

it('is the table of the README, with other numbers', () => {
  const strip = (line: string) => line.replaceAll(/ [\d.·]+(?: · \d+)?(?= \|)/g, ' #')
  const readme = new Set(
    readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
      .split('\n')
      .map(strip),
  )
  expect(
    formatComparison(rows)
      .split('\n')
      .map(strip)
      .filter((line) => !readme.has(line)),
  ).toEqual([])
})
