import { describe, expect, it } from 'vitest'
import { decodeBase64url, encodeBase64url } from '../../core/encoding/base64url.ts'
import { createSealer } from './seal.ts'

const key = new Uint8Array(32).fill(7)
const sealer = createSealer(key)
const bytes = new TextEncoder().encode('a signed transaction')

describe('createSealer', () => {
  it('opens its own output, also in another process with the same key', () => {
    const text = sealer.seal(bytes, 'dispatch-1')
    expect(sealer.open(text, 'dispatch-1')).toEqual(bytes)
    expect(createSealer(key.slice()).open(text, 'dispatch-1')).toEqual(bytes)
  })

  it.each([0, 1, 1232, 65_536])('seals %i bytes', (length) => {
    const many = crypto.getRandomValues(new Uint8Array(length))
    expect(sealer.open(sealer.seal(many, ''), '')).toEqual(many)
  })

  it('never writes the same text twice, nor the plain text', () => {
    const texts = new Set(Array.from({ length: 100 }, () => sealer.seal(bytes, 'dispatch-1')))
    expect(texts.size).toBe(100)
    for (const text of texts) expect(Buffer.from(text, 'base64url').includes('a signed')).toBe(false)
  })

  it('refuses a text that was sealed for another purpose', () => {
    const text = sealer.seal(bytes, 'dispatch-1')
    expect(sealer.open(text, 'dispatch-2')).toBeUndefined()
    expect(sealer.open(text, '')).toBeUndefined()
  })

  it('refuses a text of another key', () => {
    expect(createSealer(new Uint8Array(32)).open(sealer.seal(bytes, 'a'), 'a')).toBeUndefined()
  })

  it('refuses a text with any changed byte or any cut', () => {
    const sealed = decodeBase64url(sealer.seal(bytes, 'a')) ?? new Uint8Array()
    for (const index of sealed.keys()) {
      const changed = sealed.map((byte, at) => (at === index ? byte ^ 1 : byte))
      expect(sealer.open(encodeBase64url(changed), 'a')).toBeUndefined()
      expect(sealer.open(encodeBase64url(sealed.subarray(0, index)), 'a')).toBeUndefined()
    }
  })

  it.each(['', 'AQ', 'not base64url!', '{"sealed":1}'])('does not open %j', (text) => {
    expect(sealer.open(text, 'a')).toBeUndefined()
  })
})
