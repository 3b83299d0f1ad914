/** Reads a server's JSON with limits on size and time. */

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
