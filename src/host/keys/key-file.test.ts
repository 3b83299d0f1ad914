import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import {
  checkKeyFile,
  makeKeyFile,
  readKeyFile,
  recastKeyFile,
  rotateKeyFile,
  viewKeyFile,
  withKeyFile,
} from './key-file.ts'
import { openKey, readSealedKey, type SealedKey } from './sealed-key.ts'

/** As long as this is set, scrypt is done in no time. */
const scrypt = vi.hoisted(() => ({ isQuick: true }))
vi.mock('node:crypto', async (load) => {
  const real = await load<typeof import('node:crypto')>()
  const scryptSync: typeof real.scryptSync = (phrase, salt, length, options) =>
    real.scryptSync(phrase, salt, length, { ...options, ...(scrypt.isQuick && { N: 2 }) })
  return { ...real, scryptSync }
})

const passphrase = 'correct horse battery'
const parent = mkdtempSync(join(tmpdir(), 'paystile-keys-'))
let directory: string
let path: string

beforeEach(() => {
  directory = mkdtempSync(join(parent, 'of-'))
  path = join(directory, 'key.json')
})
afterEach(() => {
  vi.unstubAllEnvs()
  scrypt.isQuick = true
})
afterAll(() => rmSync(parent, { recursive: true, force: true }))

const addressOf = (key: Uint8Array) => encodeBase58(key.subarray(32))
const read = (file = path) => JSON.parse(readFileSync(file, 'utf8'))
const whyNot = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it did not throw')
}

describe('a key file', () => {
  it('T146: is made for its owner only, and holds the same key after it was written', () => {
    expect(makeKeyFile(path)).toBe(true)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const key = readKeyFile(path)
    expect([...key]).toEqual(read())
    expect(viewKeyFile(path)).toEqual({ address: addressOf(key), isEncrypted: false, mode: '0600', isPrivate: true })
    expect(readdirSync(directory)).toEqual(['key.json'])
  })

  it('T146: under a passphrase is opened by it alone, and by no other in any spelling that differs', () => {
    expect(makeKeyFile(path, 'corrèct horse battery')).toBe(true)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const key = readKeyFile(path, 'corrèct horse battery')
    expect(addressOf(key)).toBe(viewKeyFile(path).address)
    expect(viewKeyFile(path)).toMatchObject({ isEncrypted: true, mode: '0600', isPrivate: true })
    // Composed or not, it is the same letter.
    expect(readKeyFile(path, 'corre\u0300ct horse battery')).toEqual(key)
    const sentence = `The key file ${path} cannot be read: the passphrase is wrong, or the file was changed; try another passphrase.`
    expect(whyNot(() => readKeyFile(path, 'Corrèct horse battery'))).toBe(sentence)
    expect(whyNot(() => readKeyFile(path, ''))).toBe(sentence)
  })

  it('finds its passphrase in the environment, and says so when there is none', () => {
    makeKeyFile(path, passphrase)
    vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', '')
    expect(whyNot(() => readKeyFile(path))).toBe(
      `The key file ${path} cannot be read: it is encrypted; set PAYSTILE_KEY_PASSPHRASE to its passphrase.`,
    )
    vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', passphrase)
    expect(addressOf(readKeyFile(path))).toBe(viewKeyFile(path).address)
  })

  it('holds nothing of the key where it is encrypted', () => {
    makeKeyFile(path, passphrase)
    const text = readFileSync(path, 'utf8')
    const key = readKeyFile(path, passphrase)
    const seed = Buffer.from(key.subarray(0, 32))
    for (const spelling of [seed.toString('hex'), seed.toString('base64url'), seed.toString('base64')]) {
      expect(text).not.toContain(spelling.slice(0, 12))
    }
    expect(Object.keys(read())).toEqual([
      ...['version', 'address', 'kdf', 'N', 'r', 'p', 'salt', 'cipher', 'iv', 'tag', 'data'],
    ])
    const other = join(directory, 'other.json')
    makeKeyFile(other, passphrase)
    for (const name of ['salt', 'iv', 'data', 'address']) expect(read()[name]).not.toBe(read(other)[name])
  })

  it('is refused when others can read it, encrypted or not, and can still be looked at', () => {
    for (const [name, phrase] of [['plain.json'], ['sealed.json', passphrase]] as const) {
      const file = join(directory, name)
      makeKeyFile(file, phrase)
      chmodSync(file, 0o640)
      expect(whyNot(() => readKeyFile(file, phrase))).toContain(`other users can read it; run chmod 600 ${file}`)
      expect(viewKeyFile(file)).toMatchObject({ mode: '0640', isPrivate: false })
    }
  })

  it('under a short passphrase is not made', () => {
    expect(whyNot(() => makeKeyFile(path, 'short'))).toContain('at least 12 characters')
    expect(readdirSync(directory)).toEqual([])
  })

  it('with halves that do not belong together is not shown as valid', () => {
    makeKeyFile(path)
    const numbers = read()
    writeFileSync(path, JSON.stringify([...numbers.slice(0, 63), (numbers[63] + 1) % 256]))
    expect(whyNot(() => viewKeyFile(path))).toContain('its two halves do not match')
  })

  it('that is too long is not read', () => {
    writeFileSync(path, ' '.repeat(10_001), { mode: 0o600 })
    expect(whyNot(() => readKeyFile(path))).toContain('it is too long for a key')
  })

  it('is forgotten once a wallet was made of it, and also when none could be', async () => {
    makeKeyFile(path)
    const seen: Uint8Array[] = []
    const use = async (key: Uint8Array) => {
      seen.push(key)
      await Promise.resolve()
      expect(key.some((byte) => byte !== 0)).toBe(true)
      if (seen.length > 1) throw new Error('no')
      return 'made'
    }
    await expect(withKeyFile(path, use)).resolves.toBe('made')
    await expect(withKeyFile(path, use)).rejects.toThrow('no')
    expect(seen.map((key) => key.every((byte) => byte === 0))).toEqual([true, true])
  })
})

