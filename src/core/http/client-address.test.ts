import { expect, it } from 'vitest'
import { readClientAddress } from './client-address.ts'

it.each([
  ['the peer', '203.0.113.7', undefined, 0, '203.0.113.7'],
  ['an IPv4 address in IPv6 clothes', '::ffff:203.0.113.7', undefined, 0, '203.0.113.7'],
  ['the network of an IPv6 address', '2001:db8:1:2:3:4:5:6', undefined, 0, '2001:db8:1:2::/64'],
  ['the same, written short', '2001:0db8:0001:2::9', undefined, 0, '2001:db8:1:2::/64'],
  ['the same with a zone', '2001:db8:1:2::9%eth0', undefined, 0, '2001:db8:1:2::/64'],
  ['its own machine', '::1', undefined, 0, '0:0:0:0::/64'],
  ['no word of a client whose proxies are not trusted', '203.0.113.7', '10.9.9.9', 0, '203.0.113.7'],
  ['what the one proxy added', '127.0.0.1', '10.9.9.9, 203.0.113.7', 1, '203.0.113.7'],
  ['what the first of two proxies added', '127.0.0.1', '10.9.9.9, 203.0.113.7, 172.16.0.1', 2, '203.0.113.7'],
  ['the nearest known, if there are fewer', '127.0.0.1', '203.0.113.7', 3, '203.0.113.7'],
  ['the proxy itself, if it added nothing', '127.0.0.1', undefined, 1, '127.0.0.1'],
  ['an address with a port', '127.0.0.1', '203.0.113.7:4711', 1, '203.0.113.7'],
  ['an IPv6 address with a port', '127.0.0.1', '[2001:db8:1:2::9]:4711', 1, '2001:db8:1:2::/64'],
  ['one name for all that cannot be read', '127.0.0.1', 'me; drop table', 1, 'unknown'],
  ['the same where there is no peer', undefined, undefined, 0, 'unknown'],
])('%s', (_name, peer, forwarded, proxies, address) => {
  expect(readClientAddress(peer, forwarded, proxies)).toBe(address)
})
