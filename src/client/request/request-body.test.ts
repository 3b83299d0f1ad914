import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import { FormData as Undici } from 'undici'
import { describe, expect, it } from 'vitest'
import { readRequestBody } from './request-body.ts'

function createForm(): FormData {
  const form = new FormData()
  form.append('plain', 'one\ntwo')
  form.append('na"me\n', 'ü')
  form.append('plain', '')
  form.append('file', new File([new Uint8Array([0, 13, 10, 255])], 'a"b.bin'))
  form.append('typed', new File(['{}'], 'c.json', { type: 'application/json' }))
  return form
}

async function read(form: FormData) {
  const { content, type } = await readRequestBody(form)
  return { text: Buffer.from(content as ArrayBuffer).toString('latin1'), type: type ?? '' }
}

describe('a form', () => {
  it('is encoded as fetch encodes it, except for the boundary', async () => {
    const { text, type } = await read(createForm())
    const usual = new Response(createForm())
    const [, drawn = ''] = /boundary=(.+)$/.exec(usual.headers.get('content-type') ?? '') ?? []
    const [, boundary = ''] = /^multipart\/form-data; boundary=(.+)$/.exec(type) ?? []
    const expected = Buffer.from(await usual.arrayBuffer()).toString('latin1')
    expect(text.replaceAll(boundary, '')).toBe(expected.replaceAll(drawn, ''))
  })

  it('has equal bytes each time, and others for other content', async () => {
    const [one, again] = [await read(createForm()), await read(createForm())]
    expect(again).toEqual(one)
    const other = createForm()
    other.set('plain', 'three')
    expect((await read(other)).type).not.toBe(one.type)
  })

  it('is read as it was written', async () => {
    const { content, type } = await readRequestBody(createForm())
    const parsed = await new Response(content as ArrayBuffer, { headers: { 'content-type': type ?? '' } }).formData()
    expect([parsed.getAll('plain'), (parsed.get('file') as File).size]).toEqual([['one\r\ntwo', ''], 4])
  })
})

it('a form of another class, such as one of the undici package, is read as one of the global class', async () => {
  const other = new Undici()
  for (const [name, value] of createForm()) other.append(name, value as string)
  expect(other).not.toBeInstanceOf(FormData)
  expect(await read(other as unknown as FormData)).toEqual(await read(createForm()))
})

it('bytes of another context stay bytes', async () => {
  const { content } = await readRequestBody(runInNewContext('new Uint8Array([1, 2, 3]).buffer'))
  expect(content).toEqual(new Uint8Array([1, 2, 3]))
})

it('any other value is sent as its text', async () => {
  expect(await readRequestBody(5 as never)).toEqual({ content: '5' })
})

it('a blob becomes bytes with its type', async () => {
  const { content, type } = await readRequestBody(new Blob(['x'], { type: 'image/png' }))
  expect([content, type]).toEqual([new TextEncoder().encode('x').buffer, 'image/png'])
})

it.each([
  ['text', 'text'],
  ['a query', new URLSearchParams({ a: '1' })],
  ['bytes', new Uint8Array([1])],
])('%s stays as it is', async (_name, body) => {
  expect(await readRequestBody(body)).toEqual({ content: body })
})

it.each([
  ['a stream', () => new Blob(['x']).stream()],
  ['a stream of Node', () => Readable.from(['x']) as never],
  [
    'a generator',
    () =>
      (async function* () {
        yield 'x'
      })() as never,
  ],
])('%s is refused, because it can be sent only once', async (_name, open) => {
  await expect(readRequestBody(open())).rejects.toMatchObject({ code: 'body_not_replayable' })
})
