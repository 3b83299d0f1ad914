import { expect, it } from 'vitest'
import { trimGet } from './route-names.ts'

it.each([
  ['GET /api/moon', '/api/moon'],
  ['POST /orders', 'POST /orders'],
  ['GET, POST /orders', 'GET, POST /orders'],
  ['GET /a, GET /b, POST /c: the upstream does not answer', '/a, /b, POST /c: the upstream does not answer'],
])('%s is shown as %s', (text, shown) => {
  expect(trimGet(text)).toBe(shown)
})
