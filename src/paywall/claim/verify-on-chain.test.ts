import { expect, it } from 'vitest'
import { prepareHmac } from '../../core/encoding/hmac.ts'
import { refuse } from '../../core/payment/refusals.ts'
import type { Quote } from '../../core/payment/verify.ts'
import type { ReadOptions } from '../../core/ports/chain.ts'
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
  expect(asked).toEqual([{ isOld }])
})

it.each([
  ['seen', true, [undefined, true]],
  ['not seen', false, [false]],
])(
  'T206: a payment that the service sent and the watcher has %s is refused by a new reading',
  async (_name, isSeen, readings) => {
    const asked: (boolean | undefined)[] = []
    const routeRuntime = {
      runtime: { chain: { seen: () => (isSeen ? {} : undefined) } },
      route: { config: { verifyOnChain: true } },
    }
    const claim = { routeRuntime, proof: { tx: 'tx' }, via: {} } as unknown as Claim
    const verdict = await readWithin(claim, {} as Quote, async (_claim, _quote, { isAnew }) => {
      asked.push(isAnew)
      return refuse('underpaid')
    })
    expect(verdict).toMatchObject({ code: 'underpaid' })
    expect(asked).toEqual(readings)
  },
)
