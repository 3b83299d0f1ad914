import { expect, it } from 'vitest'
import { createSponsor, incomingWith, offer, parts } from '../../tests/harness/foreign-fixture.ts'
import { refuse } from '../core/payment/refusals.ts'
import { joinDialects } from './join.ts'
import { createMpp } from './mpp.ts'
import { createX402 } from './x402.ts'

const sponsor = createSponsor()
const dialects = joinDialects([
  createX402({ network: 'localnet', sponsor }),
  createMpp({ realm: 'a.example', sponsor, push: false }),
])
const { answerWith, writeForeign } = dialects.prepare(offer)
const foreign = writeForeign?.(parts)
const [x402 = [], mpp = []] = foreign?.byProtocol ?? []
const lines = [...x402, ...mpp].map(([name, value]) => `${name}: ${value}\r\n`).join('')

it.each([
  ['no preference', {}, [...x402, ...mpp], lines],
  ['MPP alone', { 'accept-payment': 'solana/charge' }, mpp, undefined],
  ['another method of MPP', { 'accept-payment': 'tempo/charge' }, x402, undefined],
  ['a proof of its own', { 'payment-accept': 'bare' }, [], undefined],
] as const)('answers a client with %s by the headers that were written before', (_, headers, pairs, expected) => {
  expect([x402.length, mpp.length]).toEqual([1, 1])
  const { varying, varyingLines } = answerWith({ ...parts, foreign }, incomingWith(headers))
  expect([varying, varyingLines]).toEqual([pairs, expected])
})

it('writes the headers of a refused payment anew, because they name the reason', () => {
  const refused = { refusal: refuse('quote_expired') }
  const { varying, varyingLines } = answerWith({ ...parts, foreign, refused }, incomingWith({}))
  const [[, text = ''] = []] = varying ?? []
  expect(JSON.parse(Buffer.from(text, 'base64').toString())).toMatchObject({ error: 'payment_expired' })
  expect(varyingLines).toBeUndefined()
})
