import fc from 'fast-check'
import { expect, it } from 'vitest'
import { knownCodes } from '../money/tokens.ts'
import { type CheckoutOrder, formatOrder, parseOrder } from './messages.ts'

const word = fc.string({ unit: fc.constantFrom(...'ABCxyz019_-'), minLength: 1, maxLength: 90 })
const token = fc.constantFrom(...knownCodes)
const order: fc.Arbitrary<CheckoutOrder> = fc.oneof(
  fc.record({ kind: fc.constant('status' as const), requestId: word }),
  fc.record({ kind: fc.constant('status' as const), requestId: word, tx: word }),
  fc.record({ kind: fc.constant('view' as const), requestId: word, token }),
  fc.record({ kind: fc.constant('test' as const), requestId: word, token }),
  fc.record({ kind: fc.constant('prepare' as const), requestId: word, token, account: word }),
  fc.record({ kind: fc.constant('submit' as const), requestId: word, transaction: word }),
)

it('reads every order that it writes', () => {
  fc.assert(fc.property(order, (one) => void expect(parseOrder(formatOrder(one))).toEqual(one)))
})

it('reads no text into an order that was not meant', () => {
  fc.assert(fc.property(fc.string(), (text) => void expect(parseOrder(text)).toBeUndefined()))
})

it.each([
  'status',
  'status; requestId=a; requestId=b',
  'status; requestId=a b',
  'view; requestId=a; token=eur',
  'prepare; requestId=a; token=USDC',
  'submit; requestId=a',
  `submit; requestId=a; transaction=${'a'.repeat(5_000)}`,
])('refuses %j', (text) => {
  expect(parseOrder(text)).toBeUndefined()
})
