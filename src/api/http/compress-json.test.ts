import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compressJson } from './compress-json.ts'
import { answer, respond } from './errors.ts'

const value = { records: Array.from({ length: 50 }, (_, number) => ({ id: number, endpoint: '/api/data' })) }
const asking = (accept?: string) =>
  new Request('http://localhost/analytics', accept === undefined ? {} : { headers: { 'Accept-Encoding': accept } })

describe('private JSON', () => {
  it('is compressed for a client that accepts it, and caches are told', async () => {
    const sent = await compressJson(asking('gzip, br'), answer(value))
    const bytes = new Uint8Array(await sent.arrayBuffer())
    expect(JSON.parse(gunzipSync(bytes).toString())).toEqual(value)
    expect(sent.headers.get('content-encoding')).toBe('gzip')
    expect(sent.headers.get('content-length')).toBe(String(bytes.length))
    expect(sent.headers.get('cache-control')).toBe('no-store')
    expect(sent.headers.get('vary')).toBe('Accept-Encoding')
    expect(bytes.length).toBeLessThan(JSON.stringify(value).length / 4)
  })

  it.each([
    ['a client that does not accept it', undefined, answer(value)],
    ['a short answer', 'gzip', answer({ status: 'ok' })],
    ['another type', 'gzip', respond('a,b\n'.repeat(1_000), 'text/csv')],
    ['an open stream', 'gzip', new Response('{}', { headers: { 'Content-Type': 'application/json' } })],
  ] as const)('stays as it is for %s', async (_name, accept, response) => {
    const sent = await compressJson(asking(accept), response)
    expect(sent).toBe(response)
    expect(sent.headers.get('content-encoding')).toBeNull()
  })
})
