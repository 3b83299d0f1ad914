/** Computes the moon from its mean elements (Meeus, low precision). A phase is accurate to about half an hour. */
const dayMs = 86_400_000
const j2000 = Date.UTC(2000, 0, 1, 12)
const degree = Math.PI / 180

const phaseNames = [
  'new moon',
  'waxing crescent',
  'first quarter',
  'waxing gibbous',
  'full moon',
  'waning gibbous',
  'last quarter',
  'waning crescent',
] as const

export function moonAt(time: number) {
  const angle = elongation(time)
  const illuminated = (1 - Math.cos(angle * degree)) / 2
  return {
    at: new Date(time).toISOString(),
    phase: phaseNames[Math.round(angle / 45) % 8] ?? 'new moon',
    /** The illuminated part of the visible disc, 0 to 1. */
    illuminated: Math.round(illuminated * 1000) / 1000,
    ageDays: Math.round((angle / 360) * 29.530588 * 10) / 10,
    coming: [0, 90, 180, 270]
      .map((target) => ({ phase: phaseNames[target / 45] ?? '', at: nextTime(time, target) }))
      .sort((left, right) => left.at - right.at)
      .map(({ phase, at }) => ({ phase, at: new Date(at).toISOString().slice(0, 16).concat('Z') })),
    /** For the terminal, one string per line. */
    drawing: draw(angle),
  }
}

/** The angle between the moon and the sun in degrees: 0 is new, 180 is full. */
function elongation(time: number): number {
  const t = (time - j2000) / dayMs / 36_525
  const d = 297.8501921 + 445_267.1114034 * t
  const m = 357.5291092 + 35_999.0502909 * t
  const n = 134.9633964 + 477_198.8675055 * t
  const sin = (angle: number) => Math.sin(angle * degree)
  const corrections =
    6.289 * sin(n) - 2.1 * sin(m) + 1.274 * sin(2 * d - n) + 0.658 * sin(2 * d) + 0.214 * sin(2 * n) + 0.11 * sin(d)
  return (((d + corrections) % 360) + 360) % 360
}

/** The next time at which the elongation reaches `target`. */
function nextTime(from: number, target: number): number {
  const ahead = (time: number) => ((((elongation(time) - target) % 360) + 540) % 360) - 180
  let low = from
  while (!(ahead(low) < 0 && ahead(low + dayMs / 4) >= 0)) low += dayMs / 4
  let high = low + dayMs / 4
  while (high - low > 1000) {
    const middle = (low + high) / 2
    if (ahead(middle) < 0) low = middle
    else high = middle
  }
  return high
}

function draw(angle: number): readonly string[] {
  const radius = 7
  const edge = Math.cos(angle * degree)
  return Array.from({ length: 2 * radius + 1 }, (_, row) => {
    const y = (row - radius) / radius
    const half = Math.sqrt(Math.max(0, 1 - y * y))
    return Array.from({ length: 4 * radius + 1 }, (_, column) => {
      const x = (column - 2 * radius) / (2 * radius)
      if (Math.abs(x) > half) return ' '
      const isLit = angle < 180 ? x >= edge * half : x <= -edge * half
      return isLit ? '@' : '.'
    })
      .join('')
      .trimEnd()
  })
}
