import { describe, expect, it } from 'vitest'
import { english } from '../../core/checkout/languages/language.ts'
import { type FrontItem, renderFrontPage } from './front-page.ts'

const item: FrontItem = {
  name: 'The moon now',
  method: 'GET',
  path: '/api/moon',
  price: '1,000.5',
  token: 'USDC',
  others: ['SOL'],
  buys: 'one request',
  href: '/api/moon',
  isPaused: false,
}
const render = (items: readonly FrontItem[], network: 'mainnet' | 'localnet' = 'mainnet') =>
  renderFrontPage({
    items,
    language: english,
    seller: { name: 'Moon & Sons' },
    host: 'moon.example',
    network,
    nonce: 'n',
    style: '',
    links: [['Dashboard', '/dashboard']],
  })

describe('the front page', () => {
  it('shows each item with its price and one button', () => {
    const html = render([item, { ...item, path: '/api/sun', href: '/api/sun' }])
    expect(html.match(/<a class="button"/g)).toHaveLength(2)
    for (const text of [
      '<b>1,000.5</b> USDC',
      'href="/api/sun"',
      'Buys one request &#xb7; also in SOL',
      'Moon &amp; Sons',
    ])
      expect(html).toContain(text)
    expect(html).toContain('<a href="/dashboard"')
  })

  it('shows the path once if it is the name', () => {
    const shown = (given: Partial<FrontItem>) => render([{ ...item, name: '/files/*', path: '/files/*', ...given }])
    expect(shown({}).match(/<code>/g)).toBeNull()
    expect(shown({ method: 'POST' })).toContain('<code>POST /files/*</code>')
  })

  it('has no button for an item that only programs can buy, and names no price that depends on the request', () => {
    const html = render([{ ...item, href: undefined, price: undefined }])
    expect(html).not.toContain('class="button"')
    expect(html).toContain('For programs')
    expect(html).toContain('Price on request')
  })

  it('has a disabled button and the reason for an item that cannot be delivered now', () => {
    const html = render([item, { ...item, path: '/api/sun', href: '/api/sun', isPaused: true }])
    expect(html.match(/<a class="button"/g)).toHaveLength(1)
    expect(html).not.toContain('href="/api/sun"')
    expect(html).toMatch(/<button [^>]*disabled>Buy/)
    expect(html.match(/Not available at the moment/g)).toHaveLength(1)
  })

  it('says so if nothing is for sale', () => {
    expect(render([])).toContain('Nothing is for sale at the moment.')
  })

  it('is listed by search engines unless the money is test money', () => {
    expect(render([])).not.toContain('noindex')
    expect(render([], 'localnet')).toContain('noindex')
    expect(render([], 'localnet')).toContain('Test network')
  })

  it('no text breaks out of its place, and no script runs', () => {
    const evil = '"><script>alert(1)</script>'
    const html = render([{ ...item, name: evil, path: evil, price: evil, token: evil, buys: evil, href: evil }])
    expect(html).not.toContain('<script')
    expect(html).toMatch(/^[\t\n\r -~]*$/)
  })
})
