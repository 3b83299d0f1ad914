import * as crypto from 'node:crypto'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { createIdentity, createVerifier } from './ed25519.ts'

vi.mock('node:crypto', async (load) => {
  const actual = await load<typeof crypto>()
  return { ...actual, createPublicKey: vi.fn(actual.createPublicKey) }
})

const fromHex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
const text = (value: string) => new TextEncoder().encode(value)

/** Made for this test: key, message, signature. All of them satisfy the equation in some library or other. */
const vectors: readonly (readonly [string, string, string, string, boolean])[] = [
  [
    'a key and an R of small order, S = 0',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'message 0',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc050000000000000000000000000000000000000000000000000000000000000000',
    false,
  ],
  [
    'the neutral element as key: one signature for every message',
    '0100000000000000000000000000000000000000000000000000000000000000',
    'message 1',
    'ef4f62f8479733ad879cfaced3c89a9c39dd4fc795ef2efa1c3eafe4d729a0813930000000000000000000000000000000000000000000000000000000000000',
    false,
  ],
  [
    'a key of small order',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'message 1',
    '1c354c4c7a6de4bcb4fd275f391333dd9bf17d38b41332753f60cf56d5ef4fcc0903000000000000000000000000000000000000000000000000000000000000',
    false,
  ],
  [
    'an R of small order',
    '8d1d32347c5b56f5850b934211aeaa46f0a4812b31dafd2d6e2945a2e251dd65',
    'message 1',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc856b5b274c9c1b8d62b49415acbf863b1408732027fce52a545fc1004ffbabf50e',
    false,
  ],
  [
    'the neutral element as R',
    '205b0f537994e4754a69d556e021685ffabc6150ec47b726dbce0a7f6ee57dbd',
    'message 2',
    '0100000000000000000000000000000000000000000000000000000000000000f70084e9f1398dbeb007de0593676f5ef184a53952fb56003dead7818939a70a',
    false,
  ],
  [
    'key and R of mixed order, exact equation',
    'e1b0bf612940e4bcaf11d76e000c97e347b89d955a1ba5246fb9dbc7d15f9358',
    'message 3',
    '93355be0c77e050270b9446f294da9ba2ff66d4d6a63b4124b75a40ff0f8e750824ad21479fcb88c1dd6656cadadbf34a3bb388b38ca9708841b4808e3b0e703',
    true,
  ],
  [
    'an equation that holds only times eight',
    'e1b0bf612940e4bcaf11d76e000c97e347b89d955a1ba5246fb9dbc7d15f9358',
    'message 4',
    'd1c82b6a23c4aa68221a251eea2bcf8666b1e70db3d36ac5ce4962ee93a821c41cdac3b19a274f5a6d2d73700047d14c3a2e34dd1364d5f72a12a25927aebe08',
    false,
  ],
  [
    'plain',
    'a8ba72977b05f68ca63ce68901d7e3fbdf7e7e9ee0308a19ce615310fd0eef5e',
    'message 5',
    'f1b8104a4d5643e63b50dd6280aee657ff15b8520a1f6a8512abbdf56f17a9041c0d6f5b628fa96040253a1d87d44fc4b9596a538e45247d7c5e3dff1f0aec0b',
    true,
  ],
  [
    'S beyond the order',
    'a8ba72977b05f68ca63ce68901d7e3fbdf7e7e9ee0308a19ce615310fd0eef5e',
    'message 5',
    'f1b8104a4d5643e63b50dd6280aee657ff15b8520a1f6a8512abbdf56f17a90409e164b87cf2bbb816c231c065ce2ed9b9596a538e45247d7c5e3dff1f0aec1b',
    false,
  ],
  [
    'S far beyond the order',
    'a8ba72977b05f68ca63ce68901d7e3fbdf7e7e9ee0308a19ce615310fd0eef5e',
    'message 5',
    'f1b8104a4d5643e63b50dd6280aee657ff15b8520a1f6a8512abbdf56f17a90412a4e070d3faaa31f9b8c406b47e81e8ba596a538e45247d7c5e3dff1f0aeceb',
    false,
  ],
  [
    'R as p + 1, another spelling of the neutral element',
    'aa6df914f7a0f04e7f852adf459873f17dba5b1671ea62e82cc10ed6aecc489c',
    'message 6',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f92dc96b85aa655935839577cc07e6a5cd01df2d4f67dffac6d4a59fc7ec4c905',
    false,
  ],
  [
    'the key as p + 1',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'message 7',
    '93c1860b5684d38e9f89a6ae4bee1c0ee18d43899ab2b5befda23f91d2b793eb5800000000000000000000000000000000000000000000000000000000000000',
    false,
  ],
  [
    'the neutral element with a sign',
    '0100000000000000000000000000000000000000000000000000000000000080',
    'message 7',
    '93c1860b5684d38e9f89a6ae4bee1c0ee18d43899ab2b5befda23f91d2b793eb5800000000000000000000000000000000000000000000000000000000000000',
    false,
  ],
  [
    'the key of order two',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'message 0',
    '93c1860b5684d38e9f89a6ae4bee1c0ee18d43899ab2b5befda23f91d2b793eb5800000000000000000000000000000000000000000000000000000000000000',
    false,
  ],
  // RFC 8032, test 1.
  [
    'the empty message of the standard',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    true,
  ],
]

