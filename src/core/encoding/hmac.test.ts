import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { equalBytes, prepareHmac, prepareWithLibrary } from './hmac.ts'
import { openSha256Block } from './sha256-block.ts'

describe.each([
  ['with WebAssembly', prepareHmac],
  ['without it', prepareWithLibrary],
])('prepareHmac %s', (_name, prepare) => {
  it('agrees with the library for every length of key, prefix and message', () => {
    const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
    fc.assert(
      fc.property(bytes(64), bytes(200), bytes(300), (key, prefix, message) => {
        const expected = hmac(sha256, key, Uint8Array.from([...prefix, ...message]))
        expect(prepare(key, prefix)(message)).toEqual(expected)
      }),
      { numRuns: size(200, 5_000) },
    )
  })

  it('agrees with the library around every block border', () => {
    const key = new Uint8Array(32).fill(7)
    for (let prefix = 0; prefix <= 130; prefix += 1) {
      for (const message of [0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 128]) {
        const [head, tail] = [new Uint8Array(prefix).fill(1), new Uint8Array(message).fill(2)]
        const expected = hmac(sha256, key, Uint8Array.from([...head, ...tail]))
        expect(prepare(key, head)(tail)).toEqual(expected)
      }
    }
  })

  it('takes only the first bytes when told so, and gives a fresh array each time', () => {
    const mac = prepare(new Uint8Array(32), new Uint8Array())
    const first = mac(Uint8Array.of(1, 2, 3, 9, 9), 3)
    const copy = first.slice()
    mac(Uint8Array.of(4))
    expect(first).toEqual(copy)
    expect(first).toEqual(mac(Uint8Array.of(1, 2, 3)))
  })
})

describe('prepareHmac', () => {
  it('needs no WebAssembly, which a process may forbid', () => {
    expect(openSha256Block()).toBeDefined()
    vi.stubGlobal('WebAssembly', undefined)
    expect(openSha256Block()).toBeUndefined()
    vi.unstubAllGlobals()
  })

  it('refuses a key it would have to hash', () => {
    expect(() => prepareHmac(new Uint8Array(65))).toThrow(RangeError)
  })
})

describe('equalBytes', () => {
  it.each([
    [[1, 2], [1, 2], true],
    [[1, 2], [1, 3], false],
    [[1, 2], [1], false],
    [[], [], true],
  ])('T141: compares %j and %j whole', (left, right, equal) => {
    expect(equalBytes(Uint8Array.from(left), Uint8Array.from(right))).toBe(equal)
  })
})
