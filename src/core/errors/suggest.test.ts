import { expect, it } from 'vitest'
import { nearest } from './suggest.ts'

it.each([
  ['pirce', 'price'],
  ['Recipient', 'recipient'],
  ['acceptedMint', 'acceptedMints'],
  ['zzz', undefined],
])('for %s suggests %s', (name, suggestion) => {
  expect(nearest(name, ['price', 'recipient', 'acceptedMints'])).toBe(suggestion)
})
