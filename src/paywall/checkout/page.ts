/**
 * The checkout document: everything that a person needs to pay, in one document, readable without a script and without
 * loading anything. The script only makes it interactive.
 */
import type { PageTexts } from '../../core/checkout/languages/en.ts'
import { fill } from '../../core/checkout/languages/fill.ts'
import type { Language } from '../../core/checkout/languages/language.ts'
import type { CheckoutFacts, CheckoutView } from '../../core/checkout/messages.ts'
import type { Seller } from '../../core/checkout/seller.ts'
import {
  describeState,
  formatPrice,
  formatTitle,
  formatWorth,
  isPayable,
  longPrice,
} from '../../core/checkout/texts.ts'
import { formatDecimal } from '../../core/money/money.ts'
import { clip, renderDocument, renderSeller } from '../pages/document.ts'
import { escapeHtml, escapeJson } from '../pages/escape.ts'

export interface CheckoutParts {
  /** The view of the first token. */
  readonly view: CheckoutView
  /** The nonce of the Content-Security-Policy, different for each document. */
  readonly nonce: string
  readonly script: string
  readonly style: string
  readonly seller?: Seller | undefined
  /** The address of the front page. Undefined if there is none. */
  readonly home?: string | undefined
  readonly language: Language
}

/** The whole document, as ASCII. Every value in it is untrusted. */
export function renderCheckout(facts: CheckoutFacts, parts: CheckoutParts): string {
  const { nonce, script, style, seller, home, language } = parts
  const texts = language.texts.page
  const first = facts.tokens[0]
  const price = first ? formatPrice(first, facts) : ''
  const told = notice(facts)
  // The purchase takes the place of the ways to pay.
  const opensAtOnce = facts.standing.state === 'paid' && facts.isReadable
  const scriptless = `#tokens,#wallets,#code p{display:none}${isHeldBack(facts, parts) ? '#pay.held{visibility:visible}' : ''}`
  return renderDocument({
    ...{ nonce, script, style, seller, language },
    title: formatTitle(first, facts),
    network: facts.network,
    head: `<noscript><style nonce="${escapeHtml(nonce)}">${scriptless}</style></noscript>\n`,
    main: `<header>
${renderSeller(seller, facts.host, home)}
<h1><bdi>${escapeHtml(clip(facts.what))}</bdi></h1>
<p id="price"${(first?.amount.length ?? 0) > longPrice ? ' class="long"' : ''}><b>${escapeHtml(formatDecimal(first?.amount ?? '', facts.locale))}</b> <span>${escapeHtml(first?.token ?? '')}</span> <small id="worth">${escapeHtml(first ? formatWorth(first, facts) : '')}</small></p>
<p class="terms">${place(texts.buys, 'quantity', `<bdi>${escapeHtml(facts.buys)}</bdi>`)}<span id="time"${isPayable(facts.standing) ? '' : ' hidden'}>${place(texts.validUntil, 'time', until(facts))}</span></p>
</header>
<div id="notice"${told !== '' && (isPayable(facts.standing) || opensAtOnce) ? ' class="top"' : ''} role="status" tabindex="-1">${told}</div>
<div class="work${isFinal(facts) ? ' final' : ''}">
<p id="said" role="status" class="unseen"></p>
<section id="pay"${isPayable(facts.standing) ? (isHeldBack(facts, parts) ? ' class="held"' : '') : ' hidden'}>
${choice(facts, texts)}<div id="wallets"></div>
<div id="apps"></div>
${phone(parts.view, fill(facts.texts.qr, { price }), texts)}
${facts.isSplit ? split(parts.view, texts) : byHand(facts, texts)}
</section>
<section id="resource" aria-label="${escapeHtml(facts.texts.purchase)}" hidden></section>
</div>
<div class="more">
<section id="receipt" aria-label="${escapeHtml(facts.texts.receipt)}" hidden></section>
<p class="print">${escapeHtml(facts.after === 'return' ? texts.promiseReturn : texts.promiseReload)}</p>
</div>
`,
    data: `<script type="application/json" id="facts">${escapeJson(facts)}</script>\n`,
  })
}

/** Whether the script must first check that the browser kept the cookie. Without scripts the page shows it at once. */
function isHeldBack({ standing, isKept }: CheckoutFacts, { script }: CheckoutParts): boolean {
  return isPayable(standing) && !isKept && script !== ''
}

/** Whether the page stays as it is: it waits for nothing, and has no receipt to show. */
function isFinal({ standing: { state }, after, bought }: CheckoutFacts): boolean {
  if (state === 'paid') return after === 'return'
  if (state === 'used') return bought === undefined
  return state === 'expired' || state === 'late' || state === 'stranded'
}

