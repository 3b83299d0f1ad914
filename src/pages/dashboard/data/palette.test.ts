import { expect, it } from 'vitest'
import { findEntries, isPaymentName } from './palette.ts'

const entries = [
  { name: 'Home', kind: 'Screen', href: '/dashboard' },
  { name: 'Payments', kind: 'Screen', href: '/dashboard/payments' },
  { name: '/api/payments', kind: 'Endpoint', href: '/a' },
  { name: 'Late payments', kind: 'View', href: '/b' },
]

it.each([
  ['', ['Home', 'Payments', '/api/payments', 'Late payments']],
  ['pay', ['Payments', '/api/payments', 'Late payments']],
  ['PAYMENTS screen', ['Payments']],
  ['late', ['Late payments']],
  ['/api', ['/api/payments']],
  ['nothing', []],
])('the palette finds %j', (text, names) => {
  expect(findEntries(entries, text).map(({ name }) => name)).toEqual(names)
})

it('shows a dozen entries at most', () => {
  const many = Array.from({ length: 40 }, (_, number) => ({ name: `/a/${number}`, kind: 'Endpoint', href: '' }))
  expect(findEntries(many, 'a')).toHaveLength(12)
})

it.each([
  ['abcd', true],
  ['5h3K…9fQx', true],
  ['5h3K...9fQx', true],
  ['abc', false],
  ['two words', false],
  ['<b>bold</b>', false],
])('%j may name a payment: %j', (text, expected) => {
  expect(isPaymentName(text)).toBe(expected)
})
