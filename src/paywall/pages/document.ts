/** The frame of every page for people: head, seller, footer, and a policy that allows only the page's own parts. */
import { deriveAccent } from '../../core/checkout/accent.ts'
import type { PageTexts } from '../../core/checkout/languages/en.ts'
import { fill } from '../../core/checkout/languages/fill.ts'
import type { Language } from '../../core/checkout/languages/language.ts'
import { contactLink, logoSource, type Seller } from '../../core/checkout/seller.ts'
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import { type Answer, pageType } from '../../core/http/http.ts'
import type { Network } from '../../core/money/tokens.ts'
import { escapeHtml, inlineScript, inlineStyle } from './escape.ts'

export interface DocumentParts {
  readonly title: string
  readonly language: Language
  readonly seller: Seller | undefined
  /** The nonce of the Content-Security-Policy, different for each document. */
  readonly nonce: string
  readonly style: string
  /** Undefined on a page without a script. */
  readonly script?: string
  /** Shown as a test network, unless it is mainnet. */
  readonly network?: Network | undefined
  /** Search engines may list the page. */
  readonly isListed?: boolean
  /** HTML before the end of the head. */
  readonly head?: string
  /** HTML inside `<main>`. */
  readonly main: string
  /** HTML before the footer's last line. */
  readonly links?: string
  /** HTML after the footer. */
  readonly data?: string
}

const mark =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>paystile</title><rect width="32" height="32" rx="8" fill="#4f3cc9"/><path d="M9 24V8h7.5a5.5 5.5 0 0 1 0 11H9" fill="none" stroke="#fff" stroke-width="3.2" stroke-linecap="round" stroke-linejoin="round"/><circle cx="23" cy="23.5" r="2.6" fill="#8ff0c4"/></svg>'
/** Used twice, encoded once. */
const icon = escapeHtml(`data:image/svg+xml,${mark.replaceAll('"', "'").replaceAll('#', '%23')}`)
const longestText = 120

export function createNonce(): string {
  return encodeBase64url(crypto.getRandomValues(new Uint8Array(18)))
}

/** The whole document, as ASCII. `title` is text, and `main`, `links` and `data` are HTML. */
export function renderDocument(parts: DocumentParts): string {
  const nonce = escapeHtml(parts.nonce)
  const { head = '', data = '', links = '', script } = parts
  const texts = parts.language.texts.page
  return `<!doctype html>
<html lang="${escapeHtml(parts.language.tag)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${parts.isListed ? '' : '<meta name="robots" content="noindex">\n'}<title>${escapeHtml(parts.title)}</title>
<link rel="icon" href="${icon}">
<style nonce="${nonce}">${inlineStyle(parts.style)}${accentStyle(parts.seller)}</style>
${head}</head>
<body>
${banner(parts.network, texts)}<main>
${parts.main}</main>
<footer>${sellerLinks(parts.seller, texts)}${links}<p><img src="${icon}" alt="" width="18" height="18"> ${escapeHtml(texts.paymentBy)}</p></footer>
${data}${script === undefined ? '' : `<script nonce="${nonce}">${inlineScript(script)}</script>\n`}</body>
</html>
`
}

/** The seller above a page: the logo, the name, and the host if the name is not the host. They lead to `home`. */
export function renderSeller(seller: Seller | undefined, host: string, home: string | undefined): string {
  const logo = seller?.logo === undefined ? '' : `<img src="${escapeHtml(seller.logo)}" alt="" width="40" height="40">`
  const name = seller?.name === undefined ? '' : `<b><bdi>${escapeHtml(seller.name)}</bdi></b>`
  const shown = `${logo}${name}<span><bdi>${escapeHtml(clip(host))}</bdi></span>`
  return `<p class="seller">${home === undefined ? shown : `<a href="${escapeHtml(home)}">${shown}</a>`}</p>`
}

function banner(network: Network | undefined, { testNetwork }: PageTexts): string {
  if (network === undefined || network === 'mainnet') return ''
  return `<aside>${escapeHtml(fill(testNetwork, { network }))}</aside>\n`
}

function sellerLinks(seller: Seller | undefined, texts: PageTexts): string {
  const link = (href: string | undefined, name: string): string =>
    href === undefined ? '' : `<p>${renderLink(href, name)}</p>`
  const support = seller?.support === undefined ? undefined : contactLink(seller.support)
  return link(support, texts.support) + link(seller?.terms, texts.terms)
}

/** A link that keeps the page open. */
export function renderLink(href: string, name: string): string {
  return `<a href="${escapeHtml(href)}" target="_blank" rel="noopener">${escapeHtml(name)}</a>`
}

/**
 * The values are computed, so they are only hexadecimal digits. Browsers of 2023 do not know `light-dark()`, and would
 * show buttons without a colour.
 */
function accentStyle(seller: Seller | undefined): string {
  if (seller?.colour === undefined) return ''
  const { light, dark } = deriveAccent(seller.colour)
  const write = ({ accent, soft, fill, fillText }: typeof light): string =>
    `:root{--accent:${accent};--accent-soft:${soft};--fill:${fill};--fill-text:${fillText}}`
  return `${write(light)}@media (prefers-color-scheme:dark){${write(dark)}}`
}

export function clip(text: string): string {
  const points = [...text]
  return points.length > longestText ? `${points.slice(0, longestText).join('')}\u2026` : text
}

export interface PageParts {
  readonly status: number
  readonly language: Language
  readonly body: string
  readonly nonce: string
  readonly seller: Seller | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** The response, with a policy that allows only its own script and style, and the seller's logo. */
export function createPage({ status, language, body, nonce, seller, headers = {} }: PageParts): Answer {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    `img-src data: ${logoSource(seller?.logo)}`.trimEnd(),
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    kind: 'answer',
    status,
    headers: {
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...headers,
      // A page is never stored. A cache that stores it nevertheless must tell languages and encodings apart.
      Vary: [headers['Vary'], 'Accept-Language', 'Accept-Encoding'].filter((name) => name !== undefined).join(', '),
      'Content-Language': language.tag,
      'Content-Type': pageType,
      'Content-Length': String(body.length),
      'Content-Security-Policy': policy.join('; '),
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin-allow-popups',
    },
    body,
  }
}
