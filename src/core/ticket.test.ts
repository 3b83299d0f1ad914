import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Ticket } from './ticket.ts'
import { cookieName, formatTickets, readTickets } from './ticket.ts'

const letter = fc.constantFrom(...'ABCxyz019_-')
const ticket = fc.record({
  requestId: fc.string({ unit: letter, minLength: 1, maxLength: 128 }),
  secret: fc.string({ unit: letter, minLength: 32, maxLength: 32 }),
})
const place = { target: '/data', seconds: 60, isSecure: false }
const headerOf = (cookie: string) => cookie.split(';', 1)[0] ?? ''

describe('tickets', () => {
  it('come back as they were given, also among other cookies', () => {
    fc.assert(
      fc.property(fc.array(ticket, { minLength: 1, maxLength: 2 }), (tickets: Ticket[]) => {
        const header = `a=b; ${headerOf(formatTickets(tickets, place))}; c=d`
        expect(readTickets(header, '/data')).toEqual(tickets)
        expect(readTickets(header, '/data?x')).toEqual([])
      }),
    )
  })

  it('are at most two', () => {
    const many = Array.from({ length: 5 }, () => ({ requestId: 'r', secret: 's'.repeat(32) }))
    expect(readTickets(headerOf(formatTickets(many, place)), '/data')).toHaveLength(2)
  })

  it.each([
    ['', 'nothing'],
    [`${cookieName('/data')}=`, 'an empty cookie'],
    [`${cookieName('/data')}=r.short`, 'a short secret'],
    [`${cookieName('/data')}=r.${'s'.repeat(32)}.more`, 'more than a secret'],
    [`${cookieName('/data')}=r r.${'s'.repeat(32)}`, 'a requestId that is none'],
    [`x${cookieName('/data')}=r.${'s'.repeat(32)}`, 'another name'],
  ])('are none in %j: %s', (header) => {
    expect(readTickets(header, '/data')).toEqual([])
  })

  it('are taken back by an empty list', () => {
    expect(formatTickets([], place)).toContain('Max-Age=0')
  })
})

describe('the path of a ticket', () => {
  it.each([
    ['/data', '/data'],
    ['/data?a=1;b', '/data'],
    ['/a/b;v=1/c', '/a/'],
    ['/a/\r\nSet-Cookie: x=y', '/a/'],
    ['/caf\u00e9', '/'],
    ['/a b', '/'],
  ])('of %j is %s', (target, path) => {
    const cookie = formatTickets([{ requestId: 'r', secret: 's'.repeat(32) }], { ...place, target })
    expect(/; Path=([^;]*);/.exec(cookie)?.[1]).toBe(path)
    expect(cookie).toMatch(/^[\x20-\x7e]*$/)
  })
})
