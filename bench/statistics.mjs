// Medians and their spread. Rounds are interleaved and compared in pairs, so that a slow moment hits both sides.
export function median(values) {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Half the distance between the quartiles, as a part of the median. */
export function spread(values) {
  const sorted = [...values].sort((left, right) => left - right)
  const at = (part) => sorted[Math.round((sorted.length - 1) * part)]
  return round((at(0.75) - at(0.25)) / 2 / median(sorted), 3)
}

export function round(value, digits = 2) {
  return Number(value.toFixed(digits))
}

export function row(name, unit, ours, baseline, ratios) {
  return {
    name,
    unit,
    value: round(median(ours)),
    baseline: round(median(baseline)),
    ratio: round(median(ratios), 3),
    spread: spread(ratios),
  }
}
