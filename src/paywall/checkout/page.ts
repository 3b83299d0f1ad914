/**
 * The checkout document: everything that a person needs to pay, in one document, readable without a script and without
 * loading anything. The script only makes it interactive.
 */
import type { CheckoutFacts, CheckoutView } from '../../core/checkout/messages.ts'
import { qrPath, qrPixels, qrSize } from '../../core/checkout/qr-path.ts'
import type { Seller } from '../../core/checkout/seller.ts'
import { describeState, isPayable, longPrice } from '../../core/checkout/texts.ts'
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
}

/** The whole document, as ASCII. Every value in it is untrusted. */
export function renderCheckout(facts: CheckoutFacts, parts: CheckoutParts): string {
  const { nonce, script, style, seller } = parts
  const first = facts.tokens[0]
  const price = first ? `${first.amount} ${first.token}` : ''
  const heldBack = `<noscript><style nonce="${escapeHtml(nonce)}">#pay.held{visibility:visible}</style></noscript>\n`
  return renderDocument({
    ...{ nonce, script, style, seller },
    title: `Pay ${price} to ${seller?.name ?? clip(facts.host)}`,
    network: facts.network,
    head: isHeldBack(facts, parts) ? heldBack : '',
    main: `<header>
${renderSeller(seller, facts.host)}
<h1><bdi>${escapeHtml(clip(facts.what))}</bdi></h1>
<p id="price"${(first?.amount.length ?? 0) > longPrice ? ' class="long"' : ''}><b>${escapeHtml(first?.amount ?? '')}</b> <span>${escapeHtml(first?.token ?? '')}</span></p>
<p class="terms">Buys <bdi>${escapeHtml(facts.buys)}</bdi><span id="time"> &#xb7; price valid until ${until(facts)}</span></p>
</header>
<div id="notice" role="status" tabindex="-1">${notice(facts)}</div>
<section id="receipt" aria-label="Receipt" hidden></section>
<p id="said" role="status" class="unseen"></p>
<section id="pay"${isPayable(facts.standing) ? (isHeldBack(facts, parts) ? ' class="held"' : '') : ' hidden'}>
${choice(facts)}<div id="wallets"></div>
${phone(parts.view, price)}
${facts.isSplit ? split(parts.view) : byHand(facts)}
</section>
<p class="print">${promise(facts)}</p>
`,
    data: `<script type="application/json" id="facts">${escapeJson(facts)}</script>\n`,
  })
}

/** Whether the script must first check that the browser kept the cookie. Without scripts the page shows it at once. */
function isHeldBack({ standing, isKept }: CheckoutFacts, { script }: CheckoutParts): boolean {
  return isPayable(standing) && !isKept && script !== ''
}

function notice(facts: CheckoutFacts): string {
  const told = describeState(facts.standing, facts)
  if (!told) return ''
  const tx = told.tx === undefined ? '' : `<p>Transaction <code>${escapeHtml(told.tx)}</code></p>`
  // An empty address is the address of the page itself: the link reloads it, with or without a script.
  const href = escapeHtml(told.href ?? '')
  const style = told.isQuiet ? '' : ' class="button"'
  const action = told.action === undefined ? '' : `<a${style} href="${href}">${escapeHtml(told.action)}</a>`
  return `<div class="notice ${told.tone}"><h2>${escapeHtml(told.title)}</h2><p>${escapeHtml(told.text)}</p>${tx}${action}</div>`
}

/** Useful only with the script, which shows it. */
function choice({ tokens }: CheckoutFacts): string {
  if (tokens.length < 2) return ''
  const rows = tokens.map(({ token, amount }, index) => {
    const [code, text] = [escapeHtml(token), escapeHtml(amount)]
    return `<label><input type="radio" name="token" value="${code}"${index === 0 ? ' checked' : ''}><span>${code}</span><small>${text}</small></label>`
  })
  return `<fieldset id="tokens" hidden><legend>Pay in</legend>${rows.join('')}</fieldset>\n`
}

function phone({ uri, rows }: CheckoutView, price: string): string {
  if (rows.length === 0) return ''
  const size = qrSize(rows)
  const side = qrPixels(rows)
  const link = uri.startsWith('solana:')
    ? `<a id="link" class="button" href="${escapeHtml(uri)}">Open in a wallet app</a>`
    : ''
  return `<div class="phone"><h2>Pay with your phone</h2>
<svg id="qr" role="img" aria-label="${escapeHtml(`QR code: pay ${price}`)}" viewBox="0 0 ${size} ${size}" width="${side}" height="${side}" shape-rendering="crispEdges"><path d="${qrPath(rows)}"/></svg>
<p class="hint">Scan the code with a Solana wallet. This page detects the payment.</p>
${link}</div>`
}

/** Takes the place of the data for a manual transfer. */
function split({ rows }: CheckoutView): string {
  const ways = rows.length === 0 ? 'a wallet in this browser' : 'a wallet in this browser or on your phone'
  return `<p id="split" class="hint">The price goes to several wallets in one transaction. Pay it with ${ways}. A transfer by hand cannot pay it.</p>`
}

/** Open without a script. The script closes it. */
function byHand(facts: CheckoutFacts): string {
  const amounts = facts.tokens.map(({ token, amount }) => `${amount} ${token}`).join(' or ')
  const mint = facts.tokens[0]?.mint
  const row = (name: string, id: string, value: string, isHidden = false): string =>
    `<div${isHidden ? ' hidden' : ''}><dt>${name}</dt><dd><code id="${id}">${escapeHtml(value)}</code></dd></div>`
  return `<details id="hand" open><summary>Pay by hand</summary>
<p>Send exactly this amount in one payment, from your own wallet and with the memo. Without the memo, the payment cannot be matched to you.</p>
<dl>${row('Address', 'to', facts.recipient)}${row('Amount', 'amount', amounts)}${row('Token address', 'mint', mint ?? '', mint === undefined)}${row('Memo', 'memo', facts.requestId)}</dl>
<noscript><p>${facts.isKept ? '' : 'Allow cookies for this address before you pay: a cookie opens your purchase. '}<b>After paying, reload this page.</b></p></noscript></details>`
}

function promise({ after }: CheckoutFacts): string {
  return after === 'return'
    ? 'One payment is enough. After paying, you can close this page: the seller sees the payment.'
    : 'One payment is enough. If you close this page after paying, open the same address again in this browser to use your payment.'
}

/** The service's time, for people without a script. */
function until({ expiresAt }: CheckoutFacts): string {
  const iso = new Date(expiresAt).toISOString()
  return `<time datetime="${iso}">${iso.slice(11, 19)} UTC</time>`
}
