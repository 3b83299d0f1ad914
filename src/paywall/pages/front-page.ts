/** The front page: the items for sale, each with its price and one button. It needs no script. */
import type { PageTexts } from '../../core/checkout/languages/en.ts'
import { fill } from '../../core/checkout/languages/fill.ts'
import type { Language } from '../../core/checkout/languages/language.ts'
import type { Seller } from '../../core/checkout/seller.ts'
import type { Network } from '../../core/money/tokens.ts'
import { clip, renderDocument, renderLink } from './document.ts'
import { escapeHtml } from './escape.ts'

export interface FrontItem {
  /** The description, or else the path. */
  readonly name: string
  readonly method: string
  readonly path: string
  /** Undefined if the price depends on the request. */
  readonly price: string | undefined
  readonly token: string
  /** Other accepted tokens. */
  readonly others: readonly string[]
  /** The quantity: "one request". */
  readonly buys: string
  /** The address of its checkout page. Undefined if only programs can buy it. */
  readonly href: string | undefined
  /** It cannot be bought now. */
  readonly isPaused: boolean
}

export interface FrontPageParts {
  readonly items: readonly FrontItem[]
  readonly language: Language
  readonly seller: Seller | undefined
  readonly host: string
  readonly network: Network
  readonly nonce: string
  readonly style: string
  /** Links of the service: name and address. */
  readonly links: readonly (readonly [name: string, href: string])[]
}

export function renderFrontPage(parts: FrontPageParts): string {
  const { items, seller, host, network, nonce, style, links, language } = parts
  const texts = language.texts.page
  const name = seller?.name ?? host
  const logo =
    seller?.logo === undefined ? '' : `<img src="${escapeHtml(seller.logo)}" alt="" width="64" height="64">\n`
  const under = seller?.name === undefined ? '' : `<p class="host"><bdi>${escapeHtml(clip(host))}</bdi></p>\n`
  const list =
    items.length === 0 ? `<p class="hint">${escapeHtml(texts.nothingForSale)}</p>\n` : renderItems(items, texts)
  return renderDocument({
    ...{ nonce, style, seller, network, language },
    title: name,
    isListed: network === 'mainnet',
    main: `<header>
${logo}<h1><bdi>${escapeHtml(clip(name))}</bdi></h1>
${under}<p class="hint">${escapeHtml(texts.payEach)}</p>
</header>
${list}`,
    links: links.map(([text, href]) => `<p>${renderLink(href, text)}</p>`).join(''),
  })
}

function renderItems(items: readonly FrontItem[], texts: PageTexts): string {
  return `<ul class="items">\n${items.map((item) => renderItem(item, texts)).join('')}</ul>\n`
}

function renderItem(item: FrontItem, texts: PageTexts): string {
  const { name, method, path, price, token, others, buys, isPaused } = item
  const shown = escapeHtml(clip(name))
  // Browsers use GET.
  const address = method === 'GET' ? path : `${method} ${path}`
  const tokens = others.join(', ')
  const also = tokens === '' ? '' : ` &#xb7; ${escapeHtml(fill(texts.alsoIn, { tokens }))}`
  const amount =
    price === undefined
      ? `<p class="price">${escapeHtml(texts.onRequest)}</p>`
      : `<p class="price"><b>${escapeHtml(price)}</b> ${escapeHtml(token)}</p>`
  const reason = isPaused ? `<p class="hint warn">${escapeHtml(texts.unavailable)}</p>` : ''
  return `<li><div><h2><bdi>${shown}</bdi></h2>
${address === name ? '' : `<p class="hint"><code>${escapeHtml(clip(address))}</code></p>\n`}<p class="hint">${escapeHtml(fill(texts.buys, { quantity: buys }))}${also}</p>${reason}</div>
<div class="buy">${amount}${renderButton(item, texts)}</div></li>
`
}

function renderButton({ name, href, isPaused }: FrontItem, texts: PageTexts): string {
  if (href === undefined) return `<p class="hint">${escapeHtml(texts.forPrograms)}</p>`
  const text = `${escapeHtml(texts.buy)}<span class="unseen"> ${escapeHtml(clip(name))}</span>`
  if (isPaused) return `<button class="button plain" type="button" disabled>${text}</button>`
  return `<a class="button" href="${escapeHtml(href)}">${text}</a>`
}
