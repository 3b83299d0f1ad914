/** Escapes values for the checkout document, each for its context. The result is ASCII. */
import { asciiJson } from '../../core/http/http.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For text and for quoted attributes. Characters that HTML does not allow become a replacement character. */
export function escapeHtml(text: string): string {
  return text.replace(/[^\t\n\r -~]|[&<>"']/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (code < 0x80 && code >= 0x20 && code !== 0x7f) return entities[character] ?? character
    const isUnfit = code < 0xa0 || (code >= 0xd800 && code <= 0xdfff) || (code & 0xfffe) === 0xfffe
    return isUnfit ? '&#xfffd;' : `&#x${code.toString(16)};`
  })
}

/** For `<script type="application/json">`: the text cannot end the script or begin a comment. */
export function escapeJson(value: unknown): string {
  return asciiJson(value).replace(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
}

/** The inline script. It has non-ASCII characters only in strings and patterns, where escapes are equivalent. */
export const inlineScript = remember((script: string) =>
  script
    .replace(/<(?=\/script|!--)/gi, '\\x3c')
    .replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
)

/** The inline style sheet. */
export const inlineStyle = remember((style: string) =>
  style
    .replace(/<(?=\/style)/gi, '\\3c ')
    .replace(/[\u0080-\u{10ffff}]/gu, (character) => `\\${character.codePointAt(0)?.toString(16)} `),
)

/** Caches the last result, because the text is the same for every page. */
function remember(make: (text: string) => string): (text: string) => string {
  let last: readonly [string, string] | undefined
  return (text) => {
    if (last?.[0] !== text) last = [text, make(text)]
    return last[1]
  }
}
