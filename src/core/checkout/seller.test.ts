import { describe, expect, it } from 'vitest'
import { contactLink, isContact, isLogo, isSafeLink, isShownName, logoSource } from './seller.ts'

describe('the parts of a seller', () => {
  it.each([
    ['Moon & Sons', true],
    ['é', true],
    ['株式会社 月', true],
    ['a'.repeat(60), true],
    ['a'.repeat(61), false],
    ['', false],
    [' a', false],
    ['a ', false],
    ['a\nb', false],
    ['a\u202eb', false],
    ['a\u2028b', false],
    ['a\u0000b', false],
  ])('the name %j: %s', (name, isFine) => {
    expect(isShownName(name)).toBe(isFine)
  })

  it.each([
    ['https://shop.example/terms?v=2', true],
    ['http://localhost:3000/terms', true],
    ['http://127.0.0.1/terms', true],
    ['http://shop.example/terms', false],
    ['http://localhost.evil.example/', false],
    ['javascript:alert(1)', false],
    ['data:text/html,x', false],
    ['https://user:secret@shop.example/', false],
    ['/terms', false],
    [`https://shop.example/${'a'.repeat(500)}`, false],
  ])('the link %s: %s', (link, isFine) => {
    expect(isSafeLink(link)).toBe(isFine)
  })

  it.each([
    ['data:image/svg+xml;base64,PHN2Zy8+', true],
    ['data:image/png;base64,iVBORw0KGgo=', true],
    ['https://shop.example/logo.png', true],
    ['data:image/svg+xml,<svg/>', false],
    ['data:text/html;base64,PHN2Zy8+', false],
    ['data:image/png;base64,"><script>', false],
    [`data:image/png;base64,${'a'.repeat(16_000)}`, false],
    ['http://shop.example/logo.png', false],
  ])('the logo %s: %s', (logo, isFine) => {
    expect(isLogo(logo)).toBe(isFine)
  })

  it.each([
    ['help@shop.example', 'mailto:help@shop.example'],
    ['https://shop.example/help', 'https://shop.example/help'],
    ['help@shop.example?body=x', undefined],
    ['javascript:alert(1)', undefined],
    ['help', undefined],
  ])('the contact %s: %s', (contact, href) => {
    expect(isContact(contact)).toBe(href !== undefined)
    if (href !== undefined) expect(contactLink(contact)).toBe(href)
  })

  it('the source of a logo names one file and cannot end the policy', () => {
    expect(logoSource('https://cdn.example/a,b;script-src *?x;y')).toBe('https://cdn.example/a%2Cb%3Bscript-src%20*')
    expect([logoSource(undefined), logoSource('data:image/png;base64,aa')]).toEqual(['', ''])
  })
})
