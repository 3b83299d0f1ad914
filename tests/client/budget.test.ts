/** 1K: budgets, which no number of calls at once and no number of processes exceeds. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { createMemoryJournal, type Journal } from '../../src/client/journal/journal.ts'
import type { Shop } from '../harness/shop.ts'
import { type ClientFixture, createClientFixture, expectError } from './client-fixture.ts'

let fixture: ClientFixture
let shop: Shop

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 })
})
beforeEach(async () => {
  await fixture.received()
})
afterAll(() => fixture.close())

describe('T162: a budget', () => {
  const journals: readonly [string, () => Journal][] = [
    ['in memory', () => createMemoryJournal()],
    ['in a file', () => openFileJournal(join(fixture.directory, `${crypto.randomUUID()}.sqlite`))],
  ]

  it.each(journals)('%s is not exceeded by twenty calls at once', async (_name, open) => {
    const options = fixture.options({ journal: open(), budget: { perDay: { USDC: '0.07' } } })
    const calls = Array.from({ length: 20 }, (_, index) => fetchWith402(`${shop.url}/data?${index}`, options))
    const results = await Promise.allSettled(calls)
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(7)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'budget_exceeded' })
    }
    expect(await fixture.received()).toBe(7)
  })

  it('is shared by two journals on one file', async () => {
    const path = join(fixture.directory, 'shared.sqlite')
    const budget = { perDay: { USDC: 0.1 * 0.5 } }
    const [one, two] = [openFileJournal(path), openFileJournal(path)]
    const calls = Array.from({ length: 12 }, (_, index) =>
      fetchWith402(`${shop.url}/data?${index}`, fixture.options({ journal: index % 2 ? one : two, budget })),
    )
    const results = await Promise.allSettled(calls)
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(5)
    expect(await fixture.received()).toBe(5)
  })

  it('for one host does not count payments to another host, and the message names the rest', async () => {
    const other = await fixture.open({ waitSeconds: 5, scope: 'other' })
    const options = fixture.options({ budget: { perHost: { USDC: '0.01' }, perDay: { USDC: '0.03' } } })
    await fetchWith402(`${shop.url}/data`, options)
    const host = new URL(shop.url).host
    await expectError(
      fetchWith402(`${shop.url}/data`, options),
      'budget_exceeded',
      new RegExp(`0\\.01 USDC would exceed the budget of 0\\.01 USDC: 0\\.01 already spent today at ${host}`),
    )
    expect((await fetchWith402(`${other.url}/data`, options)).status).toBe(200)
    await expectError(
      fetchWith402(`${shop.url}/data`, { ...options, budget: { perDay: { USDC: '0.02' } } }),
      'budget_exceeded',
      /0\.02 already spent today/,
    )
    expect(await fixture.received()).toBe(2)
  })

  it.each(['perDay', 'perHost'])(
    '%s of one token excludes others, unless they are allowed explicitly',
    async (name) => {
      const both = await fixture.open({ waitSeconds: 5, acceptedMints: ['SOL'] })
      const options = fixture.options({ budget: { [name]: { USDC: '0.01' } } })
      await expectError(
        fetchWith402(`${both.url}/data`, options),
        'token_not_allowed',
        /accepts SOL, but only USDC may be used\. Allow one with tokens or budget\./,
      )
    },
  )

  it('of one token says nothing about another that tokens allows', async () => {
    const both = await fixture.open({ waitSeconds: 5, acceptedMints: ['USDC', 'SOL'] })
    const options = fixture.options({ budget: { perDay: { USDC: '0.01' } } })
    for (let time = 0; time < 3; time += 1) {
      const response = await fetchWith402(`${both.url}/data`, { ...options, tokens: ['SOL'] })
      expect(response.status).toBe(200)
    }
  })
})
