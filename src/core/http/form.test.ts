import { describe, expect, it } from 'vitest'
import { isForm, readForm } from './form.ts'
import type { Incoming } from './http.ts'

const post = (headers: Readonly<Record<string, string>>, method = 'POST'): Incoming => ({
  request: {},
  method,
  target: '/',
  header: (name) => headers[name],
  rawHeaders: () => Object.entries(headers).flat(),
  origin: () => 'http://shop.example',
  peer: () => undefined,
  body: async () => ({ kind: 'gone' }),
})
const multipart = 'multipart/form-data; boundary=b'
const read = (text: string, type = multipart) =>
  readForm(post({ 'content-type': type }), new TextEncoder().encode(text))
const part = (head: string, type?: string) => read(`--b\r\n${head}\r\n\r\nvalue\r\n--b--\r\n`, type)

describe('isForm', () => {
  it.each<[string, Incoming, boolean]>([
    ['a form', post({ 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=utf-8' }), true],
    ['parts', post({ 'content-type': 'multipart/related; boundary=b' }), true],
    ['a body without a type', post({ 'content-length': '3' }), true],
    ['a chunked body without a type', post({ 'transfer-encoding': 'chunked' }, 'PUT'), true],
    ['a body of HTTP/2 without a type', post({}), true],
    ['JSON', post({ 'content-type': 'application/json' }), false],
    ['an empty POST', post({ 'content-length': '0' }), false],
    ['a GET', post({}, 'GET'), false],
  ])('%s: %s', (_name, incoming, expected) => expect(isForm(incoming)).toBe(expected))
})

describe('T251: a form', () => {
  it.each([
    'Content-Disposition: form-data; name="size"',
    'content-disposition: form-data; name=size',
    'Content-Disposition:form-data;name="size"',
    'Content-Disposition: form-data; name="size"; filename="a.png"\r\nContent-Type: image/png',
    String.raw`Content-Disposition: form-data; filename="C:\temp\a.png"; name="size"`,
    "Content-Disposition: form-data; name=size; filename=a.png; filename*=utf-8''a%20b.png",
    'Content-Disposition: form-data; name="%73ize"',
    'Content-Disposition: form-data; filename="size"',
    'Content-Type: text/plain; name="size"',
    'Content-ID: <size>',
  ])('has the field size: %j', (head) => {
    expect(part(head).unclear).toBeUndefined()
    expect(part(head).names).toContain('size')
  })

  it.each([
    ['no part', read('--b--\r\n')],
    ['a part without headers', read('--b\r\n\r\nsize=1\r\n--b--')],
    ['a file that resembles a form', read('--b\r\nContent-Type: a/b\r\n\r\n\r\nname="size"&size=1\r\n--b--\r\n')],
    ['an HTTP request as a part', part('Content-Type: application/http', 'multipart/mixed; boundary="b"')],
    ['a body without bytes', read('')],
  ])('has no fields: %s', (_name, form) => expect(form).toEqual({ names: [] }))

  it('has the names of its parts in UTF-8', () => {
    expect(part('Content-Disposition: form-data; name="größe"').names).toContain('größe')
    expect(read('größe=1', 'application/x-www-form-urlencoded').names).toEqual(['größe'])
  })

  it.each([
    ['an escaped quote', part(String.raw`Content-Disposition: form-data; x="\"; name="size"`)],
    ['an escape in a name', part(String.raw`Content-Disposition: form-data; name="si\ze"`)],
    ['an encoded word', part('Content-Disposition: form-data; name="=?utf-8?Q?size?="')],
    ['an unknown parameter', part('Content-Disposition: form-data; x="y"; name="a"')],
    ['two dispositions', part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="c"')],
    ['an underscore', part('Content_Disposition: form-data; name="size"')],
    ['a bare line feed', part('Content-Type: a/b\nContent-Disposition: form-data; name="size"')],
    ['a long header', part(`Content-Disposition: form-data; name="${'a'.repeat(500_000)}"`)],
    ['no end', read('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n')],
    ['text after its end', read('--b--\r\nContent-Disposition: form-data; name="size"\r\n\r\n1\r\n')],
    ['text before its start', read('size=1\r\n--b--\r\n')],
    ['a boundary within a line', read('--b\r\n\r\nx--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--')],
    ['no boundary', part('Content-Type: a/b', 'multipart/form-data')],
    ['a boundary with a charset', part('Content-Type: a/b', "multipart/form-data; boundary*=utf-8''b; boundary=b")],
    ['a boundary that PHP shortens', read('--b,c--\r\n', 'multipart/form-data; boundary=b,c')],
    ['two types', read('--b--\r\n', 'text/plain, multipart/form-data; boundary=b')],
    ['EBCDIC', read('--b--\r\n', `${multipart}; charset=ibm500`)],
    ['a byte order mark', readForm(post({}), Uint8Array.of(0xff, 0xfe, 0x73, 0))],
  ])('is unclear: %s', (_name, { names, unclear }) => expect([names, unclear]).toEqual([[], expect.any(String)]))
})