describe('an encrypted key file of another program', () => {
  const made: SealedKey[] = []
  const sealed = (index = 0): SealedKey => {
    const file = join(directory, `${index}.json`)
    made[index] ??= makeKeyFile(file, passphrase) && read(file)
    return made[index] as SealedKey
  }

  it.each([
    ['asks for gigabytes', { N: 2 ** 24 }],
    ['asks for gigabytes by its blocks', { N: 2 ** 17, r: 1024 }],
    ['asks for hours', { p: 2 ** 20 }],
    ['asks for a number that is no power of two', { N: 2 ** 17 - 1 }],
    ['asks for nothing', { N: 1 }],
    ['asks for less than nothing', { r: -8 }],
    ['asks for half a round', { p: 0.5 }],
    ['asks for text', { N: '131072' }],
    ['asks for what JSON cannot say', { N: null }],
    ['knows another way', { kdf: 'pbkdf2' }],
    ['knows another cipher', { cipher: 'aes-256-cbc' }],
    ['is of another version', { version: 2 }],
    ['has a short salt', { salt: 'AAAA' }],
    ['has a short tag', { tag: 'AAAA' }],
    ['has a long iv', { iv: 'A'.repeat(32) }],
    ['holds too much', { data: 'A'.repeat(200) }],
    ['names no address', { address: 'somebody' }],
  ])('%s: it is not opened', (_what, change) => {
    writeFileSync(path, JSON.stringify({ ...sealed(), ...change }), { mode: 0o600 })
    expect(whyNot(() => readKeyFile(path, passphrase))).toContain('nor an encrypted key')
  })

  it('accepts the cost parameters of slower and faster machines', () => {
    const some = sealed()
    expect([14, 15, 16, 17, 18].every((power) => readSealedKey({ ...some, N: 2 ** power }))).toBe(true)
    expect(readSealedKey({ ...some, N: 2 ** 18, r: 16 })).toBeUndefined()
  })

  it('names another address: it is not opened', () => {
    const [mine, other] = [sealed(), sealed(1)]
    expect(openKey({ ...mine, address: other.address }, passphrase)).toBeUndefined()
    expect(openKey(mine, passphrase)).toHaveLength(64)
  })
})

