/** The page that people get in place of `application/problem+json`. Status and headers stay the same. */
import type { Seller } from '../../core/checkout/seller.ts'
import { isFields } from '../../core/encoding/fields.ts'
import type { Answer, Incoming } from '../../core/http/http.ts'
import { createNonce, createPage, renderDocument, renderSeller } from './document.ts'
import { escapeHtml } from './escape.ts'
import { isForPeople } from './for-people.ts'

export interface ErrorPageParts {
  readonly seller: Seller | undefined
  readonly style: string
  /** The address of the front page. Undefined if there is none. */
  readonly home: string | undefined
}

const headings: Readonly<Record<number, string>> = {
  401: 'Sign-in needed',
  403: 'Not allowed',
  404: 'Page not found',
  405: 'Page not found',
  429: 'Too many requests',
}

/** Shows a problem to people. All other answers, and those for programs, stay as they are. */
export function showProblem(
  answer: Answer,
  incoming: Pick<Incoming, 'method' | 'header' | 'origin'>,
  parts: ErrorPageParts,
): Answer {
  if (answer.headers['Content-Type'] !== 'application/problem+json' || !isForPeople(incoming)) return answer
  const nonce = createNonce()
  const { origin } = new URL(URL.canParse(incoming.origin()) ? incoming.origin() : 'http://localhost')
  const body = renderProblem(answer, { ...parts, nonce, host: origin.replace(/^https?:\/\//, '') })
  const { status, headers, varying, cookies } = answer
  const vary = [headers['Vary'], 'Accept'].filter((name) => name !== undefined).join(', ')
  const page = createPage({ status, body, nonce, seller: parts.seller, headers: { ...headers, Vary: vary } })
  return { ...page, ...(varying && { varying }), ...(cookies && { cookies }) }
}

function renderProblem(
  { status, body }: Answer,
  { seller, style, home, nonce, host }: ErrorPageParts & { readonly nonce: string; readonly host: string },
): string {
  const { title, detail, code } = readProblem(body)
  const heading = headings[status] ?? (status >= 500 ? 'Not available at the moment' : 'This did not work')
  const again = status >= 500 || status === 429 ? '<a class="button" href="">Try again</a>\n' : ''
  const front =
    home === undefined ? '' : `<a class="button plain" href="${escapeHtml(home)}">Go to the front page</a>\n`
  return renderDocument({
    ...{ nonce, style, seller },
    title: `${heading} - ${seller?.name ?? host}`,
    main: `<header>
${renderSeller(seller, host)}
<h1>${heading}</h1>
</header>
<p>${escapeHtml(detail || title)}</p>
${again}${front}<p class="hint">Error <code>${escapeHtml(`${status} ${code}`.trim())}</code></p>
`,
  })
}

function readProblem(body: string): { readonly title: string; readonly detail: string; readonly code: string } {
  const value: unknown = JSON.parse(body)
  const fields = isFields(value) ? value : {}
  const read = (name: string): string => (typeof fields[name] === 'string' ? (fields[name] as string) : '')
  return { title: read('title'), detail: read('detail'), code: read('code') }
}
