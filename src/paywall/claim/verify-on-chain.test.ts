import { expect, it } from 'vitest'
import { prepareHmac } from '../../core/encoding/hmac.ts'
import type { Effect, Quote } from '../../core/payment/verify.ts'
import type { Chain, ReadOptions } from '../../core/ports/chain.ts'
import { sealRequest } from '../../core/protocol/request-id.ts'
import { type Claim, readPayment, readWithin } from './verify-on-chain.ts'

const issuedAt = 1_760_000_000

it.each([
  ['at once', 0, false],
  ['after a minute', 60, false],
  ['later', 61, true],
])('a payment that is claimed %s is read as a new or an old one', async (_name, seconds, isOld) => {
  const requestId = sealRequest(
    {
      ...{ keyId: 1, proof: 'bare', issuedAt, ttlSeconds: 300, amounts: { USDC: 1n } },
      ...{ routeTag: new Uint8Array(4), bindingTag: new Uint8Array(8), claimTag: undefined },
      allowance: { unit: 'request', amount: 1n },
    },
    prepareHmac(new Uint8Array(32)),
  )
  const asked: (ReadOptions | undefined)[] = []
  const read = async (_tx: string, _waitMs: number, options?: ReadOptions) => {
    asked.push(options)
    return { kind: 'missing' }
  }
  const routeRuntime = {
    runtime: { chain: { read }, clock: { now: () => (issuedAt + seconds) * 1000 } },
    route: { config: { verifyOnChain: true, waitMs: 1 } },
  }
  const claim = { routeRuntime, proof: { tx: 'tx', requestId } } as unknown as Claim
  expect(await readPayment(claim, {} as Quote, {})).toMatchObject({ code: 'tx_not_found' })
  expect(asked).toEqual([{ isOld, isEnough: expect.any(Function) }])
})

it.each([
  ['failed', { failed: true }],
  ['landed too late', { failed: false, blockTime: issuedAt + 1 }],
])(
  'T206: a payment that the service sent, and that the watcher has read as %s, is refused by a new reading only',
  async (_name, read) => {
    const transfers = [{ asset: 'SOL', destination: 'shop', destinationOwner: 'shop', authority: 'payer', units: 5n }]
    const holdings = [{ asset: 'SOL', account: 'shop', ownerBefore: 'shop', ownerAfter: 'shop', before: 0n, after: 5n }]
    const old = { memos: [], transfers, holdings, slot: 1, ...read } as unknown as Effect
    const landed = { ...old, failed: false, blockTime: issuedAt }
    const option = { token: 'SOL', asset: 'SOL', decimals: 9, units: 5n, destination: 'shop' }
    const quote = { requestId: '', recipient: 'shop', options: [option], notAfter: issuedAt, isRecorded: true }
    const chain = {
      seen: () => old,
      read: async (...[, , { isEnough } = {}]: Parameters<Chain['read']>) => {
        return { kind: 'found', effect: isEnough?.(old) === false ? landed : old }
      },
    }
    const routeRuntime = {
      runtime: { chain, clock: { now: () => issuedAt * 1000 } },
      route: { config: { verifyOnChain: true, waitMs: 1 } },
    }
    const proof = { tx: 'tx', requestId: '', payer: 'payer' }
    const claim = { routeRuntime, proof, via: {} } as unknown as Claim
    expect(await readWithin(claim, quote as Quote, readPayment)).toMatchObject({ kind: 'paid', received: 5n })
  },
)
