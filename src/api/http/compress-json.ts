/**
 * Compresses the private JSON of the dashboard.
 *
 * The size of a compressed text can reveal a part of it to a stranger who makes a browser request it with chosen text
 * (BREACH). No other site can make a browser send the session (SameSite=Strict, or a bearer token), so a stranger
 * causes no private answer. The answers of the sign-in hold a secret, are not private, and stay as they are.
 */
import { acceptsGzip, compress } from '../../paywall/pages/compress.ts'

/** Shorter bodies fit in one packet anyway. */
const fewestBytes = 1_000

export async function compressJson(request: Request, response: Response): Promise<Response> {
  const { headers } = response
  if (headers.get('content-type') !== 'application/json' || headers.has('content-encoding')) return response
  if (Number(headers.get('content-length') ?? 0) < fewestBytes) return response
  headers.append('Vary', 'Accept-Encoding')
  if (!acceptsGzip(request.headers.get('accept-encoding') ?? undefined)) return response
  const bytes = await compress(response.body)
  headers.set('Content-Encoding', 'gzip')
  headers.set('Content-Length', String(bytes.length))
  return new Response(bytes, { status: response.status, headers })
}
