import { describe, expect, it } from 'vitest'
import { english } from '../../core/checkout/languages/language.ts'
import type { Seller } from '../../core/checkout/seller.ts'
import { createPage, renderDocument, renderSeller } from './document.ts'

const seller: Seller = {
  name: 'Moon & <Sons>',
  logo: 'https://cdn.example/logo.png?v=1',
  colour: '#ffcc00',
  support: 'help@shop.example',
  terms: 'https://shop.example/terms?a=1&b="',
}
const render = (given: Seller | undefined) =>
  renderDocument({
    title: 'x',
    language: english,
    seller: given,
    nonce: 'n',
    style: 'p{}',
    main: renderSeller(given, 'shop.example', undefined),
  })

describe('the seller on a page', () => {
  it('is shown with name, logo, host, contact and terms, as text', () => {
    const html = render(seller)
    expect(html).toContain('<b><bdi>Moon &amp; &lt;Sons&gt;</bdi></b><span><bdi>shop.example</bdi></span>')
    expect(html).toContain('<img src="https://cdn.example/logo.png?v=1" alt="" width="40" height="40">')
    expect(html).toContain('<a href="mailto:help@shop.example" target="_blank" rel="noopener">Support</a>')
    expect(html).toContain('href="https://shop.example/terms?a=1&amp;b=&quot;"')
  })

  it('leads to the shop if there is a page of it', () => {
    const html = renderSeller(seller, 'shop.example', 'https://shop.example/?a=1&b="')
    expect(html).toMatch(/^<p class="seller"><a href="https:\/\/shop\.example\/\?a=1&amp;b=&quot;"><img .*<\/a><\/p>$/)
    expect(renderSeller(seller, 'shop.example', undefined)).not.toContain('href')
  })

  it('gives the page its colour, with enough contrast, by computed values only', () => {
    expect(render(seller)).toMatch(
      /<style nonce="n">p{}(:root{(?:--[a-z-]+:#[0-9a-f]{6};?){4}})@media \(prefers-color-scheme:dark\){(?!\1):root{(?:--[a-z-]+:#[0-9a-f]{6};?){4}}}</,
    )
    expect(render(undefined)).toContain('<style nonce="n">p{}</style>')
  })

  it('widens the policy by its logo only', () => {
    const policyOf = (given: Seller | undefined) =>
      createPage({ status: 200, language: english, body: '', nonce: 'n', seller: given }).headers[
        'Content-Security-Policy'
      ]
    const strict =
      "default-src 'none'; script-src 'nonce-n'; style-src 'nonce-n'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    expect(policyOf(undefined)).toBe(strict)
    expect(policyOf({ logo: 'data:image/png;base64,aa' })).toBe(strict)
    expect(policyOf(seller)).toBe(strict.replace('data:', 'data: https://cdn.example/logo.png'))
  })
})
