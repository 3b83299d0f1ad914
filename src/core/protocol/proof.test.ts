import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fuzzRuns } from '../../../tests/harness/length.ts'
import { encodeBase58 } from '../encoding/base58.ts'
import { formatAccept, formatProof, hashClaim, parseAccept, parseProof, proofText } from './proof.ts'

const tx = encodeBase58(new Uint8Array(64).fill(7))
const payer = encodeBase58(new Uint8Array(32).fill(8))
const requestId = 'AQEBabc_-9'
const plain = `tx=${tx}; requestId=${requestId}; payer=${payer}`

describe('parseProof', () => {
  it('reads the three required keys', () => {
    expect(parseProof(plain)).toEqual({
      kind: 'proof',
      proof: { tx, requestId, payer, txBytes: new Uint8Array(64).fill(7), payerBytes: new Uint8Array(32).fill(8) },
    })
  })

  it.each([
    `payer=${payer};requestId=${requestId};tx=${tx}`,
    `  tx=${tx} ;\trequestId=${requestId};   payer=${payer}  `,
    `${plain}; future-key=anything:goes/here`,
  ])('does not mind order, spaces or keys of the future: %j', (header) => {
    expect(parseProof(header)).toMatchObject({ kind: 'proof', proof: { tx, requestId, payer } })
  })

  it.each([
    ['T104: a missing key', `tx=${tx}; requestId=${requestId}`],
    ['T104: a repeated key', `${plain}; tx=${tx}`],
    ['T104: a repeated unknown key', `${plain}; x=1; x=2`],
    ['T104: an empty value', `${plain}; claim=`],
    ['T104: __proto__', `${plain}; __proto__=1`],
    ['T104: a key in capitals', `${plain}; TX=1`],
    ['T104: quotes', `tx="${tx}"; requestId=${requestId}; payer=${payer}`],
    ['T104: an empty part', `${plain};`],
    ['T104: UTF-8', `${plain}; note=é`],
    ['T101: two headers joined', `${plain}, ${plain}`],
    ['T103: more than 1 KiB', `${plain}; pad=${'a'.repeat(1024)}`],
    ['T41: a leading 1', plain.replace('tx=', 'tx=1')],
    ['T41: percent-encoding', plain.replace('tx=', 'tx=%31')],
    ['T41: a space in the value', plain.replace('tx=', 'tx= ')],
    ['a short signature', plain.replace(tx, tx.slice(0, 80))],
    ['a requestId of foreign characters', plain.replace(requestId, 'a.b')],
    ['a requestId of 129 characters', plain.replace(requestId, 'a'.repeat(129))],
    ['a payer that is no address', plain.replace(payer, tx)],
    ['a short claim', `${plain}; claim=abc`],
    ['a ts with a fraction', `${plain}; ts=1.5`],
    ['a negative ts', `${plain}; ts=-1`],
    ['a sig of the wrong length', `${plain}; sig=${payer}`],
    ['a signer that is no address', `${plain}; signer=${tx}`],
    ['line breaks', `${plain}\r\nX: 1`],
    ['nothing', ''],
  ])('refuses %s', (_what, header) => {
    expect(parseProof(header).kind).toBe('malformed')
  })

  it('reads back every proof that it writes', () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(encodeBase58)
    const unit = fc.constantFrom(...'ABCxyz019_-')
    const proofs = fc.record(
      {
        tx: bytes(64),
        requestId: fc.string({ unit, minLength: 1, maxLength: 128 }),
        payer: bytes(32),
        claim: fc.string({ unit, minLength: 16, maxLength: 128 }),
        ts: fc.integer({ min: 1, max: 2 ** 33 }),
        sig: fc.uint8Array({ minLength: 64, maxLength: 64 }),
        signer: bytes(32),
      },
      { requiredKeys: ['tx', 'requestId', 'payer'] },
    )
    fc.assert(
      fc.property(proofs, (proof) => {
        expect(parseProof(formatProof(proof))).toMatchObject({ kind: 'proof', proof })
      }),
      { numRuns: Math.ceil(fuzzRuns / 5) },
    )
  })

  it('never throws, and writes each parsed proof the same way again, for any input', () => {
    const part = fc.constantFrom(
      'tx=',
      'requestId=',
      'payer=',
      'claim=',
      tx,
      payer,
      requestId,
      ';',
      '; ',
      ' ',
      '=',
      ',',
      '"',
      '1',
      'é',
    )
    const pieces = fc.array(part, { maxLength: 14 }).map((all) => all.join(''))
    const cut = fc
      .tuple(fc.nat(plain.length), fc.string({ maxLength: 4 }))
      .map(([at, text]) => plain.slice(0, at) + text + plain.slice(at))
    fc.assert(
      fc.property(fc.oneof(pieces, cut, fc.string({ unit: 'binary' })), (header) => {
        const reading = parseProof(header)
        if (reading.kind === 'malformed') return
        const again = parseProof(formatProof(reading.proof))
        expect(again).toEqual(reading)
      }),
      { numRuns: fuzzRuns },
    )
  })
})

describe('Payment-Accept', () => {
  const hash = hashClaim('a-secret-of-our-own')

  it('reads its own output', () => {
    expect(parseAccept(formatAccept({ kind: 'claim', hash }))).toEqual({ kind: 'claim', hash })
    expect(parseAccept(formatAccept({ kind: 'sig' }))).toEqual({ kind: 'sig' })
    expect(parseAccept(formatAccept({ kind: 'bare' }))).toEqual({ kind: 'bare' })
  })

  it('reads how many bytes are wanted, beside the rest or alone', () => {
    const hash = hashClaim('secret-secret-secret')
    const both = { kind: 'claim', hash, bytes: 5_000_000n } as const
    expect(parseAccept(formatAccept(both))).toEqual(both)
    expect(formatAccept(both)).toMatch(/^claim=[\w-]{43}; bytes=5000000$/)
    expect(parseAccept('bytes=7')).toEqual({ kind: 'bare', bytes: 7n })
    expect(parseAccept('bytes=7;sig')).toEqual({ kind: 'sig', bytes: 7n })
    expect(parseAccept('sig; bytes=1000000000000')).toEqual({ kind: 'sig', bytes: 1_000_000_000_000n })
    for (const wrong of ['0', '-1', '1.5', '1e3', '01', '1000000000001', ''])
      expect(parseAccept(`sig; bytes=${wrong}`)).toEqual({ kind: 'sig' })
  })

  it.each(['', 'claim=', 'claim=short', 'SIG', 'sig, sig', `claim=${'A'.repeat(44)}`, `claim=${'!'.repeat(43)}`])(
    'ignores %j',
    (header) => {
      expect(parseAccept(header)).toEqual({ kind: 'bare' })
    },
  )
})

it('T81, T165: the signed text names origin, chain, transaction, requestId, payer and time', () => {
  const text = new TextDecoder().decode(
    proofText({ origin: 'https://a.example', genesis: 'G', tx, requestId, payer, ts: 5 }),
  )
  expect(text.split('\n')).toEqual([
    'paystile proof v1',
    'origin: https://a.example',
    'genesis: G',
    `tx: ${tx}`,
    `requestId: ${requestId}`,
    `payer: ${payer}`,
    'ts: 5',
  ])
})
