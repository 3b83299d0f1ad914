/** Holds docs/threats.md against the tests: what it calls tested is tested, and the other way round. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(`${root}/${path}`, 'utf8')

interface Row {
  readonly number: number
  readonly tested: boolean
  readonly files: readonly string[]
  readonly reason: string
}

function rows(): readonly Row[] {
  const lines = read('docs/threats.md').matchAll(/^\| (\d+) \|[^|]*\| (tested|not tested) \| (.*) \|$/gm)
  return [...lines].map(([, number, state, where = '']) => ({
    number: Number(number),
    tested: state === 'tested',
    files: [...where.matchAll(/`((?:tests|src)\/[^`]+)`/g)].map(([, file = '']) => file),
    reason: where,
  }))
}

/** Its rows are the beginnings of the titles in tests/chaos. */
const faultTable = 'tests/chaos/faults.ts'

/** The rows that each test file names at the beginning of a title: `T41: …` or `T27, T31: …`. */
function titles(): ReadonlyMap<string, ReadonlySet<number>> {
  const files = ['tests', 'src'].flatMap((folder) =>
    readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
      .filter((file) => (file.endsWith('.test.ts') || file === faultTable) && !file.includes('node_modules')),
  )
  return new Map(
    files.map((file) => {
      const found = [...read(file).matchAll(/['"`](T\d+(?:, T\d+)*): /g)]
      return [file, new Set(found.flatMap(([, list = '']) => [...list.matchAll(/\d+/g)].map(Number)))]
    }),
  )
}

/** Numbers that the catalogue skips. */
const absent = [9, 13, 26, 38, 40, 43, 72, 82, 93, 94, 108, 109, 118, ...listNumbers(215, 229)]

function listNumbers(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

it('lists every row once, in order', () => {
  const numbers = rows().map(({ number }) => number)
  const wanted = listNumbers(1, numbers.at(-1) ?? 0).filter((number) => !absent.includes(number))
  expect(numbers).toEqual(wanted)
})

it('finds a title for every row that is called tested, in every file that is named', () => {
  const named = titles()
  const tested = rows().filter((row) => row.tested)
  const missing = tested.flatMap(({ number, files }) => {
    const without = files.filter((file) => !named.get(file)?.has(number))
    return files.length === 0 ? [`T${number}: no file`] : without.map((file) => `T${number}: ${file}`)
  })
  expect(missing).toEqual([])
})

it('calls no row untested that a title names, and knows every number', () => {
  const tested = new Set(rows().flatMap((row) => (row.tested ? [row.number] : [])))
  const unknown = [...titles()].flatMap(([file, found]) =>
    [...found].filter((number) => !tested.has(number)).map((number) => `T${number}: ${file}`),
  )
  expect(unknown).toEqual([])
})

it('says why a row is not tested', () => {
  const silent = rows().filter(({ tested, reason }) => !tested && reason.length < 10)
  expect(silent).toEqual([])
})
