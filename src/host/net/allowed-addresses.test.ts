import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { createLookup, isWithin, type Reach, readLiteral } from './allowed-addresses.ts'

const reaches: readonly Reach[] = ['public', 'loopback', 'private']
const within = (address: string) => reaches.filter((reach) => isWithin(reach, address))

describe('T143: addresses', () => {
  it.each(['1.1.1.1', '93.184.216.34', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:1.1.1.1'])(
    '%s is within reach of all',
    (address) => {
      expect(within(address)).toEqual(reaches)
    },
  )

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:0:0:1'])(
    '%s is this machine',
    (address) => {
      expect(within(address)).toEqual(['loopback', 'private'])
    },
  )

  it.each([
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '198.18.0.1',
    'fc00::1',
    'fd12:3456::1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
  ])('%s is in a private network', (address) => {
    expect(within(address)).toEqual(['private'])
  })

  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '168.63.129.16',
    '100.100.100.200',
    'fd00:ec2::254',
    'fd20:ce::254',
    '0.0.0.0',
    '::',
    'fe80::1',
    'ff02::1',
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    '::127.0.0.1',
    'fec0::1',
    'localhost',
    '',
    '1.1.1',
  ])('%s is unreachable', (address) => {
    expect(within(address)).toEqual([])
  })
})

describe('T143: names', () => {
  const answer = (...addresses: readonly string[]) =>
    createLookup('public', (_host, _options, done) =>
      done(
        null,
        addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    )
  const look = (lookup: ReturnType<typeof answer>, all: boolean) =>
    new Promise<unknown>((resolve) => {
      lookup('example.com', { all }, (error, found) => resolve(error ? error.name : found))
    })

  it('connect to the resolved and checked address', async () => {
    expect(await look(answer('1.1.1.1', '8.8.8.8'), false)).toBe('1.1.1.1')
    expect(await look(answer('1.1.1.1', '2606:4700::1111'), true)).toEqual([
      { address: '1.1.1.1', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
  })

  it.each([[['169.254.169.254']], [['1.1.1.1', '10.0.0.1']], [['::1', '1.1.1.1']], [[]]])(
    'that lead to %j lead nowhere',
    async (addresses) => {
      expect(await look(answer(...addresses), true)).toBe('ForbiddenAddress')
      expect(await look(answer(...addresses), false)).toBe('ForbiddenAddress')
    },
  )
})

it.each([
  ['http://[::1]:80/', '::1'],
  ['http://0x7f.1/', '127.0.0.1'],
  ['http://2130706433/', '127.0.0.1'],
  ['http://0251.0376.0251.0376/', '169.254.169.254'],
  ['http://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
  ['http://127.0.0.1.example.com/', undefined],
])('T143: the address written out in %s is %s', (url, literal) => {
  expect(readLiteral(new URL(url))).toBe(literal)
})
