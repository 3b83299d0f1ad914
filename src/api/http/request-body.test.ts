import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { mostBodyBytes, readJsonBody } from './request-body.ts'

function post(body: BodyInit, headers: Readonly<Record<string, string>> = {}): Request {
  const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/json', ...headers } }
  return new Request('http://localhost/verify-payment', init as RequestInit)
}

describe('a posted body', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('is JSON in UTF-8', async () => {
    expect(await readJsonBody(post('{"a":1}'))).toEqual({ kind: 'json', value: { a: 1 } })
    const type = { 'content-type': 'application/json; charset=utf-8' }
    expect(await readJsonBody(post('"ü"', type))).toEqual({ kind: 'json', value: 'ü' })
    expect(await readJsonBody(post(Uint8Array.of(34, 255, 34)))).toMatchObject({ code: 'body_invalid' })
    expect(await readJsonBody(post(''))).toMatchObject({ code: 'body_invalid' })
  })

  it.each(['text/plain', 'application/jsonp', 'multipart/form-data', ''])('is not of type %j', async (type) => {
    expect(await readJsonBody(post('{}', { 'content-type': type }))).toMatchObject({ code: 'media_type_unsupported' })
  })

  it('is limited to 4096 bytes, regardless of its Content-Length', async () => {
    const spaces = (count: number) => `${' '.repeat(count - 2)}{}`
    expect((await readJsonBody(post(spaces(mostBodyBytes)))).kind).toBe('json')
    expect(await readJsonBody(post(spaces(mostBodyBytes + 1)))).toMatchObject({ code: 'body_too_long' })
    const announced = post('{}', { 'content-length': '5000' })
    expect(await readJsonBody(announced)).toMatchObject({ code: 'body_too_long' })
  })

  it('may break off, which is no fault of ours', async () => {
    const broken = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('aborted')) })
    expect(await readJsonBody(post(broken))).toMatchObject({ code: 'body_invalid' })
  })

  it('T130: arrives within ten seconds, or is not waited for', async () => {
    const silent = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Uint8Array.of(123)) })
    const reading = readJsonBody(post(silent))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await reading).toMatchObject({ code: 'body_too_slow' })
  })
})
