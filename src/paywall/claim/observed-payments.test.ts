import { expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { type Mint, splTokenProgram } from '../../core/money/tokens.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { formatMemo } from '../../core/payouts/outgoing-memo.ts'
import type { Journal, Sighting } from '../../core/ports/journal.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { createTokenRegistry } from '../runtime/token-registry.ts'
import { recordObservations } from './observed-payments.ts'

const [recipient, payer, mint, other] = [1, 2, 3, 4].map((byte) => encodeBase58(new Uint8Array(32).fill(byte))) as [
  ...[string, string, string, string],
]
const destination = 'the EURC account'
const EURC: Mint = { address: mint, decimals: 6, tokenProgram: splTokenProgram }

const signature = encodeBase58(new Uint8Array(64).fill(9))
const [own, other22] = ['test-tag11111111111111', 'test-tag22222222222222']
const outgoing: Readonly<Record<string, { readonly signed: { readonly signature: string } }>> = {
  [own]: { signed: { signature } },
  [other22]: { signed: { signature: encodeBase58(new Uint8Array(64).fill(8)) } },
}

/**
 * The codes of the payments that are noted after 5 units of `asset` have arrived at the watched account. Another server
 * has bound the codes since this one read the ledger.
 */
async function note(
  code: string,
  asset: string,
  bound: Readonly<Record<string, Mint>>,
  memo?: string,
): Promise<readonly string[]> {
  const entries = Object.entries(bound).map(([name, mint]) => ({ name: `token/${name}`, value: JSON.stringify(mint) }))
  const kv = { list: async () => entries } as unknown as KeyValueStore
  const runtime = {
    watched: new Map([[destination, { recipient, token: code, decimals: 6, asset }]]),
    tokens: createTokenRegistry(kv),
    ledger: {
      submissions: { find: async () => undefined },
      outgoing: { get: async (id: string) => outgoing[id] },
    },
    sealer: { tag: 'test-tag' },
    recognise: () => ({ kind: 'forged' }),
    splits: { refresh: async () => {} },
    pseudonyms: { request: () => 'request', wallet: () => 'payer' },
    emit: () => {},
  }
  const memos = memo === undefined ? [] : [memo]
  const transfer = { destination, destinationOwner: recipient, sourceOwner: payer, authority: payer, asset, units: 5n }
  const effect: Effect = {
    ...{ slot: 1, blockTime: 1, failed: false, feePayer: payer, fee: 0n, memos },
    signature,
    transfers: [{ ...transfer, signers: [payer], memos }],
    holdings: [
      { asset, account: destination, ownerBefore: recipient, ownerAfter: recipient, before: 0n, after: 5n },
      { asset, account: 'theirs', ownerBefore: payer, ownerAfter: payer, before: 5n, after: 0n },
    ],
  }
  const noted: Sighting[] = []
  const journal = {
    sight: async (sightings: readonly Sighting[]) => {
      noted.push(...sightings)
      return sightings
    },
  }
  await recordObservations(runtime as unknown as Runtime, journal as unknown as Journal, [effect])
  return noted.map(({ token, received }) => `${received} ${token}`)
}

it('T207: a payment is noted under a code only if the ledger books its mint under that code now', async () => {
  expect(await note('EURC', mint, { EURC })).toEqual(['5 EURC'])
  expect(await note('EURC', other, { EURC })).toEqual([])
  expect(await note('EURC', mint, {})).toEqual([])
  expect(await note('USDC', other, {})).toEqual(['5 USDC'])
})

it.each([
  ['no payout of the service to its own wallet', formatMemo(own), []],
  ['a transfer with the copied memo of a payout', formatMemo(other22), ['5 USDC']],
  ['a transfer with the memo of another service', formatMemo('other-id11111111111111'), ['5 USDC']],
  ['a transfer with a made-up id', formatMemo('test-tag33333333333333'), ['5 USDC']],
])('notes as a payment %s', async (_name, memo, noted) => {
  expect(await note('USDC', mint, {}, memo)).toEqual(noted)
})
