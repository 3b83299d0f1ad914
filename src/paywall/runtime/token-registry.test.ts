import { expect, it } from 'vitest'
import { type Mint, splTokenProgram } from '../../core/money/tokens.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import { createTokenRegistry } from './token-registry.ts'

const address = 'HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr'
const EURC: Mint = { address, decimals: 6, tokenProgram: splTokenProgram }
const other: Mint = { ...EURC, address: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB' }

function createStore(): KeyValueStore & { readonly values: Map<string, string> } {
  const values = new Map<string, string>()
  return {
    values,
    put: async (name, value) => !values.has(name) && Boolean(values.set(name, value)),
    get: async (name) => values.get(name),
    remove: async (name) => values.delete(name),
    list: async (prefix) =>
      [...values].flatMap(([name, value]) => (name.startsWith(prefix) ? [{ name, value, until: 0 }] : [])),
  }
}

it('a token that is no longer configured keeps its mint', async () => {
  const kv = createStore()
  await createTokenRegistry(kv).bind('EURC', EURC)
  expect([...kv.values.keys()]).toEqual(['token/EURC'])
  const later = createTokenRegistry(kv)
  expect(later.complete({})).toEqual({})
  await later.load()
  expect(later.complete({ USDC: other })).toEqual({ USDC: other, EURC })
})

it('the ledger says what a code means, and not the configuration', async () => {
  const kv = createStore()
  const registry = createTokenRegistry(kv)
  await registry.load()
  expect(registry.complete({ USDC: other, EURC: other })).toEqual({ USDC: other })
  expect(await registry.isBound('EURC', { EURC })).toBe(false)
  await createTokenRegistry(kv).bind('EURC', EURC)
  expect(await registry.completeFor(['EURC'], { EURC: other })).toEqual({ EURC })
  expect(registry.complete({ EURC: other })).toEqual({ EURC })
  expect(await registry.isBound('EURC', { EURC: other })).toBe(false)
  expect(await registry.isBound('EURC', { EURC })).toBe(true)
  expect(await registry.isBound('USDC', {})).toBe(true)
})

it('a token that another server added is found when a quote names it', async () => {
  const kv = createStore()
  const registry = createTokenRegistry(kv)
  await registry.load()
  await createTokenRegistry(kv).bind('EURC', EURC)
  expect(await registry.completeFor(['USDC', 'SOL'], {})).toEqual({})
  expect(await registry.completeFor(['USDC', 'EURC'], {})).toEqual({ EURC })
})

it('a reading that ends late hides no token', async () => {
  const kv = createStore()
  let isLate = true
  const list: KeyValueStore['list'] = async (prefix) => {
    const entries = await kv.list(prefix)
    if (isLate) {
      isLate = false
      await registry.bind('EURC', EURC)
    }
    return entries
  }
  const registry = createTokenRegistry({ ...kv, list })
  await registry.load()
  expect(registry.complete({})).toEqual({ EURC })
})

it.each([
  ['another mint', 'EURC', other, `tokens.EURC: is ${address} with 6 decimals`],
  ['other decimals', 'EURC', { ...EURC, decimals: 9 }, 'tokens.EURC: is'],
  ['another code for its mint', 'EUR', EURC, 'tokens.EUR.mint: is EURC in this ledger; use that code'],
])('a ledger refuses %s', async (_what, code, mint, problem) => {
  const kv = createStore()
  expect(await createTokenRegistry(kv).bind('EURC', EURC)).toBeUndefined()
  expect(await createTokenRegistry(kv).bind('EURC', EURC)).toBeUndefined()
  expect(await createTokenRegistry(kv).bind(code, mint)).toContain(problem)
})

it('of two servers that bind one code at once, the first decides', async () => {
  const kv = createStore()
  // The other server writes between the reading and the writing of this one.
  const raced: KeyValueStore = {
    ...kv,
    put: async (...entry) => {
      await createTokenRegistry(kv).bind('EURC', other)
      return kv.put(...entry)
    },
  }
  const registry = createTokenRegistry(raced)
  expect(await registry.bind('EURC', EURC)).toContain('choose another code for another mint')
  expect(registry.complete({})).toEqual({ EURC: other })
})

it('entries that are not mints are ignored', async () => {
  const kv = createStore()
  for (const [name, value] of [
    ['token/EURC', '{'],
    ['token/BAD', '{"address":"x"}'],
    ['token/SOL', JSON.stringify(EURC)],
    ['token/USDC', JSON.stringify(EURC)],
  ] as const)
    await kv.put(name, value, 1)
  const registry = createTokenRegistry(kv)
  await registry.load()
  expect(registry.complete({})).toEqual({})
})
