/**
 * `/dashboard`: the files of the page. They contain no private data, so they are public. The page reads its data from
 * other endpoints, which check the reader.
 */
import type { Network } from '../../core/money/tokens.ts'
import { plainHeaders, problem } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { readTestMode } from './test-mode.ts'

export interface File {
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
}

/** The page loads nothing from other origins, runs only its own scripts, and cannot be framed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const security = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': policy,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/** Puts the banner of test mode into the document, so that the page does not move when its data arrives. */
export function insertBanner(html: string, network: Network): string {
  const { banner } = readTestMode(network)
  const text = `<aside class="banner" aria-label="Test network"><b>Test network (${network}): no real money.</b> <span>${banner}</span></aside>`
  return html.replace('<!-- banner -->', () => (banner === undefined ? '' : text))
}

export type Dashboard = (request: Request, url: URL) => Response

export function createDashboard(files: ReadonlyMap<string, File>): Dashboard {
  return (request, url) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return problem('method_not_allowed', { headers: { Allow: 'GET, HEAD' } })
    const path = url.pathname.slice(endpoints.dashboard.length + 1)
    const asset = path.startsWith('assets/') ? files.get(path) : undefined
    // The screens of the page have paths below it, so each can be opened and bookmarked.
    const file = asset ?? (path.startsWith('assets/') ? undefined : files.get('index.html'))
    if (!file) {
      const detail = files.size === 0 ? 'The pages are not built. Run npm run build.' : undefined
      return problem('not_found', detail === undefined ? {} : { detail })
    }
    const isPacked = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    const body = isPacked ? file.gzip : file.bytes
    return new Response(request.method === 'HEAD' ? null : Uint8Array.from(body), {
      headers: {
        ...plainHeaders,
        ...security,
        'Content-Type': file.type,
        'Content-Length': String(body.byteLength),
        // The name of an asset changes with its content.
        'Cache-Control': asset ? 'public, max-age=31536000, immutable' : 'no-cache',
        Vary: 'Accept-Encoding',
        ...(isPacked && { 'Content-Encoding': 'gzip' }),
      },
    })
  }
}
