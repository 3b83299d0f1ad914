import { describe, expect, it } from 'vitest'
import type { Answer } from '../../core/http/http.ts'
import { showProblem } from './error-page.ts'

const problem = (status: number, more: object = {}): Answer => ({
  kind: 'answer',
  status,
  headers: { 'Content-Type': 'application/problem+json', 'Retry-After': '2', Vary: 'Payment-Proof' },
  body: JSON.stringify({ title: 'A title.', detail: 'A detail.', code: 'some_code', ...more }),
})
const browser = { accept: 'text/html,*/*', 'sec-fetch-dest': 'document' }
const asking = (headers: Readonly<Record<string, string>>, method = 'GET') => ({
  method,
  header: (name: string) => headers[name],
  origin: () => 'https://shop.example',
})
const parts = { seller: { name: 'Moon' }, style: 'p{}', home: '/shop', network: undefined }
const show = (answer: Answer, headers: Readonly<Record<string, string>> = browser) =>
  showProblem(answer, asking(headers), parts)

describe('a problem', () => {
  it.each([
    [{ accept: '*/*' }, 'GET'],
    [{ accept: 'application/json' }, 'GET'],
    [{ accept: 'text/html', 'sec-fetch-dest': 'empty' }, 'GET'],
    [{ accept: 'text/html', 'sec-fetch-dest': 'image' }, 'GET'],
    [{ accept: 'text/html;q=0' }, 'GET'],
    [{ accept: 'text/html' }, 'POST'],
  ])('stays JSON for the program that sends %j by %s', (headers, method) => {
    const answer = problem(404)
    expect(showProblem(answer, asking(headers, method), parts)).toBe(answer)
  })

  it('is a page for people, with the same status and headers', () => {
    const page = show(problem(404))
    expect(page.status).toBe(404)
    expect(page.headers).toMatchObject({
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Length': String(page.body.length),
      'Retry-After': '2',
      Vary: 'Payment-Proof, Accept, Accept-Language, Accept-Encoding',
      'Content-Language': 'en',
    })
    for (const text of ['Page not found', 'A detail.', '404 some_code', 'href="/shop"', '<bdi>Moon</bdi>'])
      expect(page.body).toContain(text)
  })

  it('tells a person in the own language that an address does not exist', () => {
    const headers = { ...browser, 'accept-language': 'de' }
    const { body } = show(problem(404, { code: 'not_found', detail: '/openapi.json lists all endpoints.' }), headers)
    expect(body).toContain('<p>Diese Adresse gibt es nicht')
    expect(body).not.toContain('openapi')
  })

  it.each([
    ['devnet', true],
    ['localnet', true],
    ['mainnet', false],
  ] as const)('on %s names the test network: %s', (network, isNamed) => {
    const { body } = showProblem(problem(404), asking(browser), { ...parts, network })
    expect(body.includes(`<aside>Test network (${network})`)).toBe(isNamed)
  })

  it.each([
    [429, true],
    [503, true],
    [404, false],
    [403, false],
  ])('with status %i can be tried again: %s', (status, isRetried) => {
    expect(show(problem(status)).body.includes('Try again')).toBe(isRetried)
  })

  it('cannot write markup', () => {
    const { body } = show(problem(404, { detail: '<script>alert(1)</script>', code: '"><img>' }))
    expect(body).not.toMatch(/<script|<img>/)
    expect(body).toContain('&lt;script&gt;alert(1)')
  })

  it('is the only kind of answer that changes', () => {
    const answer: Answer = { kind: 'answer', status: 402, headers: { 'Content-Type': 'application/json' }, body: '{}' }
    expect(show(answer)).toBe(answer)
  })
})
