/**
 * Reads the field names of forms. Programs read unusual forms in different ways, so a form is either plain, or all its
 * names are unknown.
 */
import type { Incoming } from './http.ts'
import { decodeName, headersLike, readNames } from './repeated-names.ts'

export interface Form {
  readonly names: readonly string[]
  /** Why the names are unknown. */
  readonly unclear?: string
}

const formTypes = /application\/x-www-form-urlencoded|multipart\//i

/**
 * Whether some program could read the body as a form. Node reads the first of several `Content-Type` headers, other
 * programs the last, and Rack reads a body without a type as a form.
 */
export function isForm(incoming: Incoming): boolean {
  const types = valuesOf('content-type', incoming)
  if (types.some((type) => formTypes.test(type))) return true
  return (types.length === 0 || types.includes('')) && mayHaveBody(incoming)
}

function mayHaveBody(incoming: Incoming): boolean {
  const length = incoming.header('content-length')
  if (length !== undefined) return Number(length) !== 0
  return incoming.header('transfer-encoding') !== undefined || !/^(?:GET|HEAD)$/.test(incoming.method)
}

function valuesOf(name: string, incoming: Incoming): readonly string[] {
  return headersLike(name, incoming).map(([, value]) => value.trim())
}

/** Charsets that write ASCII characters as ASCII. ASP.NET reads the names of a form also in UTF-16. */
const plainCharset =
  /^(?:utf-?8|us-ascii|iso-8859-\d{1,2}|windows-125\d|shift_jis|euc-(?:jp|kr)|gb(?:k|2312|18030)|big5)$/i

export function readForm(incoming: Incoming, bytes: Uint8Array): Form {
  if (bytes.length === 0) return { names: [] }
  if (valuesOf('content-encoding', incoming).some((value) => !/^(?:identity)?$/i.test(value)))
    return { names: [], unclear: 'send it without Content-Encoding' }
  const [type = '', ...others] = valuesOf('content-type', incoming)
  if (others.length > 0) return { names: [], unclear: 'send one Content-Type' }
  const charsets = [...type.matchAll(/charset[^;]*?=\s*"?([^\s";,]*)/gi)].map(([, charset = '']) => charset)
  const isWide = /^(?:255,254|254,255)/.test(String(bytes.subarray(0, 2)))
  if (isWide || !charsets.every((charset) => plainCharset.test(charset)))
    return { names: [], unclear: 'send it in UTF-8' }
  const text = new TextDecoder().decode(bytes)
  if (!/multipart\//i.test(type)) return { names: readNames(text) }
  const names = readParts(type, text)
  if (!names) return { names: [], unclear: 'send its parts with plain headers, as browsers do' }
  return { names: /urlencoded/i.test(type) ? [...names, ...readNames(text)] : names }
}

/** The names of the parts; undefined unless every program finds the same parts. */
function readParts(type: string, text: string): readonly string[] | undefined {
  const boundary = readBoundary(type)
  if (boundary === undefined) return undefined
  const [preamble = '', ...parts] = text.split(`--${boundary}`)
  const end = parts.pop()
  if (end === undefined || !/^--\s*$/.test(end) || preamble.trim() !== '') return undefined
  const names: string[] = []
  for (const part of parts) {
    const headEnd = part.indexOf('\r\n\r\n')
    if (headEnd < 0 || !part.startsWith('\r\n') || !part.endsWith('\r\n')) return undefined
    const found = readPartNames(part.slice(2, Math.max(headEnd, 2)))
    if (!found) return undefined
    names.push(...found)
  }
  return names
}

const multipartType = /^multipart\/[\w.+-]+(?:\s*;\s*[\w-]+=(?:"[^"\\]*"|[^\s"\\;,]+))*\s*;?$/i
/** Without characters at which some programs end an unquoted value. */
const boundaryParameter = /;\s*boundary=(?:"([\w.+:=?/'() -]{1,70})"|([\w.+'-]{1,70}))\s*(?:;|$)/i

function readBoundary(type: string): string | undefined {
  if (!multipartType.test(type) || type.split(/boundary/i).length !== 2) return undefined
  const [, quoted, bare] = boundaryParameter.exec(type) ?? []
  const boundary = quoted ?? bare
  return boundary === boundary?.trim() ? boundary : undefined
}

const longestHead = 8_192
const headerLine = /^([A-Za-z0-9-]+): ?([^\p{Cc}]*)$/u
/** Unquoted values come from .NET. A backslash before a quote ends the text for some programs only. */
const plainDisposition =
  /^[a-z-]+(?:; ?(?:name|filename)=(?:"(?:[^"\\]|\\[^"\\])*"|[^\s"\\;,'*%=]+)|; ?filename\*=[\w!#$&+.^`|~%'-]+)*;?$/i

/** The names that programs could read from the headers of a part; undefined for unusual headers. */
function readPartNames(head: string): readonly string[] | undefined {
  if (head === '') return []
  if (head.length > longestHead) return undefined
  const headers = head.split('\r\n').map((line) => headerLine.exec(line))
  if (headers.includes(null)) return undefined
  const valuesIn = (name: string) =>
    headers.flatMap((header) => (header?.[1]?.toLowerCase() === name ? [header[2] ?? ''] : []))
  const dispositions = valuesIn('content-disposition')
  if (dispositions.length > 1 || !dispositions.every((value) => plainDisposition.test(value))) return undefined
  const named = readParameters('name', head)
  // Java decodes words such as =?utf-8?Q?size?=.
  if (named.some((name) => name.includes('\\') || name.includes('=?'))) return undefined
  // Rack names a part without a name by these.
  const others = dispositions.length > 0 && named.length > 0 ? [] : readParameters('filename', head)
  const ids = valuesIn('content-id').map((id) => id.replace(/^<|>$/g, ''))
  return [...named, ...others, ...ids].flatMap((name) => [name, decodeName(name)])
}

function readParameters(name: string, head: string): readonly string[] {
  const found = head.matchAll(new RegExp(`[;\\s]${name}\\*?\\s*=\\s*(?:"([^"\\r\\n]*)"|([^;\\s]*))`, 'gi'))
  return [...found].map(([, quoted, bare]) => quoted ?? bare ?? '')
}
