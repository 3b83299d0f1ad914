/** The approval of a payment by a person, who may take minutes. */
import { expect, it } from 'vitest'
import { createMemoryJournal } from '../journal/journal.ts'
import { approve } from './pay.ts'

const lifetimeOf = (blockhash: string) => ({ blockhash, lastValidBlockHeight: 1, slot: 1 })

/** Approves after a while, and returns the blockhash that the payment is signed with. */
async function approveAfter(ms: number, payableUntil = Number.POSITIVE_INFINITY) {
  let now = 0
  const journal = createMemoryJournal()
  const parts = {
    clock: { now: () => now, monotonic: () => now },
    options: {
      approve: () => {
        now += ms
        return true
      },
    },
    ...{ journal, wallet: { address: 'payer' }, tell: () => {}, throwIfCancelled: () => {}, payableUntil },
    lifetime: lifetimeOf('before'),
    read: async () => lifetimeOf('after'),
  }
  const candidate = { token: 'USDC', units: 10_000n, decimals: 6, mint: undefined, splits: [] }
  const terms = { requestId: 'r', recipient: 'R', network: 'localnet', description: undefined, protocol: 'x402' }
  const more = { key: 'k', genesis: 'g', proof: 'bare' }
  const given = [parts, candidate, new URL('https://shop.example/'), terms, more]
  const approved = await approve(...(given as unknown as Parameters<typeof approve>))
  return approved.lifetime.blockhash
}

it('signs with the blockhash of before after a quick approval, and with a new one after a slow one', async () => {
  expect(await approveAfter(4_000)).toBe('before')
  expect(await approveAfter(240_000)).toBe('after')
})

it('reserves nothing if the approval came too late for the challenge', async () => {
  expect(await approveAfter(240_000, 240_000)).toBe('after')
  await expect(approveAfter(240_000, 239_999)).rejects.toMatchObject({
    code: 'challenge_expiring',
    message: 'The approval came too late. Nothing was paid. Try again.',
  })
})
