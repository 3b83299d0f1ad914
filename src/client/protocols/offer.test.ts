import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => vi.restoreAllMocks())

/** Draws these numbers in turn. */
function drawing(...numbers: readonly number[]): void {
  const left = [...numbers]
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
    if (array instanceof Uint16Array) array[0] = left.shift() ?? 0
    return array
  })
}

/** The code in a process of its own. */
async function start(): Promise<typeof import('./offer.ts')> {
  vi.resetModules()
  return import('./offer.ts')
}

it('T198: varies payments also if another process counts from the same number', async () => {
  drawing(7, 1, 7, 2)
  const [one, other] = [await start(), await start()]
  const variations = [one.createVariation(), other.createVariation()]
  expect(variations.map(({ units }) => units)).toEqual([8, 8])
  expect(new Set(variations.map(({ microLamports }) => microLamports)).size).toBe(2)
})

it('stays below the price that every server accepts', async () => {
  drawing(65_535, 65_535, 999)
  const { createVariation } = await start()
  const highest = [createVariation(), createVariation()].map(({ microLamports }) => microLamports)
  expect(highest).toEqual([536n, 1_000n])
})
