import { generateKeyPairSigner, getTransactionDecoder, type SignatureBytes, verifySignature } from '@solana/kit'
import { PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js'
import { describe, expect, it } from 'vitest'
import { isKitSigner, walletFromSigner } from './signer.ts'

const pair = await generateKeyPairSigner()
const payerKey = new PublicKey(pair.address)

function unsigned(lamports: number): Uint8Array {
  const instructions = [SystemProgram.transfer({ fromPubkey: payerKey, toPubkey: payerKey, lamports })]
  const message = new TransactionMessage({ payerKey, recentBlockhash: payerKey.toBase58(), instructions })
  return new VersionedTransaction(message.compileToV0Message()).serialize()
}

/** The same signer without its key at hand, as a device or a service would be. */
const partial = { address: pair.address, signTransactions: pair.signTransactions, signMessages: pair.signMessages }
/** A wallet that changes what it signs. */
const modifying = {
  address: pair.address,
  modifyAndSignTransactions: async () => {
    const changed = getTransactionDecoder().decode(unsigned(2))
    const [signatures] = await pair.signTransactions([changed as never])
    return [{ ...changed, signatures }] as never
  },
}

async function isSigned(bytes: Uint8Array): Promise<boolean> {
  return verifySignature(pair.keyPair.publicKey, bytes.slice(1, 65) as SignatureBytes, bytes.slice(65))
}

describe('kit signers', () => {
  it('sign transactions as they are', async () => {
    const signed = await walletFromSigner(partial).signTransaction(unsigned(1))
    expect(await isSigned(signed)).toBe(true)
    expect(signed.slice(65)).toEqual(unsigned(1).slice(65))
  })

  it('may change the transaction that they sign', async () => {
    const signed = await walletFromSigner(modifying).signTransaction(unsigned(1))
    expect(await isSigned(signed)).toBe(true)
    expect(signed.slice(65)).toEqual(unsigned(2).slice(65))
  })

  it('sign messages where they can', async () => {
    const text = new TextEncoder().encode('a proof')
    const signature = await walletFromSigner(partial).signMessage(text)
    expect(await verifySignature(pair.keyPair.publicKey, signature as SignatureBytes, text)).toBe(true)
    await expect(walletFromSigner(modifying).signMessage(text)).rejects.toThrow('cannot sign messages')
  })

  it('are recognised by their methods', () => {
    expect([isKitSigner(partial), isKitSigner(modifying), isKitSigner({}), isKitSigner({ address: 'x' })]).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})
