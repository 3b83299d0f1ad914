// Medians and their spread. Rounds are interleaved and compared in pairs, so that a disturbance hits both sides.

/**
 * @typedef {object} Row One result.
 * @property {string} name
 * @property {string} unit
 * @property {number} value Our median.
 * @property {number} baseline The median of the baseline.
 * @property {number} ratio The median of the ratios of the rounds.
 * @property {number} spread Half the distance between the quartiles of the ratios, as a part of their median.
 */

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = sort(values)
  const middle = sorted.length / 2
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? Number.NaN
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/**
 * @param {readonly number[]} values
 * @param {number} part
 */
export function percentile(values, part) {
  const sorted = sort(values)
  return sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
}

/** @param {readonly number[]} values */
export function spread(values) {
  const sorted = sort(values)
  const at = (/** @type {number} */ part) => sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN
  return round((at(0.75) - at(0.25)) / 2 / median(sorted), 3)
}

/** @param {number} value */
export function round(value, digits = 2) {
  return Number(value.toFixed(digits))
}

/**
 * Divides round by round.
 *
 * @param {readonly number[]} values
 * @param {readonly number[]} by
 */
export function divide(values, by) {
  return values.map((value, index) => value / (by[index] ?? Number.NaN))
}

/**
 * @param {string} name
 * @param {string} unit
 * @param {readonly number[]} ours
 * @param {readonly number[]} baseline
 * @param {readonly number[]} ratios
 * @returns {Row}
 */
export function row(name, unit, ours, baseline, ratios = divide(ours, baseline)) {
  return {
    name,
    unit,
    value: round(median(ours)),
    baseline: round(median(baseline)),
    ratio: round(median(ratios), 3),
    spread: spread(ratios),
  }
}

/**
 * For values that chance makes long or short, as slots do, and for small differences: a ratio of medians, with the spread
 * of our values.
 *
 * @param {string} name
 * @param {string} unit
 * @param {readonly number[]} ours
 * @param {readonly number[]} baseline
 * @returns {Row}
 */
export function compareMedians(name, unit, ours, baseline) {
  return { ...row(name, unit, ours, baseline, [median(ours) / median(baseline)]), spread: spread(ours) }
}

/** @param {readonly number[]} values */
function sort(values) {
  return [...values].sort((left, right) => left - right)
}
