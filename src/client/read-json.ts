/** Reads a server's JSON with limits on size and time. */
import { isFields } from '../core/encoding/fields.ts'
import { toOneLine } from '../core/encoding/one-line.ts'

const mostBytes = 65_536

/** Reads the JSON from a copy of a response's body. Undefined for other content, or if it is too large or too slow. */
export async function readJson(response: Response, patienceMs: number): Promise<unknown> {
  const reader = response.clone().body?.getReader()
  if (!reader) return undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLate = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, patienceMs, 'late')
  })
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  try {
    for (;;) {
      const part = await Promise.race([reader.read(), tooLate])
      if (part === 'late') return undefined
      if (part.done) return JSON.parse(text + decoder.decode())
      bytes += part.value.byteLength
      if (bytes > mostBytes) return undefined
      text += decoder.decode(part.value, { stream: true })
    }
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {})
  }
}

/** The code of a refusal and its words, as far as the body has them. Both are texts of the server. */
export function readRefusal(body: unknown): { readonly code: string | undefined; readonly detail: string | undefined } {
  const { code, detail } = isFields(body) ? body : {}
  const readLine = (value: unknown) => (typeof value === 'string' ? toOneLine(value) : undefined)
  return { code: readLine(code), detail: readLine(detail) }
}
