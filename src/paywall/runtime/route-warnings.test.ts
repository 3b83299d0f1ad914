import { describe, expect, it } from 'vitest'
import type { Facts } from '../../core/runtime.ts'
import { createRouteWarnings } from './route-warnings.ts'

function setUp() {
  const lines: unknown[] = []
  const note =
    (level: string) =>
    (event: string, facts: Facts = {}) =>
      void lines.push([level, event, facts])
  return { lines, news: createRouteWarnings({ info: note('info'), warn: note('warn'), error: note('error') }) }
}

describe('news of routes', () => {
  it('writes one line for a shared warning, with the names of all routes', () => {
    const { news, lines } = setUp()
    const looks = ['GET /a', 'GET /b', 'GET /c'].map((route) => news.look(route))
    for (const look of looks.slice(0, 2)) {
      look.say('error', 'token.withheld', { token: 'USDC', why: 'it is frozen' })
      look.end()
    }
    expect(lines).toEqual([])
    looks[2]?.say('error', 'token.withheld', { token: 'USDC', why: 'it is too dear' })
    looks[2]?.end()
    expect(lines).toEqual([
      ['error', 'token.withheld', { token: 'USDC', why: 'it is frozen', routes: 'GET /a, GET /b' }],
      ['error', 'token.withheld', { token: 'USDC', why: 'it is too dear', routes: 'GET /c' }],
    ])
  })

  it('does not wait for checks that began later', () => {
    const { news, lines } = setUp()
    const first = news.look('GET /a')
    first.say('warn', 'token.unchecked', { why: 'silence' })
    const second = news.look('GET /b')
    first.end()
    expect(lines).toHaveLength(1)
    second.say('warn', 'token.unchecked', { why: 'silence' })
    second.end()
    expect(lines[1]).toEqual(['warn', 'token.unchecked', { why: 'silence', routes: 'GET /b' }])
  })

  it('names ten, and counts the rest', () => {
    const { news, lines } = setUp()
    const looks = Array.from({ length: 12 }, (_, index) => news.look(`/${index}`))
    for (const look of looks) look.say('info', 'token.offered', { token: 'SOL' })
    for (const look of looks) look.end()
    expect(lines).toEqual([
      ['info', 'token.offered', { token: 'SOL', routes: '/0, /1, /2, /3, /4, /5, /6, /7, /8, /9 and 2 more' }],
    ])
  })
})
