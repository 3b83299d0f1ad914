import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cookieName, formatTickets, readOtherTickets, readTickets, type Ticket } from './cookie.ts'

const letter = fc.constantFrom(...'ABCxyz019_-')
const ticket = fc.record({
  requestId: fc.string({ unit: letter, minLength: 1, maxLength: 128 }),
  secret: fc.string({ unit: letter, minLength: 32, maxLength: 32 }),
})
const place = { target: '/data', seconds: 60, isSecure: false }
const secure = { ...place, isSecure: true }
const headerOf = (cookie: string) => cookie.split(';', 1)[0] ?? ''

describe('tickets', () => {
  it('come back as they were given, also among other cookies', () => {
    fc.assert(
      fc.property(fc.array(ticket, { minLength: 1, maxLength: 3 }), (tickets: Ticket[]) => {
        const header = `a=b; ${headerOf(formatTickets(tickets, place))}; c=d`
        expect(readTickets(header, place)).toEqual(tickets)
        expect(readTickets(header, { ...place, target: '/data?x' })).toEqual([])
      }),
    )
  })

  it('T178: are read on https only from a cookie that no neighbour can set, and from no other name', () => {
    const [one, planted] = ['A', 'B'].map((letter) => ({ requestId: letter, secret: letter.repeat(32) }))
    const cookie = formatTickets(one ? [one] : [], secure)
    expect(cookie).toMatch(/^__Host-paystile_[\w-]{16}=/)
    expect(cookie).toMatch(/; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax; Secure$/)
    const other = headerOf(formatTickets(planted ? [planted] : [], place))
    const header = `${other}; ${headerOf(cookie)}`
    expect(readTickets(header, secure)).toEqual([one])
    expect(readTickets(header, place)).toEqual([planted])
    expect(readOtherTickets(header, { ...secure, target: '/x' }).map(({ tickets }) => tickets)).toEqual([[one]])
  })

  it('T178: have a name for each address, below each path of a host', () => {
    const places = [secure, { ...secure, target: '/data?a' }, { ...secure, base: '/b' }, { ...secure, target: '/b/x' }]
    expect(new Set(places.map(cookieName)).size).toBe(4)
    expect(cookieName({ ...secure, base: '/b', target: '/x' })).toBe(cookieName({ ...secure, target: '/b/x' }))
  })

  it('are at most three', () => {
    const many = Array.from({ length: 5 }, () => ({ requestId: 'r', secret: 's'.repeat(32) }))
    expect(readTickets(headerOf(formatTickets(many, place)), place)).toHaveLength(3)
  })

  it.each([
    ['', 'nothing'],
    [`${cookieName(place)}=`, 'an empty cookie'],
    [`${cookieName(place)}=r.short`, 'a short secret'],
    [`${cookieName(place)}=r.${'s'.repeat(32)}.more`, 'more than a secret'],
    [`${cookieName(place)}=r r.${'s'.repeat(32)}`, 'a requestId that is none'],
    [`x${cookieName(place)}=r.${'s'.repeat(32)}`, 'another name'],
  ])('are none in %j: %s', (header) => {
    expect(readTickets(header, place)).toEqual([])
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