it('an encrypted key file of today can be opened in years', () => {
  scrypt.isQuick = false
  const file: SealedKey = {
    version: 1,
    address: 'J2xccRtuG43drESLYznHhLhQkLTdfepcKYbiQ9BsJVaf',
    kdf: 'scrypt',
    N: 131072,
    r: 8,
    p: 1,
    salt: 'IfIN5rmwOFa7-CLV3Xor41ZhXEYW2cy4-mDVkAN-QLI',
    cipher: 'aes-256-gcm',
    iv: 'dR5Ar_jFZetOwuuW',
    tag: 'n5dpUSvrKiiL379x7V-Guw',
    data: 'uBmtOFBD-PEi8r2ZnPaG8byOGsO2vPuopWZ8bDwa5mUB2QGaG4TMuUhRkTAwpCUfQtXgULVQ6RjrkklhIHAjOg',
  }
  writeFileSync(path, JSON.stringify(file), { mode: 0o600 })
  const key = readKeyFile(path, passphrase)
  expect(key.subarray(0, 32)).toEqual(new Uint8Array(32).fill(9))
  expect(addressOf(key)).toBe(file.address)
  const made = join(directory, 'made.json')
  makeKeyFile(made, passphrase)
  expect(read(made)).toMatchObject({ N: file.N, r: file.r, p: file.p })
  expect(addressOf(readKeyFile(made, passphrase))).toBe(read(made).address)
})

describe('rotateKeyFile', () => {
  const at = Date.UTC(2030, 0, 2, 3, 4, 5)

  it('puts a new key in its place and keeps the old one beside it', () => {
    makeKeyFile(path)
    const old = readFileSync(path, 'utf8')
    const { address, former } = rotateKeyFile(path, at)
    expect(former.path).toBe(`${path}.2030-01-02T030405Z.old`)
    expect(readFileSync(former.path, 'utf8')).toBe(old)
    expect(viewKeyFile(former.path)).toMatchObject({ address: former.address, mode: '0600' })
    expect(viewKeyFile(path)).toMatchObject({ address, mode: '0600', isEncrypted: false })
    expect(address).not.toBe(former.address)
    expect(readdirSync(directory).sort()).toEqual(['key.json', 'key.json.2030-01-02T030405Z.old'])
  })

  it('never writes over a key that was kept, and then changes nothing', () => {
    makeKeyFile(path)
    rotateKeyFile(path, at)
    const before = readFileSync(path, 'utf8')
    expect(whyNot(() => rotateKeyFile(path, at))).toContain('EEXIST')
    expect(readFileSync(path, 'utf8')).toBe(before)
    expect(readdirSync(directory)).toHaveLength(2)
  })

  it('keeps the passphrase, after the old key was opened with it', () => {
    makeKeyFile(path, passphrase)
    expect(whyNot(() => rotateKeyFile(path, at, 'correct horse batery'))).toContain('the passphrase is wrong')
    expect(readdirSync(directory)).toEqual(['key.json'])
    vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', passphrase)
    const { address, former } = rotateKeyFile(path, at)
    expect(addressOf(readKeyFile(path, passphrase))).toBe(address)
    expect(addressOf(readKeyFile(former.path, passphrase))).toBe(former.address)
  })

  it('goes to where a link leads, and leaves the link', () => {
    makeKeyFile(path)
    const link = join(directory, 'link.json')
    symlinkSync(path, link)
    const { address, former } = rotateKeyFile(link, at)
    expect(viewKeyFile(path).address).toBe(address)
    expect(viewKeyFile(link).address).toBe(address)
    expect(former.path).toContain('key.json.2030')
  })

  it('makes nothing where there is no key', () => {
    expect(whyNot(() => rotateKeyFile(path, at))).toContain('it does not exist')
    expect(existsSync(path)).toBe(false)
  })
})

it('recastKeyFile writes the same key in the other form, and leaves nothing beside it', () => {
  makeKeyFile(path)
  const numbers = read()
  recastKeyFile(path, undefined, passphrase)
  expect(viewKeyFile(path)).toMatchObject({ isEncrypted: true, mode: '0600' })
  expect([...readKeyFile(path, passphrase)]).toEqual(numbers)
  expect(whyNot(() => recastKeyFile(path, 'another passphrase', undefined))).toContain('the passphrase is wrong')
  expect(viewKeyFile(path).isEncrypted).toBe(true)
  recastKeyFile(path, passphrase, undefined)
  expect(read()).toEqual(numbers)
  expect(readdirSync(directory)).toEqual(['key.json'])
})

it('a check of a key file finds everything but a wrong passphrase', () => {
  expect(whyNot(() => checkKeyFile(path))).toContain('it does not exist; create it with npx paystile keys new')
  makeKeyFile(path, 'correct horse battery')
  expect(whyNot(() => checkKeyFile(path))).toContain('it is encrypted; set PAYSTILE_KEY_PASSPHRASE')
  vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', 'another passphrase')
  checkKeyFile(path)
  chmodSync(path, 0o640)
  expect(whyNot(() => checkKeyFile(path))).toContain('other users can read it; run chmod 600')
})
