import {
  createKeyPairFromPrivateKeyBytes,
  createKeyPairSignerFromBytes,
  createKeyPairSignerFromPrivateKeyBytes,
  generateKeyPairSigner,
  type SignatureBytes,
  verifySignature,
} from '@solana/kit'
import { Keypair, type PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js'
import { describe, expect, it } from 'vitest'
import { createSign } from '../../host/keys/ed25519.ts'
import { createWallet, isLocalWallet } from './keypair.ts'

const seed = new Uint8Array(32).fill(42)
const keypair = Keypair.fromSeed(seed)
const bytes = new TextEncoder().encode('to be signed')

/** A transaction as a wallet is given it. */
function unsigned(payerKey: PublicKey): Uint8Array {
  const instructions = [SystemProgram.transfer({ fromPubkey: payerKey, toPubkey: payerKey, lamports: 1 })]
  const message = new TransactionMessage({ payerKey, recentBlockhash: payerKey.toBase58(), instructions })
  return new VersionedTransaction(message.compileToV0Message()).serialize()
}

describe('createWallet', () => {
  it('signs only valid transactions that require its signature', async () => {
    const wallet = await createWallet(seed)
    await expect(wallet.signTransaction(bytes)).rejects.toThrow(TypeError)
    await expect(wallet.signTransaction(unsigned(Keypair.generate().publicKey))).rejects.toThrow(TypeError)
  })

  it('is known by the object itself, which cannot be changed', async () => {
    const wallet = await createWallet(seed)
    expect([wallet, { ...wallet }, Object.create(wallet)].map(isLocalWallet)).toEqual([true, false, false])
    expect(Object.isFrozen(wallet)).toBe(true)
  })

  it.each([
    ['a seed', () => seed],
    ['64 bytes', () => keypair.secretKey],
    ['the numbers of a key file', () => [...keypair.secretKey]],
    ['a web3.js Keypair', () => keypair],
    ['a kit signer', () => createKeyPairSignerFromBytes(keypair.secretKey)],
    ['a kit signer from a seed', () => createKeyPairSignerFromPrivateKeyBytes(seed)],
  ])('from %s', async (_name, make) => {
    const wallet = await createWallet(await make())
    expect(wallet.address).toBe(keypair.publicKey.toBase58())
    const { publicKey } = await createKeyPairFromPrivateKeyBytes(seed)
    expect(await verifySignature(publicKey, (await wallet.signMessage(bytes)) as SignatureBytes, bytes)).toBe(true)
    const signed = await wallet.signTransaction(unsigned(keypair.publicKey))
    expect(VersionedTransaction.deserialize(signed).message).toEqual(
      VersionedTransaction.deserialize(unsigned(keypair.publicKey)).message,
    )
    const signature = signed.slice(1, 65) as SignatureBytes
    expect(await verifySignature(publicKey, signature, signed.slice(65))).toBe(true)
    expect(Object.keys(wallet).sort()).toEqual(['address', 'signMessage', 'signTransaction'])
    // Ed25519 has one signature for each message, whichever library computes it.
    const own = await createWallet(await make(), createSign)
    expect(own.address).toBe(wallet.address)
    expect(await own.signTransaction(unsigned(keypair.publicKey))).toEqual(signed)
    expect(Object.keys(own)).toEqual(Object.keys(wallet))
  })

  const other = Keypair.fromSeed(new Uint8Array(32).fill(43))
  const mixed = Uint8Array.of(...seed, ...other.publicKey.toBytes())
  it.each([
    ['64 bytes whose halves do not match', () => mixed],
    ['a Keypair with another public key', () => ({ publicKey: other.publicKey, secretKey: keypair.secretKey })],
    ['a Keypair whose secret is another', () => ({ publicKey: other.publicKey, secretKey: mixed })],
    ['a Keypair with a short secret', () => ({ publicKey: other.publicKey, secretKey: seed })],
    ['63 bytes', () => keypair.secretKey.subarray(1)],
    ['no bytes', () => []],
    [
      'a kit signer put together from two',
      async () => {
        const [one, two] = [await generateKeyPairSigner(), await generateKeyPairSigner()]
        return { ...one, keyPair: { publicKey: one.keyPair.publicKey, privateKey: two.keyPair.privateKey } }
      },
    ],
    [
      'a kit signer under another address',
      async () => ({ ...(await generateKeyPairSigner()), address: (await generateKeyPairSigner()).address }),
    ],
  ])('not from %s', async (_name, make) => {
    await expect(createWallet(await make())).rejects.toThrow(TypeError)
  })
})
