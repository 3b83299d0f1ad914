import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

interface Choice {
  readonly chosen: readonly { readonly names: readonly string[] }[]
  readonly isWanted: (name: string) => boolean
  readonly isLarge: boolean
  readonly isSmallest: boolean
  readonly against: string
}

const { readArguments } = (await import(new URL('../../bench/arguments.mjs', import.meta.url).href)) as {
  readArguments: (args: readonly string[]) => Choice
}

/** The results that would be reported. */
function choose(...args: string[]): readonly string[] {
  const { chosen, isWanted } = readArguments(args)
  return chosen.flatMap(({ names }) => names).filter(isWanted)
}

it('runs everything that needs no further option when no name is given', () => {
  const names = choose()
  expect(names).toContain('paid/end-to-end')
  expect(names).toContain('payouts/transactions')
  expect(names.filter((name) => /^(analytics|ledger|peers|scale)\//.test(name))).toEqual([])
})

it('chooses by whole names and by their beginnings, as plain arguments and with --only', () => {
  const replicas = ['known/replicas-2-to-1', 'known/replicas-4-to-1']
  expect(choose('known/replicas')).toEqual(replicas)
  expect(choose('--only', 'known/replicas')).toEqual(replicas)
  expect(choose('--only', 'unpaid/hono,gateway')).toEqual(['gateway/paid', 'unpaid/hono'])
  expect(choose('--only=unpaid/hono', '--only', 'memory', 'gateway/paid')).toEqual([
    'gateway/paid',
    'unpaid/hono',
    'memory/unpaid-200k',
  ])
})

it('reports one result of a benchmark that measures several', () => {
  expect(choose('known/sqlite-to-bare')).toEqual(['known/sqlite-to-bare'])
})

it('adds the large benchmarks with --large, and the comparison with another build with --against', () => {
  expect(choose('--large').filter((name) => name.startsWith('analytics/'))).toHaveLength(13)
  expect(choose('--large')).toContain('paid/end-to-end')
  expect(choose('--large', 'analytics/export')).toHaveLength(3)
  expect(choose('--against', '../old/dist', 'ledger/sqlite')).toHaveLength(4)
  expect(readArguments(['--against', '../old/dist']).against).toBe('../old/dist')
})

it('runs every benchmark with --smallest', () => {
  const [all, named] = [choose('--smallest'), choose('peers')]
  expect(all.filter((name) => !named.includes(name))).toEqual(choose('--large', '--against', 'dist'))
  expect(all).toEqual(expect.arrayContaining([...named]))
})

it.each([
  ['an unknown name', ['nonsense'], /^No benchmark is named "nonsense"; the names are paid\/end-to-end, known\/.*\.$/],
  ['an unknown name in a list', ['--only', 'paid,x'], /^No benchmark is named "x"; the names are paid\/.*\.$/],
  ['an empty name', ['--only', 'paid,'], /^No benchmark is named ""; the names are paid\/.*\.$/],
  ['an unknown option', ['--fast'], /^Unknown option '--fast'; npm run bench takes --only .*\.$/],
  ['an option without its value', ['--only'], /^Option '--only <value>' argument missing; npm run bench takes .*\.$/],
  ['a large benchmark without --large', ['analytics'], /^analytics runs with --large only, .*\.$/],
  [
    'the ledger without another build',
    ['--only', 'ledger'],
    /^ledger runs with --against <dist of another build> only\.$/,
  ],
])('refuses %s in one sentence', (_, args, sentence) => {
  expect(() => readArguments(args)).toThrow(sentence)
})

it('documents every result in bench/README.md', () => {
  const table = readFileSync(new URL('../../bench/README.md', import.meta.url), 'utf8')
  const patterns = [...table.matchAll(/`([a-z]+\/[\w*-]+)`/g)].map(
    ([, name]) => new RegExp(`^${name?.replaceAll('*', '.*')}$`),
  )
  const names = choose('--smallest')
  expect(names.filter((name) => !patterns.some((pattern) => pattern.test(name)))).toEqual([])
  expect(patterns.filter((pattern) => !names.some((name) => pattern.test(name)))).toEqual([])
})

it('ends with exit code 1 and nothing but that sentence', () => {
  const run = fileURLToPath(new URL('../../bench/run.mjs', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [run, '--only', 'nonsense'], { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^No benchmark is named "nonsense"; .*\.\n$/)
})
