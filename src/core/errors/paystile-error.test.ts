import { expect, it } from 'vitest'
import { ConfigurationError } from './configuration-error.ts'
import { isPaystileError, PaystileError } from './paystile-error.ts'

it('gives every error a name, a code, a message and a cause', () => {
  const cause = new Error('why')
  const error = new PaystileError('closed', 'it is closed', { cause })
  expect(error).toBeInstanceOf(Error)
  expect([error.name, error.code, error.message, error.cause]).toEqual([
    'PaystileError',
    'closed',
    'it is closed',
    cause,
  ])
  const wrong = new ConfigurationError(['price: is missing'])
  expect(wrong).toBeInstanceOf(PaystileError)
  expect([wrong.name, wrong.code, wrong.problems]).toEqual([
    'ConfigurationError',
    'configuration_invalid',
    ['price: is missing'],
  ])
})

it('recognises the errors of another copy of the package, by their names', () => {
  class PaymentError extends Error {
    override readonly name = 'PaymentError'
    readonly code = 'declined'
  }
  expect(isPaystileError(new PaymentError())).toBe(true)
  expect(isPaystileError(new ConfigurationError([]))).toBe(true)
})

it.each([
  ['an error of the platform', new TypeError('fetch failed')],
  ['an error of Node, which has a code', Object.assign(new Error('no file'), { code: 'ENOENT' })],
  ['an error of the same name without a code', Object.assign(new Error('no'), { name: 'PaymentError' })],
  ['an error of the same name with a number', Object.assign(new Error('no'), { name: 'PaymentError', code: 402 })],
  ['nothing', null],
  ['text', 'PaymentError'],
])('does not take %s for one of its own', (_name, error) => {
  expect(isPaystileError(error)).toBe(false)
})