describe('createVerifier', () => {
  const verify = createVerifier()

  it.each(vectors)('%s', (_name, key, message, signature, good) => {
    expect(verify(fromHex(key), text(message), fromHex(signature))).toBe(good)
  })

  it('T70: refuses another message, key or signature, and wrong lengths', () => {
    const identity = createIdentity(new Uint8Array(32).fill(1))
    const message = text('hello')
    const signature = identity.sign(message)
    const other = createIdentity(new Uint8Array(32).fill(2))
    expect(verify(identity.publicKey, message, signature)).toBe(true)
    expect(verify(identity.publicKey, text('hellO'), signature)).toBe(false)
    expect(verify(other.publicKey, message, signature)).toBe(false)
    expect(verify(identity.publicKey, message, other.sign(message))).toBe(false)
    expect(verify(identity.publicKey, message, signature.subarray(0, 63))).toBe(false)
    expect(verify(identity.publicKey, message, Uint8Array.of(...signature, 0))).toBe(false)
    expect(verify(identity.publicKey.subarray(0, 31), message, signature)).toBe(false)
    expect(verify(Uint8Array.of(...identity.publicKey, 0), message, signature)).toBe(false)
    expect(verify(new Uint8Array(), message, signature)).toBe(false)
  })

  it('refuses a key that is not on the curve, without throwing', () => {
    for (let byte = 2; byte < 40; byte += 1) {
      const key = new Uint8Array(32)
      key[0] = byte
      expect(verify(key, text('x'), new Uint8Array(64).fill(3))).toBe(false)
    }
  })
})

describe('imported keys', () => {
  beforeEach(() => void vi.mocked(crypto.createPublicKey).mockClear())
  const imports = () => vi.mocked(crypto.createPublicKey).mock.calls.length
  const people = [1, 2, 3].map((byte) => createIdentity(new Uint8Array(32).fill(byte)))
  const [first, second, third] = people as [(typeof people)[0], (typeof people)[0], (typeof people)[0]]
  const use = (verify: ReturnType<typeof createVerifier>, person: (typeof people)[0]) =>
    expect(verify(person.publicKey, text('x'), person.sign(text('x')))).toBe(true)

  it('are kept, but no more than so many, and the longest unused goes first', () => {
    const verify = createVerifier(2)
    for (const person of [first, second, second, first]) use(verify, person)
    expect(imports()).toBe(2)
    use(verify, third)
    expect(imports()).toBe(3)
    use(verify, first)
    expect(imports()).toBe(3)
    use(verify, second)
    expect(imports()).toBe(4)
  })
})

describe('createIdentity', () => {
  it('is the key of the standard for the seed of the standard', () => {
    const seed = fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')
    const identity = createIdentity(seed)
    expect(Buffer.from(identity.publicKey).toString('hex')).toBe(
      'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    )
    expect(Buffer.from(identity.sign(new Uint8Array())).toString('hex')).toMatch(/^e5564300c360ac72/)
  })

  it('wants a whole seed', () => {
    expect(() => createIdentity(new Uint8Array(31))).toThrow(TypeError)
  })
})
