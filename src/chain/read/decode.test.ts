import { describe, expect, it } from 'vitest'
import { decodeTransaction } from './decode.ts'

describe('the rules of the chain', () => {
  const key = (byte: number) => new Uint8Array(32).fill(byte)
  /** One signer, a program, one instruction; each test bends one thing. */
  function legacy(parts: {
    readonly header?: readonly number[]
    readonly count?: readonly number[]
    readonly program?: number
    readonly account?: number
    readonly tail?: readonly number[]
    readonly signatures?: number
  }): Uint8Array {
    const signatures = parts.signatures ?? 1
    return Uint8Array.from([
      signatures,
      ...Array.from({ length: signatures * 64 }, () => 9),
      ...(parts.header ?? [1, 0, 1]),
      ...(parts.count ?? [2]),
      ...key(1),
      ...key(2),
      ...key(3),
      1,
      parts.program ?? 1,
      1,
      parts.account ?? 0,
      2,
      7,
      7,
      ...(parts.tail ?? []),
    ])
  }
  const v0 = (tail: readonly number[]) => {
    const bytes = [...legacy({})]
    bytes.splice(65, 0, 0x80)
    return Uint8Array.from([...bytes, ...tail])
  }

  it.each([
    ['as it should be', legacy({}), 'transaction'],
    ['a byte too many', legacy({ tail: [0] }), 'malformed'],
    ['a length spelt longer than needed', legacy({ count: [0x82, 0x00] }), 'malformed'],
    ['a length beyond 16 bits', legacy({ count: [0x82, 0x80, 0x04] }), 'malformed'],
    ['two signatures, one signer', legacy({ signatures: 2 }), 'malformed'],
    ['no signer', legacy({ header: [0, 0, 1], signatures: 0 }), 'malformed'],
    ['a fee payer that cannot be written', legacy({ header: [1, 1, 1] }), 'malformed'],
    ['a header that counts more accounts than there are', legacy({ header: [1, 0, 2] }), 'malformed'],
    ['the fee payer as program', legacy({ program: 0 }), 'malformed'],
    ['a program out of range', legacy({ program: 2 }), 'malformed'],
    ['an account out of range', legacy({ account: 2 }), 'malformed'],
    ['v0 without lookups', v0([0]), 'transaction'],
    ['v0 with a lookup', v0([1, ...key(4), 1, 5, 0]), 'transaction'],
    ['v0 with a lookup that loads nothing', v0([1, ...key(4), 0, 0]), 'malformed'],
    ['v0 cut off before its lookups', v0([]), 'malformed'],
    ['more than 256 accounts', v0([1, ...key(4), 0xff, 0x01, ...Array.from({ length: 255 }, () => 1), 0]), 'malformed'],
    ['nothing', new Uint8Array(), 'malformed'],
  ])('%s', (_name, bytes, kind) => {
    expect(decodeTransaction(bytes).kind).toBe(kind)
  })

  it('refuses transactions that are larger than a packet', () => {
    const bytes = [...legacy({})]
    // The same instruction with data of 1,100 and 1,200 bytes.
    const withData = (length: number) =>
      decodeTransaction(
        Uint8Array.from([
          ...bytes.slice(0, -3),
          0x80 | (length & 0x7f),
          length >> 7,
          ...Array.from({ length }, () => 7),
        ]),
      ).kind
    expect(withData(1_050)).toBe('transaction')
    expect(withData(1_200)).toBe('malformed')
  })

  it('refuses versions it does not know, in both places where a version can stand', () => {
    const bytes = v0([0])
    const why = 'this version does not come after its signatures'
    bytes[65] = 0x81
    expect(decodeTransaction(bytes)).toEqual({ kind: 'malformed', why })
    bytes[65] = 0x82
    expect(decodeTransaction(bytes)).toEqual({ kind: 'malformed', why })
    expect(decodeTransaction(Uint8Array.from([0x82, 1, 0, 0])).kind).toBe('malformed')
  })
})

describe('version 1', () => {
  const key = (byte: number) => Array.from({ length: 32 }, () => byte)
  function v1(parts: {
    readonly mask?: readonly number[]
    readonly values?: readonly number[]
    readonly keys?: number
    readonly signers?: number
    readonly instructions?: number
  }): Uint8Array {
    const { keys = 2, signers = 1, instructions = 1 } = parts
    const repeat = (count: number, part: readonly number[]) => Array.from({ length: count }, () => part).flat()
    return Uint8Array.from([
      0x81,
      ...[signers, 0, 1],
      ...(parts.mask ?? [0, 0, 0, 0]),
      ...key(3),
      ...[instructions, keys],
      ...Array.from({ length: keys }, (_, index) => key(index + 1)).flat(),
      ...(parts.values ?? []),
      ...repeat(instructions, [1, 1, 2, 0]),
      ...repeat(instructions, [0, 7, 7]),
      ...repeat(signers * 64, [9]),
    ])
  }

  it('keeps the signatures after the message, and out of it', () => {
    const bytes = v1({})
    const decoding = decodeTransaction(bytes)
    if (decoding.kind !== 'transaction') throw new Error(decoding.why)
    expect(decoding.transaction.message.length).toBe(bytes.length - 64)
    expect(decoding.transaction.signatures).toHaveLength(1)
    expect(decoding.transaction.instructions[0]).toEqual({
      program: 1,
      accounts: Uint8Array.of(0),
      data: Uint8Array.of(7, 7),
    })
  })

  it.each([
    ['no config', {}, 'transaction'],
    ['a compute unit limit', { mask: [4, 0, 0, 0], values: [1, 0, 0, 0] }, 'transaction'],
    ['half a priority fee', { mask: [1, 0, 0, 0], values: [1, 0, 0, 0, 0, 0, 0, 0] }, 'malformed'],
    ['the other half', { mask: [2, 0, 0, 0], values: [1, 0, 0, 0, 0, 0, 0, 0] }, 'malformed'],
    ['a config bit that means nothing yet', { mask: [32, 0, 0, 0] }, 'malformed'],
    ['the highest config bit', { mask: [0, 0, 0, 128] }, 'malformed'],
    ['64 accounts', { keys: 64 }, 'transaction'],
    ['65 accounts', { keys: 65 }, 'malformed'],
    ['12 signatures', { keys: 20, signers: 12 }, 'transaction'],
    ['13 signatures', { keys: 20, signers: 13 }, 'malformed'],
    ['64 instructions', { instructions: 64 }, 'transaction'],
    ['65 instructions', { instructions: 65 }, 'malformed'],
  ])('%s', (_name, parts, kind) => {
    expect(decodeTransaction(v1(parts)).kind).toBe(kind)
  })
})
