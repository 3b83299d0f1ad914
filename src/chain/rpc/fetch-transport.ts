/** The RPC transport for browsers and other clients without a better one: the platform's own `fetch`. */
import { longestAnswer, type Transport } from '../../core/runtime.ts'

export const fetchTransport: Transport = async (url, body, { signal }) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal,
    // The target of a redirect is not the configured node.
    redirect: 'error',
    credentials: 'omit',
  })
  return { status: response.status, text: await readText(response) }
}

async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    text += decoder.decode(value, { stream: true })
    if (text.length > longestAnswer) {
      await reader.cancel()
      throw new RangeError('the response is too large')
    }
  }
}
