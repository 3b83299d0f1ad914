import { expect, it } from 'vitest'
import { cookieName } from '../../core/checkout/cookie.ts'
import type { CheckoutState } from '../../core/checkout/messages.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { prepareHmac } from '../../core/encoding/hmac.ts'
import type { Incoming } from '../../core/http/http.ts'
import { openRequest, sealRequest } from '../../core/protocol/request-id.ts'
import { findStaleCookies } from './stale-cookies.ts'

const place = { target: '/now', isSecure: true }
const routeTag = Uint8Array.of(1, 2, 3, 4)
const mac = prepareHmac(new Uint8Array(32))

/** Its amount says which one it is. */
function requestId(index: number): string {
  return sealRequest(
    {
      ...{ keyId: 1, proof: 'claim', issuedAt: 1_760_000_000 + index, ttlSeconds: 300, routeTag },
      ...{ bindingTag: new Uint8Array(8), claimTag: new Uint8Array(8) },
      ...{
        allowance: { unit: 'request', amount: 1n },
        amounts: { NATIVE: 1n << 60n, USDC: BigInt(index), SOL: 1n << 60n },
      },
    },
    mac,
  )
}

/** Which of a browser's cookies are taken back, where their purchases stand like this. */
async function clear(count: number, stateOf: (index: number) => CheckoutState['state'] | undefined, tickets = 1) {
  const cookies = Array.from({ length: count }, (_, index) => {
    const value = Array.from({ length: tickets }, () => `${requestId(index)}.${'s'.repeat(32)}`).join('~')
    return `${cookieName({ ...place, target: `/${index}` })}=${value}`
  })
  const desk = { readState: async (id: string) => stateOf(Number(openRequest(id)?.amounts.USDC)) }
  const incoming = { header: (name: string) => (name === 'cookie' ? cookies.join('; ') : undefined) } as Incoming
  const names = await findStaleCookies({ payDesks: new Map([[encodeBase58(routeTag), desk]]) }, incoming, place, 150)
  return names.map((name) => cookies.findIndex((cookie) => cookie.startsWith(name)))
}

it('T178: sixteen cookies and four kilobytes are kept, the new one among them', async () => {
  expect(await clear(15, () => 'used')).toEqual([])
  expect(await clear(16, () => 'used')).toEqual([0])
  expect(await clear(15, () => 'used', 2)).toEqual([0, 1])
})

it('T178: removes expired cookies first, then unpaid quotes, then unknown ones, and never a payment', async () => {
  expect(await clear(17, (index) => (index < 3 ? 'paid' : index === 5 ? 'expired' : 'waiting'))).toEqual([5, 3])
  expect(await clear(17, (index) => (index === 2 ? 'waiting' : undefined))).toEqual([2, 0])
  expect(await clear(20, () => 'paid')).toEqual([])
})
