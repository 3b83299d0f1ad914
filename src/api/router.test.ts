import { expect, it } from 'vitest'
import { knownMints, type Mint, type MintTable, splTokenProgram } from '../core/money/tokens.ts'
import type { KeyValueStore } from '../core/ports/kv.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import { createTokenRegistry } from '../paywall/runtime/token-registry.ts'
import { createDecimals, readMints } from './router.ts'

const EURC: Mint = {
  address: 'HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr',
  decimals: 6,
  tokenProgram: splTokenProgram,
}
const other: Mint = { ...EURC, address: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 9 }

async function openRuntime(bound: MintTable, sold: MintTable): Promise<Runtime> {
  const entries = Object.entries(bound).map(([code, mint]) => ({ name: `token/${code}`, value: JSON.stringify(mint) }))
  const tokens = createTokenRegistry({ list: async () => entries } as unknown as KeyValueStore)
  await tokens.load()
  const catalog = { entries: () => [{ mints: sold }] }
  return { config: { network: 'localnet' }, catalog, tokens } as unknown as Runtime
}

it('reports and refunds use the mint that the ledger bound, not the configured or sold one', async () => {
  const runtime = await openRuntime({ EURC }, { EURC: other })
  expect(readMints(runtime, { EURC: other })).toEqual({ ...knownMints.localnet, EURC })
  expect(createDecimals(runtime, { EURC: other })('EURC')).toBe(6)
})

it('a code that the ledger does not know has no mint, and a known code has the one that is sold', async () => {
  const runtime = await openRuntime({}, { NATIVE: other, EURC })
  expect(readMints(runtime, { EURC })).toEqual({ ...knownMints.localnet, NATIVE: other })
})
