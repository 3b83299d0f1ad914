/** The front page: the items for sale, each with its price and one button. It needs no script. */
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
}

export interface FrontPageParts {
  readonly items: readonly FrontItem[]
  readonly seller: Seller | undefined
  readonly host: string
  readonly network: Network
  readonly nonce: string
  readonly style: string
  /** Links of the service: name and address. */
  readonly links: readonly (readonly [name: string, href: string])[]
}

export function renderFrontPage({ items, seller, host, network, nonce, style, links }: FrontPageParts): string {
  const name = seller?.name ?? host
  const logo =
    seller?.logo === undefined ? '' : `<img src="${escapeHtml(seller.logo)}" alt="" width="64" height="64">\n`
  const under = seller?.name === undefined ? '' : `<p class="host"><bdi>${escapeHtml(clip(host))}</bdi></p>\n`
  const list = items.length === 0 ? '<p class="hint">Nothing is for sale at the moment.</p>\n' : renderItems(items)
  return renderDocument({
    ...{ nonce, style, seller, network },
    title: name,
    isListed: network === 'mainnet',
    main: `<header>
${logo}<h1><bdi>${escapeHtml(clip(name))}</bdi></h1>
${under}<p class="hint">Pay for each item with a Solana wallet. You need no account.</p>
</header>
${list}`,
    links: links.map(([text, href]) => `<p>${renderLink(href, text)}</p>`).join(''),
  })
}

function renderItems(items: readonly FrontItem[]): string {
  return `<ul class="items">\n${items.map(renderItem).join('')}</ul>\n`
}

function renderItem({ name, method, path, price, token, others, buys, href }: FrontItem): string {
  const shown = escapeHtml(clip(name))
  const also = others.length === 0 ? '' : ` &#xb7; also in ${escapeHtml(others.join(', '))}`
  const amount =
    price === undefined
      ? '<p class="price">Price on request</p>'
      : `<p class="price"><b>${escapeHtml(price)}</b> ${escapeHtml(token)}</p>`
  const button =
    href === undefined
      ? '<p class="hint">For programs</p>'
      : `<a class="button" href="${escapeHtml(href)}">Buy<span class="unseen"> ${shown}</span></a>`
  return `<li><div><h2><bdi>${shown}</bdi></h2>
<p class="hint"><code>${escapeHtml(`${method} ${clip(path)}`)}</code></p>
<p class="hint">Buys ${escapeHtml(buys)}${also}</p></div>
<div class="buy">${amount}${button}</div></li>
`
}
