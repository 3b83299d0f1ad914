import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { createLookup, isForbidden } from './connections.ts'

type Found = readonly LookupAddress[]

/** What a connection is given for a name that has these addresses. */
function lookUp(found: Found, all: boolean): Promise<unknown> {
  const lookup = createLookup((_name, _options, done) => done(null, [...found]))
  return new Promise((resolve) => {
    lookup('upstream.example', { all }, (error, address, family) => resolve(error?.message ?? [address, family]))
  })
}
const ipv4 = (address: string): LookupAddress => ({ address, family: 4 })
const ipv6 = (address: string): LookupAddress => ({ address, family: 6 })

describe('T143: a name', () => {
  it.each([
    '169.254.169.254',
    '169.254.0.1',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd20:ce::254',
    'fe80::1',
    'febf::1',
    'fd00:ec2::254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
  ])('that leads to %s is not connected to', async (address) => {
    expect(isForbidden(address)).toBe(true)
    const found = address.includes(':') ? ipv6(address) : ipv4(address)
    for (const all of [true, false]) {
      expect(await lookUp([found], all)).toBe(`upstream.example resolves to ${address}, a reserved address`)
      // One good address beside it changes nothing: which of them is used is not ours to say.
      expect(await lookUp([ipv4('10.0.0.1'), found], all)).toContain('reserved')
    }
  })

  it.each(['127.0.0.1', '10.0.0.1', '192.168.1.1', '93.184.216.34', '::1', 'fd00::1', '2606:4700::1'])(
    'that leads to %s is',
    async (address) => {
      const found = address.includes(':') ? ipv6(address) : ipv4(address)
      expect(await lookUp([found], true)).toEqual([[found], undefined])
      expect(await lookUp([found], false)).toEqual([address, found.family])
    },
  )

  it('that leads nowhere, or cannot be looked up, is an error', async () => {
    expect(await lookUp([], true)).toBe('upstream.example does not resolve')
    const broken = createLookup((_name, _options, done) => done(new Error('no such name'), []))
    const told = await new Promise((resolve) => broken('x', {}, (error) => resolve(error?.message)))
    expect(told).toBe('no such name')
  })
})
