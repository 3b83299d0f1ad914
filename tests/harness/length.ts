/**
 * Sizes of the suites that are long by nature: thousands of seeds, kill loops, histories, matrices.
 *
 * `npm test` runs their short form, `npm run test:long` runs every file that imports this one in its full form.
 */
import { it } from 'vitest'

export const isLong = process.env['PAYSTILE_TEST_LONG'] === '1'

export function size(short: number, full: number): number {
  return isLong ? full : short
}

/** Cases of a property that parses or computes. */
export const fuzzRuns = size(300, 10_000)

/** The cells of a matrix: every `step`-th from `first` on in the short form, all in the full form. */
export function cells<Cell>(all: readonly Cell[], step: number, first = 0): readonly Cell[] {
  return isLong ? all : all.filter((_cell, index) => index % step === first % step)
}

/** Cases that only the full form has, because the short form has one of the same rule. */
export function inFull<Case>(all: readonly Case[]): readonly Case[] {
  return isLong ? all : []
}

/** A test that only the full form has, because the short form has one of the same rule. */
export function itInFull(title: string, run: () => Promise<void> | void): void {
  if (isLong) it(title, run)
}

const themes = ['light', 'dark'] as const
let turn = 0

/** The colour schemes in which to check a page: both in the full form, one after the other in the short form. */
export function nextThemes(): readonly (typeof themes)[number][] {
  turn += 1
  return cells(themes, 2, turn)
}
