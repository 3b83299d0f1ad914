import { describe, expect, it } from 'vitest'
import { parseUrl } from './url.ts'

describe('parseUrl', () => {
  it.each([
    ['https://api.example:8402/moon', 'https://api.example:8402/moon'],
    ['https://bücher.example/ü', 'https://xn--bcher-kva.example/%C3%BC'],
    ['../sun', 'https://example.com/sun', 'https://example.com/api/moon'],
    ['//other.example/sun', 'https://other.example/sun', 'https://example.com/api/moon'],
    ['api.example', undefined],
    ['https://', undefined],
    ['', undefined],
  ])('of %s is %s', (text, href, base?: string) => {
    expect(parseUrl(text, base)?.href).toBe(href)
  })

  it('answers the same however often it was called', () => {
    const isSame = Array.from({ length: 40_000 }, (_, number) => {
      parseUrl(`https://example.com/${number}`)
      return number % 100 > 0 || parseUrl('https://bücher.example')?.host === 'xn--bcher-kva.example'
    })
    expect(isSame.every(Boolean)).toBe(true)
  })
})