function notice(facts: CheckoutFacts): string {
  const told = describeState(facts.standing, facts)
  if (!told) return ''
  const tx =
    told.tx === undefined
      ? ''
      : `<p class="tx"><span>${escapeHtml(facts.texts.transaction)}</span> <code>${escapeHtml(told.tx)}</code></p>`
  // An empty address is the address of the page itself: the link reloads it, with or without a script.
  const href = escapeHtml(told.href ?? '')
  const style = told.isQuiet ? '' : ' class="button"'
  const apart = told.isApart ? ' target="_blank" rel="noopener"' : ''
  // Tells the service that this page sends the person.
  const sender = told.opens ? ' referrerpolicy="same-origin"' : ''
  const action =
    told.action === undefined ? '' : `<a${style} href="${href}"${apart}${sender}>${escapeHtml(told.action)}</a>`
  return `<div class="notice ${told.tone}"><h2>${escapeHtml(told.title)}</h2><p>${escapeHtml(told.text)}</p>${tx}${action}</div>`
}

/** Useful only with the script, so it is not shown without one. */
function choice(facts: CheckoutFacts, { payIn }: PageTexts): string {
  const { tokens, locale } = facts
  if (tokens.length < 2) return ''
  const rows = tokens.map((one, index) => {
    const [code, text] = [escapeHtml(one.token), escapeHtml(formatDecimal(one.amount, locale))]
    const about = one.dollars === undefined ? '' : `<small>${escapeHtml(formatWorth(one, facts))}</small>`
    return `<label><input type="radio" name="token" value="${code}"${index === 0 ? ' checked' : ''}><span>${code}</span><small>${text}</small>${about}</label>`
  })
  return `<fieldset id="tokens"><legend>${escapeHtml(payIn)}</legend>${rows.join('')}</fieldset>\n`
}

/** Open without a script. On a touch screen, the script closes the code. */
function phone({ uri, qr }: CheckoutView, label: string, texts: PageTexts): string {
  if (!qr) return ''
  const { viewBox, side, path } = qr
  const link = uri.startsWith('solana:')
    ? `<a id="link" class="button" href="${escapeHtml(uri)}">${escapeHtml(texts.openApp)}</a>`
    : ''
  return `<div class="phone"><details id="code" open><summary>${escapeHtml(texts.phone)}</summary>
<svg id="qr" role="img" aria-label="${escapeHtml(label)}" viewBox="${viewBox}" width="${side}" height="${side}" shape-rendering="crispEdges"><path d="${path}"/></svg>
<p class="hint">${escapeHtml(texts.scan)}</p></details>
${link}</div>`
}

/** Takes the place of the data for a manual transfer. */
function split({ qr }: CheckoutView, { splitBrowser, splitPhone }: PageTexts): string {
  return `<p id="split" class="hint">${escapeHtml(qr ? splitPhone : splitBrowser)}</p>`
}

/** Open without a script, with each amount beside the address of its token. The script shows the chosen token only. */
function byHand(facts: CheckoutFacts, texts: PageTexts): string {
  const row = (name: string, value: string, token?: string): string =>
    `<div${token === undefined ? '' : ` data-token="${escapeHtml(token)}"`}><dt>${escapeHtml(name)}</dt><dd><code>${escapeHtml(value)}</code></dd></div>`
  const amounts = facts.tokens.map(
    ({ token, amount, mint }) =>
      row(fill(texts.amountIn, { token }), amount, token) +
      (mint === undefined ? '' : row(fill(texts.tokenAddress, { token }), mint, token)),
  )
  return `<details id="hand" open><summary>${escapeHtml(texts.byHand)}</summary>
<p>${escapeHtml(texts.byHandText)}</p>
<dl>${row(facts.texts.address, facts.recipient)}${amounts.join('')}${row(texts.memo, facts.requestId)}</dl>
<noscript><p>${facts.isKept ? '' : `${escapeHtml(texts.allowCookies)} `}<b>${escapeHtml(texts.afterPaying)}</b></p></noscript></details>`
}

/** A text with HTML in the place of its placeholder. */
function place(text: string, name: string, html: string): string {
  return escapeHtml(text).replace(`{${name}}`, () => html)
}

/** The service's time, for people without a script. */
function until({ expiresAt }: CheckoutFacts): string {
  const iso = new Date(expiresAt).toISOString()
  return `<time datetime="${iso}">${iso.slice(11, 19)} UTC</time>`
}
