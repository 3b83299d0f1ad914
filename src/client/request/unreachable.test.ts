import { expect, it } from 'vitest'
import { PaymentError } from '../errors.ts'
import { explainUnreachable } from './unreachable.ts'

const url = new URL('http://shop.example:3001/report?key=secret')

const fail = (message: string, cause?: object) => new TypeError(message, cause && { cause })

const tls = (code: string) =>
  `the TLS connection failed (${code}). Check the certificate, and that the server speaks https.`

it.each<[string, string]>([
  [
    'ECONNREFUSED',
    'nothing listens at shop.example:3001 (ECONNREFUSED). Check the port, and that the server is running.',
  ],
  ['ENOTFOUND', 'its host name does not exist (ENOTFOUND). Check the address.'],
  ['EAI_AGAIN', 'its host name cannot be resolved now (EAI_AGAIN). Check the network, then try again.'],
  ['UND_ERR_SOCKET', 'the server closed the connection (UND_ERR_SOCKET). Check that the server speaks http.'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', tls('ERR_SSL_WRONG_VERSION_NUMBER')],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', tls('DEPTH_ZERO_SELF_SIGNED_CERT')],
  ['ENETUNREACH', 'the connection failed (ENETUNREACH). Check the address and the network, then try again.'],
  ['the words of a server', 'the connection failed. Check the address.'],
])('an unreachable server is explained with its address and an action: %s', (code, words) => {
  const error = fail('fetch failed', { code })
  const explained = explainUnreachable(error, url)
  expect(explained).toBeInstanceOf(PaymentError)
  expect(explained).toMatchObject({
    code: 'server_unavailable',
    message: `http://shop.example:3001/report cannot be reached: ${words} Nothing was paid.`,
    cause: error,
  })
})

it('a port that fetch blocks is named', () => {
  const blocked = explainUnreachable(fail('fetch failed', new Error('bad port')), new URL('http://shop.example:6000/'))
  expect(blocked).toMatchObject({ message: expect.stringContaining('fetch never connects to port 6000') })
})

it.each(['Failed to fetch', 'Load failed', 'NetworkError when attempting to fetch resource.'])(
  'a browser that says "%s" gets the address too',
  (message) => {
    expect(explainUnreachable(fail(message), url)).toMatchObject({
      message:
        'http://shop.example:3001/report cannot be reached: the connection failed. Check the address. Nothing was paid.',
    })
  },
)

it.each([
  ['a forbidden redirect', fail('fetch failed', { message: 'unexpected redirect' })],
  ['an option that fetch does not accept', fail('Request with GET/HEAD method cannot have body.')],
  ['an error of a custom fetch', new Error('fetch failed')],
  ['the reason of an abort', new DOMException('This operation was aborted', 'AbortError')],
])('%s stays as it is', (_name, error) => {
  expect(explainUnreachable(error, url)).toBe(error)
})
