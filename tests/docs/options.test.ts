/** Each option is described once, beside its declaration: documents and declaration files say the same. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { documents, readOptions, sources, writeTables } from '../../scripts/option-tables.mjs'
import { apiShape } from '../../src/api/options.ts'
import { rewardsOption } from '../../src/api/rewards/option.ts'
import { configSchema, routeSchema } from '../../src/gateway/config/schema.ts'
import { providerSchema, usualOptions } from '../../src/paywall/config/options.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const groups = Object.keys(sources) as (keyof typeof sources)[]
const listed = (group: string) =>
  documents.flatMap((document) =>
    [...read(document).matchAll(/<!-- options (\w+):([^>]*)-->/g)].flatMap(([, name, names = '']) =>
      name === group ? names.trim().split(/\s+/) : [],
    ),
  )

it.each(documents)('%s has the tables that follow from the declarations (npm run options)', (document) => {
  const text = read(document)
  expect(text).toContain('<!-- options ')
  expect(writeTables(text, document)).toBe(text)
})

describe.each(groups)('every option of %s', (group) => {
  it('is described in a sentence', () => {
    const options = [...readOptions(group)]
    expect(options.length).toBeGreaterThan(9)
    expect(options.filter(([, { meaning }]) => !/^.{15,}[.]$/.test(meaning))).toEqual([])
  })

  it('is in one table', () => {
    expect(listed(group).sort()).toEqual([...readOptions(group).keys()].sort())
  })
})

it('no option of a schema lacks a description', () => {
  const described = new Set(groups.flatMap((group) => [...readOptions(group).keys()]))
  const schemas = [providerSchema, configSchema, routeSchema, rewardsOption]
  const names = [...schemas.flatMap(({ shape }) => Object.keys(shape)), ...Object.keys(apiShape)]
  expect(names.filter((name) => name !== 'routes' && !described.has(name))).toEqual([])
})

it('the tables tell the defaults of the program', () => {
  const options = readOptions('paywall')
  const wrong = Object.entries(usualOptions).filter(
    ([name, value]) => !options.get(name)?.usual?.includes(String(value)),
  )
  expect(wrong).toEqual([])
})

it.each(groups.flatMap((group) => sources[group].map((file) => [file, group] as const)))(
  'the declaration file of %s keeps every sentence for editors',
  (file, group) => {
    const declaration = read(file.replace(/^src/, 'dist').replace(/ts$/, 'd.ts')).replace(/\s*\n\s*\*? ?/g, ' ')
    const own = [...readOptions(group)].filter(([, option]) => option.file === file)
    expect(own.length).toBeGreaterThan(5)
    expect(own.filter(([, { meaning }]) => !declaration.includes(meaning)).map(([name]) => name)).toEqual([])
  },
)
