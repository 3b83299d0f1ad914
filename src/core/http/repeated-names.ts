/**
 * Detects names that a price depends on and that a request contains more than once, or in a form that other programs
 * read as the same name. A price function reads one value. The program behind it may read another one, and then the
 * wrong price is paid.
 */
import type { Incoming } from './http.ts'

/** The names of query parameters and form fields as they were sent, decoded. */
export function readNames(text: string): readonly string[] {
  // Some programs also accept semicolons as separators.
  return text.split(/[&;]/).flatMap((part) => {
    const [name = ''] = part.split('=', 1)
    return name === '' ? [] : [decodeName(name)]
  })
}

export function decodeName(text: string): string {
  const [decoded = ''] = new URLSearchParams(`${text.replaceAll('&', '%26')}=`).keys()
  return decoded
}

/** Whether the query has a name more than once or in another spelling, or a form field has it. */
export function isRepeated(name: string, sent: readonly string[], fields: readonly string[]): boolean {
  const alike = sent.filter((other) => isAlike(other, name))
  return alike.length > 1 || alike.some((other) => other !== name) || fields.some((field) => isAlike(field, name))
}

/**
 * Some frameworks read `size[]`, `size[0]`, `[size]`, `size.x`, `SIZE`, ` size`, `%73ize` and `size\0` as `size`. PHP
 * reads dots and spaces as underscores.
 */
function isAlike(sent: string, name: string): boolean {
  const [one, other] = [plain(sent), plain(name)]
  const underscored = (text: string) => text.replace(/[.\s]/g, '_')
  return (
    beginsWith(one.split(/[[\].]+/), other.split(/[[\].]+/)) ||
    beginsWith(underscored(one).split(/[[\]]+/), underscored(other).split(/[[\]]+/))
  )
}

function plain(name: string): string {
  // A program that decodes twice reads %73ize as size.
  const decoded = name.includes('%') ? decodeName(name.replaceAll('+', '%2B')) : name
  const [text = ''] = decoded.normalize('NFKC').toLowerCase().split('\0', 1)
  return text.trim()
}

function beginsWith(path: readonly string[], start: readonly string[]): boolean {
  const [parts, first] = [path.filter(Boolean), start.filter(Boolean)]
  return first.length > 0 && first.every((part, index) => parts[index] === part)
}

/**
 * Whether a header is sent more than once, under a name that CGI and WSGI read as the same (`X_Model`), or named in
 * `Connection`, so that proxies remove it.
 */
export function isHeaderRepeated(name: string, incoming: Incoming): boolean {
  const alike = headersLike(name, incoming)
  if (alike.length > 1 || alike.some(([sent]) => sent.toLowerCase() !== name)) return true
  const connection = headersLike('connection', incoming).map(([, value]) => value.toLowerCase())
  return connection.some((value) => value.split(',').some((token) => token.trim() === name))
}

/** The headers that some program reads as this one, names and values as sent. */
export function headersLike(name: string, incoming: Incoming): readonly (readonly [name: string, value: string])[] {
  const raw = incoming.rawHeaders()
  const found: (readonly [string, string])[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const sent = raw[index] ?? ''
    if (sent.length === name.length && foldName(sent) === foldName(name)) found.push([sent, raw[index + 1] ?? ''])
  }
  return found
}

/** Programs that convert headers to variables (CGI, WSGI, PHP) do not distinguish `X_Payment.Tx` from `X-Payment-Tx`. */
export function foldName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '-')
}
