import fc from 'fast-check'
import { expect, it } from 'vitest'
import { qrPath, qrSize, quietZone } from './qr-path.ts'

/** Walks the path as a browser would, and notes which modules the pen covers. */
function drawn(path: string, size: number): readonly string[] {
  const grid = Array.from({ length: size }, () => Array.from({ length: size }, () => '0'))
  let [x, y] = [0, 0]
  for (const [, command, first = '', second = ''] of path.matchAll(/([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?/g)) {
    if (command === 'M') [x, y] = [Number(first), Number(second)]
    else if (command === 'm') [x, y] = [x + Number(first), y + Number(second)]
    else {
      for (let step = 0; step < Number(first); step++) {
        const row = grid[Math.floor(y)]
        if (row) row[x + step] = '1'
      }
      x += Number(first)
    }
  }
  return grid.map((row) => row.join(''))
}

it('draws every dark module and no other, inside a quiet zone', () => {
  const square = fc.integer({ min: 1, max: 30 }).chain((side) =>
    fc.array(fc.string({ unit: fc.constantFrom('0', '1'), minLength: side, maxLength: side }), {
      minLength: side,
      maxLength: side,
    }),
  )
  fc.assert(
    fc.property(square, (rows) => {
      const size = qrSize(rows)
      const edge = '0'.repeat(quietZone)
      const blank = Array.from({ length: quietZone }, () => '0'.repeat(size))
      expect(drawn(qrPath(rows), size)).toEqual([...blank, ...rows.map((row) => `${edge}${row}${edge}`), ...blank])
    }),
  )
})
