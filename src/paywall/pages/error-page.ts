/** The page that people get in place of `application/problem+json`. Status and headers stay the same. */
import type { PageTexts } from '../../core/checkout/languages/en.ts'
import { type Language, readLanguage } from '../../core/checkout/languages/language.ts'
import type { Seller } from '../../core/checkout/seller.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { parseUrl } from '../../core/encoding/url.ts'
import type { Answer, Incoming } from '../../core/http/http.ts'
import type { Network } from '../../core/money/tokens.ts'
import { createNonce, createPage, renderDocument, renderSeller } from './document.ts'
import { escapeHtml } from './escape.ts'
import { isForPeople } from './for-people.ts'

export interface ErrorPageParts {
  readonly seller: Seller | undefined
  readonly style: string
  /** The address of the front page. Undefined if there is none. */
  readonly home: string | undefined
  /** A test network is named on the page. Undefined if no route is open. */
  readonly network: Network | undefined
}

const headings: Readonly<Record<number, keyof PageTexts>> = {
  401: 'signInNeeded',
  403: 'notAllowed',
  404: 'notFound',
  405: 'notFound',
  429: 'tooMany',
}

/** Shows a problem to people. All other answers, and those for programs, stay as they are. */
export function showProblem(
  answer: Answer,
  incoming: Pick<Incoming, 'method' | 'header' | 'origin'>,
  parts: ErrorPageParts,
): Answer {
  if (answer.headers['Content-Type'] !== 'application/problem+json' || !isForPeople(incoming)) return answer
  const nonce = createNonce()
  const language = readLanguage(incoming)
  const { origin } = parseUrl(incoming.origin()) ?? new URL('http://localhost')
  const body = renderProblem(answer, { ...parts, language, nonce, host: origin.replace(/^https?:\/\//, '') })
  const { status, headers, varying, cookies } = answer
  const vary = [headers['Vary'], 'Accept'].filter((name) => name !== undefined).join(', ')
  const page = createPage({ status, language, body, nonce, seller: parts.seller, headers: { ...headers, Vary: vary } })
  return { ...page, ...(varying && { varying }), ...(cookies && { cookies }) }
}

interface ProblemParts extends ErrorPageParts {
  readonly language: Language
  readonly nonce: string
  readonly host: string
}

function renderProblem({ status, body }: Answer, parts: ProblemParts): string {
  const { seller, style, home, language, nonce, host, network } = parts
  const { title, detail, code } = readProblem(body)
  const texts = language.texts.page
  const heading = texts[headings[status] ?? (status >= 500 ? 'unavailable' : 'didNotWork')]
  const link = (style: string, href: string, text: string): string =>
    `<a class="${style}" href="${escapeHtml(href)}">${escapeHtml(text)}</a>\n`
  const again = status >= 500 || status === 429 ? link('button', '', texts.tryAgain) : ''
  const front = home === undefined ? '' : link('button plain', home, texts.toFront)
  const isNotFound = code === 'not_found'
  const words = isNotFound
    ? `<p>${escapeHtml(texts.notFoundText)}</p>`
    : `<p lang="en">${escapeHtml(detail || title)}</p>`
  const shown = `<code>${escapeHtml(`${status} ${code}`.trim())}</code>`
  return renderDocument({
    ...{ nonce, style, seller, language, network },
    title: `${heading} - ${seller?.name ?? host}`,
    main: `<header>
${renderSeller(seller, host, home)}
<h1>${escapeHtml(heading)}</h1>
</header>
${words}
${again}${front}<p class="hint">${escapeHtml(texts.error).replace('{code}', () => shown)}</p>
`,
  })
}

function readProblem(body: string): { readonly title: string; readonly detail: string; readonly code: string } {
  const value: unknown = JSON.parse(body)
  const fields = isFields(value) ? value : {}
  const read = (name: string): string => (typeof fields[name] === 'string' ? (fields[name] as string) : '')
  return { title: read('title'), detail: read('detail'), code: read('code') }
}
