import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { builtParts, factsOf, signature, viewOf } from '../../../tests/pages/checkout-fixture.ts'
import { english, languages } from '../../core/checkout/languages/language.ts'
import type { CheckoutFacts, CheckoutState } from '../../core/checkout/messages.ts'
import { escapeHtml, inlineScript, inlineStyle } from '../pages/escape.ts'
import { renderCheckout } from './page.ts'
import { drawQr } from './qr-path.ts'

const nonce = 'wQ9o3xJY0bqVn1mZ5r7t2A=='
const plain = { nonce, script: 'run()', style: 'p{}', language: english }
const render = (more: Partial<CheckoutFacts> = {}, parts: Partial<typeof plain> = {}): string => {
  const facts = factsOf(more)
  return renderCheckout(facts, { ...plain, ...parts, view: viewOf(facts) })
}

/** Text as a person sees it, without a browser. */
function seen(html: string): string {
  return decode(html.replace(/<(script|style)[\s\S]*?<\/\1>/g, '').replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ')
}

function decode(html: string): string {
  return html
    .replace(/&#x([0-9a-f]+);/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
}

/** The tags of a document, with what is in quotes left out. */
const skeleton = (html: string): string =>
  (html.match(/<[^>]*>/g) ?? []).map((tag) => tag.replace(/"[^"]*"/g, '""')).join('')

/** Any code points. The unit `binary` of fast-check costs more than a second of processor time before its first value. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 40 })
  .map((codes) => String.fromCodePoint(...codes))
const hostile = fc.oneof(
  anyText,
  fc.constantFrom(
    '</script><script>alert(1)</script>',
    '<!--<script>',
    '" onfocus=alert(1) autofocus x="',
    "' onload='alert(1)",
    '</title><img src=x onerror=alert(1)>',
    ']]>--><svg/onload=alert(1)>',
    '\u2028\u2029\u0000\ud800\u202e',
    '&lt;b&gt;&#60;b&#62;',
  ),
)

describe('the checkout document', () => {
  it('is ASCII, loads nothing, and styles nothing inline', () => {
    const html = render({ what: 'Wetter für Zürich ☀', tokens: [{ token: 'SOL', amount: '0.1' }] }, builtParts())
    expect(html).toMatch(/^[\t\n\r -~]*$/)
    expect(html.match(/\b(?:src|href)="(?!data:|solana:|")[^"]*"/g)).toBeNull()
    expect(html).not.toMatch(/\sstyle=/)
    expect(html).not.toMatch(/<form|@import|url\(/)
    expect(html.match(/<script(?! nonce="wQ9o3xJY0bqVn1mZ5r7t2A=="| type="application\/json")/g)).toBeNull()
  })

  it('no text of a stranger breaks out of its place', () => {
    const view = (uri: string) => ({ ...viewOf(factsOf()), uri: `solana:${uri}&spl-token=x` })
    const calm = skeleton(renderCheckout(factsOf(), { ...plain, view: view('x') }))
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, (seller, what, buys, amount) => {
        const facts = factsOf({
          host: seller,
          what,
          buys,
          recipient: what,
          tokens: [{ token: 'USDC', amount, mint: seller }],
        })
        const html = renderCheckout(facts, { ...plain, view: view(seller) })
        // A long price is written smaller.
        expect(skeleton(html).replace('<p id="" class="">', '<p id="">')).toBe(calm)
        expect(html).toMatch(/^[\t\n\r -~]*$/)
        const json = /<script type="application\/json" id="facts">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? ''
        expect(json).not.toMatch(/[<>&]/)
        expect(JSON.parse(json)).toEqual(facts)
      }),
    )
  })

  it('texts stay unchanged, except for characters that HTML cannot contain', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
        expect(decode(escapeHtml(text))).toBe(text)
      }),
    )
    expect(escapeHtml('a\u0000b\ud800c\u009fd')).toBe('a&#xfffd;b&#xfffd;c&#xfffd;d')
  })

  it('a link that is none of a wallet is not written', () => {
    const facts = factsOf()
    const html = renderCheckout(facts, { ...plain, view: { uri: 'javascript:alert(1)', qr: drawQr(['1']) } })
    expect(html).not.toMatch(/javascript:|id="link"/)
  })

  it('script and style cannot end themselves, and mean the same as ASCII', () => {
    expect(inlineScript('x="</script><!--·"')).toBe('x="\\x3c/script>\\x3c!--\\u00b7"')
    expect(inlineStyle('p::before{content:"</style>✓"}')).toBe('p::before{content:"\\3c /style>\\2713 "}')
  })

  it('shows the payment without a script: price, address, amounts, memo, QR code', () => {
    const tokens = [
      { token: 'USDC', amount: '1234567.01', mint: 'MintOfUsdc' },
      { token: 'SOL', amount: '0.0005', dollars: '0.1' },
    ] as const
    const facts = factsOf({ tokens })
    const html = render({ tokens })
    const text = seen(html)
    for (const part of [facts.host, facts.what, facts.recipient, facts.requestId, '1,234,567.01 USDC'])
      expect(text).toContain(part)
    // Each amount stands beside the address of its token, and as a wallet reads it.
    expect(text).toMatch(
      /Amount in USDC\s+1234567\.01\s+Token address of USDC\s+MintOfUsdc\s+Amount in SOL\s+0\.0005\s+Memo/,
    )
    expect(text).toContain('Price valid until 14:45:00 UTC')
    expect(text).toContain('After paying, reload this page.')
    expect(html).toMatch(/<svg id="qr"[^>]*><path d="M4 4\.5m/)
    expect(html).toContain('<details id="hand" open>')
  })

  it('shows an approximate value only beside the exact amount', () => {
    const tokens = [{ token: 'SOL', amount: '1234.000066556', dollars: '185000.01' }] as const
    expect(seen(render({ tokens }))).toContain('1,234.000066556 SOL ≈ $185,000.01')
    const { title } = /<title>(?<title>.*)<\/title>/.exec(render({ tokens }))?.groups ?? {}
    expect(title).toBe('Pay 1,234.000066556 SOL to api.weather.example')
  })

  it.each(Object.entries(languages))('is written in %s as a whole', (name, { tag, texts }) => {
    const language = { tag, locale: name, texts }
    const facts = factsOf({ texts: texts.checkout, locale: name, standing: { state: 'expired' } })
    const html = renderCheckout(facts, { ...plain, language, view: viewOf(facts) })
    expect(html).toContain(`<html lang="${tag}">`)
    const text = seen(html)
    for (const part of [texts.checkout.expiredTitle, texts.page.byHandText, texts.page.scan, texts.page.paymentBy])
      expect(text).toContain(part)
    expect(text.match(/\{\w+\}/g)).toBeNull()
    expect(html).toMatch(/^[\t\n\r -~]*$/)
  })

  it('says which network is for trying only', () => {
    expect(seen(render())).toContain('Test network (devnet): no real money')
    expect(seen(render({ network: 'mainnet' }))).not.toContain('Test network')
  })

  it.each<[string, CheckoutState, RegExp, boolean]>([
    ['waiting', { state: 'waiting' }, /Pay with your phone/, true],
    ['confirming', { state: 'confirming', tx: signature }, /Payment detected Confirmation takes/, false],
    ['paid', { state: 'paid', tx: signature }, /Paid Thank you/, false],
    ['used', { state: 'used', tx: signature }, /Opened in another tab/, false],
    [
      'short',
      { state: 'short', tx: signature, token: 'USDC', received: '0.004', required: '0.01' },
      /The amount is too low/,
      true,
    ],
    ['late', { state: 'late', tx: signature }, /Paid too late/, false],
    ['wrong', { state: 'wrong', tx: signature, why: 'wrong token' }, /Wrong token\. For a refund/, true],
    [
      'wrong',
      { state: 'wrong', tx: signature, why: 'the transaction failed', isFailed: true },
      /The transaction failed\.(?! For a refund)/,
      true,
    ],
    ['expired', { state: 'expired' }, /This price has expired Nothing was paid\. Get a new price/, false],
  ])('tells %s without a script', (_name, standing, words, isOffered) => {
    const html = render({ standing })
    expect(seen(html)).toMatch(words)
    expect(html.includes('<section id="pay">')).toBe(isOffered)
    expect(html.includes('<section id="pay" hidden>')).toBe(!isOffered)
    // A price that cannot be paid has no time left.
    expect(html.includes('<span id="time" hidden>')).toBe(!isOffered)
    if ('tx' in standing) expect(html.split('<section')[0]).toContain(signature)
  })

  it.each<[CheckoutState['state'], CheckoutFacts['after'], boolean]>([
    ['waiting', 'reload', false],
    ['confirming', 'reload', false],
    ['paid', 'reload', false],
    ['paid', 'return', true],
    ['used', 'return', true],
    ['used', 'reload', true],
    ['late', 'reload', true],
    ['expired', 'reload', true],
  ])('is as small as its text once nothing follows: %s, %s', (state, after, isSmall) => {
    const html = render({ standing: { state, tx: signature } as CheckoutState, after })
    expect(html.includes('<div class="work final">')).toBe(isSmall)
  })

  it('shows no way to pay before its script has seen that the cookie was kept, but for browsers without scripts', () => {
    const html = render({ isKept: false }, builtParts())
    expect(html).toContain('<section id="pay" class="held">')
    const style = /<noscript><style nonce="[^"]+">(.*)<\/style><\/noscript>/
    expect(style.exec(html)?.[1]).toBe('#tokens,#wallets,#code p{display:none}#pay.held{visibility:visible}')
    expect(style.exec(render({}, builtParts()))?.[1]).toBe('#tokens,#wallets,#code p{display:none}')
    expect(render({}, builtParts())).toContain('<section id="pay">')
    expect(render({ isKept: false }, { ...builtParts(), script: '' })).toContain('<section id="pay">')
  })

  it('has the mark of the house as its icon', () => {
    const mark = readFileSync(new URL('../../pages/look/mark.svg', import.meta.url), 'utf8').trim()
    const icon = /<link rel="icon" href="data:image\/svg\+xml,([^"]*)"/.exec(render())?.[1] ?? ''
    expect(decodeURIComponent(decode(icon)).replaceAll("'", '"')).toBe(mark)
  })

  it('weighs at most 15.8 KB with everything in it, as it goes over the wire', () => {
    const html = render({}, builtParts())
    expect(factsOf().requestId).toHaveLength(84)
    const bytes = gzipSync(html, { level: 9 }).length
    process.stdout.write(`checkout page: ${(bytes / 1000).toFixed(1)} kB gzip\n`)
    expect(builtParts().script.length).toBeGreaterThan(5_000)
    expect(bytes).toBeLessThanOrEqual(15_800)
  })
})
