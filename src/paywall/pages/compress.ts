/**
 * Compresses pages for browsers that accept it.
 *
 * The size of a compressed text tells how much of it repeats. A stranger who makes a browser load a page with chosen
 * text, and sees the sizes, could guess a secret in that page (BREACH). The pages hold no such secret:
 * - The claim secret is in a cookie that no page contains.
 * - The nonce of the policy differs in every response, so no guess can be repeated.
 * - The requestId becomes public on the chain, and opens nothing without the secret. It belongs to one address with its
 *   query, so that a page with other chosen text in its address has another requestId.
 * - The receipt and the state of a payment come as JSON, which is not compressed.
 */
import { type Answer, type Incoming, pageType } from '../../core/http/http.ts'

/** Whether the client accepts gzip, with a preference above zero. */
export function acceptsGzip(header: string | undefined): boolean {
  const [, weight] = /(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i.exec(header ?? '') ?? [undefined, '0']
  return weight === undefined || Number(weight) > 0
}

export async function compress(body: Response['body']): Promise<Uint8Array<ArrayBuffer>> {
  const packed = body?.pipeThrough(new CompressionStream('gzip'))
  return new Uint8Array(await new Response(packed).arrayBuffer())
}

/** The same answer with compressed bytes, if it is a page and the client accepts them. Others stay as they are. */
export async function compressPage(answer: Answer, { header }: Pick<Incoming, 'header'>): Promise<Answer> {
  if (answer.headers['Content-Type'] !== pageType || !acceptsGzip(header('accept-encoding'))) return answer
  const bytes = await compress(new Response(answer.body).body)
  const headers = { ...answer.headers, 'Content-Encoding': 'gzip', 'Content-Length': String(bytes.length) }
  return { ...answer, headers, bytes }
}
