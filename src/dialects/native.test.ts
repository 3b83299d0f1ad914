import { expect, it } from 'vitest'
import { knownMints } from '../core/money/tokens.ts'
import { oneRequest } from '../core/payment/allowance.ts'
import { native } from './native.ts'

it('shares its headers between responses, and freezes them', () => {
  const answerWith = native.prepare({
    recipient: 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR',
    currency: 'USDC',
    price: 10_000n,
    acceptedMints: ['USDC'],
    amounts: { USDC: 10_000n },
    mints: knownMints.localnet,
    network: 'localnet',
    allowance: oneRequest,
  })
  const answerTo = (requestId: string) =>
    answerWith({ requestId, resource: '"http://a.example/"', expiresAt: '2026-01-31T00:00:00Z', proof: 'bare' })
  const [one, two, longer] = [answerTo('rid_1'), answerTo('rid_2'), answerTo('rid_10')]
  expect(two.headers).toBe(one.headers)
  expect(longer.headers).not.toBe(one.headers)
  for (const { headers, body } of [one, longer]) {
    expect(Object.isFrozen(headers)).toBe(true)
    expect(headers['Content-Length']).toBe(String(body.length))
  }
})
