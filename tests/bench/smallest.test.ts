/**
 * Benchmarks run once at their smallest size, so that none of them can break unnoticed: a few of them in the short form,
 * all in the full form. The numbers mean nothing.
 */
import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { cells, isLong } from '../harness/length.ts'

interface Row {
  readonly name: string
  readonly unit: string
  readonly value: number
  readonly baseline: number
  readonly ratio: number
  readonly spread: number
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const table = new URL('../../bench/benchmarks.mjs', import.meta.url).href

it(`measures every result of ${isLong ? 'every benchmark' : 'a few benchmarks'}, and leaves the results of the last run alone`, async () => {
  const { benchmarks } = (await import(table)) as { benchmarks: readonly { readonly names: readonly string[] }[] }
  const before = readTime(`${root}/bench-results.json`)
  const chosen = cells(benchmarks, 7).flatMap(({ names }) => names)
  const order = ['bench/run.mjs', '--smallest', '--only', chosen.join(',')]
  const { stdout } = await promisify(execFile)(process.execPath, order, { cwd: root })
  const rows = JSON.parse(stdout) as readonly Row[]
  expect(rows.map(({ name }) => name)).toEqual(chosen)
  for (const { name, unit, value, baseline, ratio, spread } of rows) {
    expect(unit, name).not.toBe('')
    // Memory may shrink. At this size, the clock may be too coarse for a small difference, which is then 0.
    expect(Number.isFinite(value) && (value >= 0 || name.startsWith('memory/')), `${name}: value ${value}`).toBe(true)
    expect(Number.isFinite(baseline) && baseline > 0, `${name}: baseline ${baseline}`).toBe(true)
    expect(Number.isFinite(ratio) && ratio >= 0, `${name}: ratio ${ratio}`).toBe(true)
    expect(Number.isFinite(spread) && spread >= 0, `${name}: spread ${spread}`).toBe(true)
  }
  expect(readTime(`${root}/bench-results.json`)).toBe(before)
})

function readTime(path: string): number {
  return existsSync(path) ? statSync(path).mtimeMs : 0
}
