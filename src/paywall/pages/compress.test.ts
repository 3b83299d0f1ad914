import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../core/http/http.ts'
import { compressPage } from './compress.ts'

const body = '<p>the same again and again</p>'.repeat(200)
const page: Answer = {
  kind: 'answer',
  status: 402,
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': String(body.length),
    Vary: 'Accept-Encoding',
  },
  cookies: ['a=b'],
  body,
}
const compress = (answer: Answer, accept: string | undefined) =>
  compressPage(answer, { header: (name) => (name === 'accept-encoding' ? accept : undefined) })

describe('a page', () => {
  it.each(['gzip', 'gzip, deflate, br, zstd', 'br;q=1.0, gzip;q=0.8, *;q=0.1', 'x-gzip', 'GZIP;q=0.001'])(
    'is compressed for a browser that accepts %s',
    async (accept) => {
      const sent = await compress(page, accept)
      expect(gunzipSync(sent.bytes ?? '').toString()).toBe(body)
      expect(sent.headers).toMatchObject({
        'Content-Encoding': 'gzip',
        'Content-Length': String(sent.bytes?.length),
        Vary: 'Accept-Encoding',
      })
      expect(sent.bytes?.length).toBeLessThan(body.length / 10)
      expect([sent.status, sent.cookies]).toEqual([402, ['a=b']])
    },
  )

  it.each([undefined, '', 'identity', 'br', 'gzip;q=0', 'gzip;q=0.000, br', 'xgzip', 'gzip2', '*;q=0'])(
    'stays as it is for a client that accepts %s',
    async (accept) => {
      expect(await compress(page, accept)).toBe(page)
    },
  )

  it('is the only kind of answer that is compressed', async () => {
    const json = { ...page, headers: { 'Content-Type': 'application/json' } }
    expect(await compress(json, 'gzip')).toBe(json)
  })
})
