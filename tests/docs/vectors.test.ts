/** The vectors of `docs/protocol.md` are what the code does. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { decodeAddress, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { encodeBase64url } from '../../src/core/encoding/base64url.ts'
import { prepareHmac } from '../../src/core/encoding/hmac.ts'
import { digestSplits, dividePrice, parseSplits } from '../../src/core/payment/splits.ts'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { formatProof, hashClaim, parseProof, proofText } from '../../src/core/protocol/proof.ts'
import { createPseudonyms } from '../../src/core/protocol/pseudonyms.ts'
import { formatReceipt, isReceiptGenuine, parseReceipt, receiptText } from '../../src/core/protocol/receipt.ts'
import { isAuthentic, openRequest, sealContext } from '../../src/core/protocol/request-id.ts'
import { createTags } from '../../src/core/protocol/tags.ts'
import { createIdentity, createVerifier } from '../../src/host/keys/ed25519.ts'
import { createSealer } from '../../src/host/keys/seal.ts'

const vectors = JSON.parse(readFileSync(new URL('../../docs/vectors.json', import.meta.url), 'utf8'))
const reading = readKeyring(vectors.secret)
if (reading.kind === 'problem') throw new Error(reading.why)
const { keyring } = reading
const hex = (bytes: Uint8Array | undefined) => (bytes ? Buffer.from(bytes).toString('hex') : null)
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const identity = createIdentity(keyring.identitySeed)
const tags = createTags(keyring.tagKey)

describe('test vectors', () => {
  it('keys', () => {
    expect({
      'request-id': hex(keyring.sealKeys.get(1)),
      tags: hex(keyring.tagKey),
      pseudonyms: hex(keyring.pseudonymKey),
      identity: hex(keyring.identitySeed),
      service: hex(keyring.serviceKey),
      outgoing: hex(keyring.outgoingKey),
      identityPublicKey: encodeBase58(identity.publicKey),
      fingerprint: keyring.fingerprint,
    }).toEqual(vectors.keys)
  })

  it.each(vectors.requestIds as { requestId: string; body: string; mac: string; fields: Record<string, unknown> }[])(
    'requestId $requestId',
    ({ requestId, body, mac, fields }) => {
      const { network, service, recipient, bytes } = vectors.context
      const context = sealContext(network, service, { recipient, splits: [] })
      expect(hex(context)).toBe(bytes)
      const opened = openRequest(requestId)
      if (!opened) throw new Error('it does not open')
      expect(isAuthentic(opened, prepareHmac(keyring.sealKeys.get(1) ?? new Uint8Array(), context))).toBe(true)
      expect([hex(opened.body), hex(opened.mac)]).toEqual([body, mac])
      expect({
        keyId: opened.keyId,
        proof: opened.proof,
        issuedAt: opened.issuedAt,
        ttlSeconds: opened.ttlSeconds,
        routeTag: hex(opened.routeTag),
        bindingTag: hex(opened.bindingTag),
        claimTag: hex(opened.claimTag),
        allowance: { unit: opened.allowance.unit, amount: String(opened.allowance.amount) },
        amounts: Object.fromEntries(Object.entries(opened.amounts).map(([token, units]) => [token, String(units)])),
        nonce: hex(opened.body.slice(-8)),
      }).toEqual(fields)
      expect(hex(opened.routeTag)).toBe(hex(tags.route(vectors.scope)))
      expect(hex(opened.bindingTag)).toBe(hex(tags.binding(vectors.request.method, vectors.request.target)))
    },
  )

  it('splits', () => {
    const { text, digest, context, collected, price, own, parts } = vectors.splits
    const splits = parseSplits(text) ?? []
    const { network, service, recipient } = vectors.context
    expect(hex(digestSplits({ splits }))).toBe(digest)
    expect(hex(sealContext(network, service, { recipient, splits }))).toBe(context)
    expect(hex(digestSplits({ splits, isCollected: true }))).toBe(collected)
    const divided = dividePrice(BigInt(price), splits)
    expect(divided).toEqual({
      own: BigInt(own),
      parts: parts.map((part: { recipient: string; units: string }) => ({ ...part, units: BigInt(part.units) })),
    })
  })

  it('tags of a claim and of a path', () => {
    const { secret, hash, tag } = vectors.claim
    expect(encodeBase64url(hashClaim(secret))).toBe(hash)
    expect(hex(tags.claim(hashClaim(secret)))).toBe(tag)
    expect(hex(tags.binding('GET', '/api/data\n*'))).toBe(vectors.pathBinding)
  })

  it.each(Object.entries(vectors.proofs as Record<string, string>))('proof header: %s', (_kind, header) => {
    const read = parseProof(header)
    expect(read.kind === 'proof' && formatProof(read.proof)).toBe(header)
  })

  it('signed proof', () => {
    const { text: expected, signature, payerSeed, ...parts } = vectors.signedProof
    const payer = createIdentity(new Uint8Array(Buffer.from(payerSeed, 'hex')))
    expect(text(proofText(parts))).toBe(expected)
    expect(encodeBase58(payer.sign(proofText(parts)))).toBe(signature)
    expect(vectors.proofs.sig).toContain(signature)
  })

  it('pseudonyms', () => {
    const names = createPseudonyms(keyring.pseudonymKey)
    const { wallet, walletName, requestId, requestName } = vectors.pseudonyms
    expect(names.wallet(decodeAddress(wallet) ?? new Uint8Array())).toBe(walletName)
    expect(names.request(requestId)).toBe(requestName)
  })

  it('a sealed transaction', () => {
    const { about, bytes, sealed } = vectors.outgoing
    expect(hex(createSealer(keyring.outgoingKey).open(sealed, about))).toBe(bytes)
  })

  it('receipt', () => {
    const { fields, text: expected, header } = vectors.receipt
    expect(text(receiptText(fields))).toBe(expected)
    expect(formatReceipt(fields, identity.sign)).toBe(header)
    const receipt = parseReceipt(header)
    expect(receipt && isReceiptGenuine(receipt, identity.publicKey, createVerifier())).toBe(true)
  })
})
