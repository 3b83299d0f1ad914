import { describe, expect, it } from 'vitest'
import { readKeyring } from './keyring.ts'

const one = '1:first-secret-of-thirty-two-characters'
const two = '2:second-secret-of-thirty-two-characters'
const root = 'root:root-secret-of-at-least-thirty-two-ch'

function keyring(text: string) {
  const reading = readKeyring(text)
  if (reading.kind === 'problem') throw new Error(reading.why)
  return reading.keyring
}

describe('readKeyring', () => {
  it('seals with the first key and opens with all', () => {
    const { sealing, sealKeys } = keyring(`${two}, ${one}`)
    expect(sealing).toBe(2)
    expect([...sealKeys.keys()]).toEqual([2, 1])
    expect(sealKeys.get(1)).toEqual(keyring(one).sealKeys.get(1))
  })

  it('T65: a new key leaves old seals, pseudonyms, tags and the identity as they were', () => {
    const [before, after] = [keyring(one), keyring(`${two},${one}`)]
    expect(after.sealKeys.get(1)).toEqual(before.sealKeys.get(1))
    expect(after.pseudonymKey).toEqual(before.pseudonymKey)
    expect(after.tagKey).toEqual(before.tagKey)
    expect(after.identitySeed).toEqual(before.identitySeed)
    expect(after.outgoingKey).toEqual(before.outgoingKey)
    expect(after.fingerprint).toBe(before.fingerprint)
  })

  it('takes the root from its own entry, so that every key can go one day', () => {
    const [early, late] = [keyring(`${one},${root}`), keyring(`${root},${two}`)]
    expect(late.fingerprint).toBe(early.fingerprint)
    expect(late.fingerprint).not.toBe(keyring(two).fingerprint)
  })

  it('makes a different key for every purpose', () => {
    const { sealKeys, tagKey, pseudonymKey, identitySeed, serviceKey, outgoingKey } = keyring(one)
    const all = [sealKeys.get(1), tagKey, pseudonymKey, identitySeed, serviceKey, outgoingKey].map(String)
    expect(new Set(all).size).toBe(all.length)
  })

  it.each([
    ['', 'entry 1'],
    ['only-a-secret-without-an-id-in-front-of-it', 'entry 1 does not have the form id:secret'],
    ['1:short', 'entry 1 has a secret of fewer than 32 characters'],
    [`${one},`, 'entry 2'],
    [`${one},${one}`, 'id 1 appears twice'],
    [`${root},${root},${one}`, 'root appears twice'],
    [root, 'no key besides the root'],
    ['256:secret-of-at-least-thirty-two-characters', 'neither "root" nor a number from 1 to 255'],
    ['0:secret-of-at-least-thirty-two-characters-', 'neither "root" nor a number from 1 to 255'],
    ['a:secret-of-at-least-thirty-two-characters-', 'neither "root" nor a number from 1 to 255'],
  ])('refuses %j and says why', (text, why) => {
    expect(readKeyring(text)).toEqual({ kind: 'problem', why: expect.stringContaining(why) })
  })

  it('T140: never repeats the secret in its messages', () => {
    const reading = readKeyring('99999:a-very-secret-secret-of-thirty-two-letters')
    expect(JSON.stringify(reading)).not.toContain('very-secret')
  })
})
