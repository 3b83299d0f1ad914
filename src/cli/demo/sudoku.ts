/** A sudoku with exactly one solution, generated for each buyer. */
export interface Sudoku {
  /** Nine strings of nine characters; a dot is an empty cell. */
  readonly puzzle: readonly string[]
  readonly clues: number
  readonly solution: readonly string[]
}

type Random = () => number
const allDigits = 0x1ff

export function makeSudoku(random: Random): Sudoku {
  const solution = new Array<number>(81).fill(0)
  search(solution, random, 1)
  const puzzle = [...solution]
  let clues = 81
  for (const cell of shuffle(
    Array.from({ length: 81 }, (_, index) => index),
    random,
  )) {
    const digit = puzzle[cell] ?? 0
    puzzle[cell] = 0
    if (countSolutions(puzzle) === 1) clues -= 1
    else puzzle[cell] = digit
  }
  return { puzzle: toLines(puzzle), clues, solution: toLines(solution) }
}

/** The number of solutions, counted up to two. */
function countSolutions(grid: readonly number[]): number {
  return search([...grid], undefined, 2)
}

/**
 * Fills the grid in place and counts the solutions, up to `limit`. With a limit of one, the first solution stays in the
 * grid.
 */
function search(grid: number[], random: Random | undefined, limit: number): number {
  let [best, options] = [-1, 0]
  for (let cell = 0; cell < 81; cell += 1) {
    if (grid[cell] !== 0) continue
    const free = freeDigits(grid, cell)
    if (best < 0 || countBits(free) < countBits(options)) [best, options] = [cell, free]
    if (countBits(free) <= 1) break
  }
  if (best < 0) return 1
  let digits = Array.from({ length: 9 }, (_, index) => index + 1).filter((digit) => options & (1 << (digit - 1)))
  if (random) digits = shuffle(digits, random)
  let found = 0
  for (const digit of digits) {
    grid[best] = digit
    found += search(grid, random, limit - found)
    if (found >= limit) return found
  }
  grid[best] = 0
  return found
}

function freeDigits(grid: readonly number[], cell: number): number {
  const [row, column] = [Math.floor(cell / 9), cell % 9]
  const corner = Math.floor(row / 3) * 27 + Math.floor(column / 3) * 3
  let used = 0
  for (let index = 0; index < 9; index += 1) {
    const box = corner + Math.floor(index / 3) * 9 + (index % 3)
    for (const other of [row * 9 + index, index * 9 + column, box]) {
      const digit = grid[other] ?? 0
      if (digit > 0) used |= 1 << (digit - 1)
    }
  }
  return allDigits & ~used
}

function countBits(bits: number): number {
  let count = 0
  for (let rest = bits; rest > 0; rest &= rest - 1) count += 1
  return count
}

function shuffle<Item>(items: readonly Item[], random: Random): Item[] {
  const mixed = [...items]
  for (let index = mixed.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1))
    const [left, right] = [mixed[index] as Item, mixed[other] as Item]
    mixed[index] = right
    mixed[other] = left
  }
  return mixed
}

function toLines(grid: readonly number[]): readonly string[] {
  const text = grid.map((digit) => (digit === 0 ? '.' : String(digit))).join('')
  return Array.from({ length: 9 }, (_, row) => text.slice(row * 9, row * 9 + 9))
}
