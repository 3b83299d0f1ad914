/**
 * Sizes of the suites that are long by nature: thousands of seeds, kill loops, histories, matrices.
 *
 * `npm test` runs their short form, `npm run test:long` runs every file that imports this one in its full form.
 */
export const isLong = process.env['PAYSTILE_TEST_LONG'] === '1'

export function size(short: number, full: number): number {
  return isLong ? full : short
}

/** Cases of a property that parses or computes. */
export const fuzzRuns = size(3_000, 50_000)

/** The cells of a matrix: every `step`-th in the short form, all in the full form. */
export function cells<Cell>(all: readonly Cell[], step: number): readonly Cell[] {
  return isLong ? all : all.filter((_cell, index) => index % step === 0)
}
