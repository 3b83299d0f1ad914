/**
 * Wallets that sign with a key at hand: from bytes, from a kit signer, from a web3.js `Keypair`.
 *
 * The key goes into WebCrypto and cannot be read back from the wallet, in Node and in browsers alike.
 */
import {
  createKeyPairFromBytes,
  createKeyPairFromPrivateKeyBytes,
  getAddressFromPublicKey,
  type KeyPairSigner,
  signBytes,
  verifySignature,
} from '@solana/kit'
import { decodeAddress, signatureBytes } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { decodeTransaction, readAccountIndex } from '../read/decode.ts'

export interface Wallet {
  readonly address: string
  /**
   * Takes a transaction as it goes over the wire, the place of its signature still empty, and returns it with that filled
   * and the others as they were. A wallet may have added instructions of its own.
   */
  signTransaction(transaction: Uint8Array): Promise<Uint8Array>
  /** The signature under a text, such as a proof's. */
  signMessage(text: Uint8Array): Promise<Uint8Array>
}

/** What web3.js 1.x calls a `Keypair`, as far as it matters. */
export interface KeypairLike {
  readonly publicKey: { toBytes(): Uint8Array }
  readonly secretKey: Uint8Array
}

/** 64 secret bytes (as in a key file, also as plain numbers), a seed of 32, a kit signer, or a `Keypair`. */
export type KeySource = ArrayLike<number> | KeyPairSigner | KeypairLike

/** Throws a `TypeError` when the source is not a key, or when its public half belongs to another secret. */
export async function createWallet(source: KeySource): Promise<Wallet> {
  const pair = await readKeyPair(source)
  const address = await getAddressFromPublicKey(pair.publicKey)
  const sign = async (bytes: Uint8Array): Promise<Uint8Array> => new Uint8Array(await signBytes(pair.privateKey, bytes))
  if ('keyPair' in source) await prove(pair, source.address, address)
  return { address, signTransaction: (transaction) => signAtPlace(transaction, address, sign), signMessage: sign }
}

/** Puts the signature where it belongs: behind their number, in the order of the signers. */
async function signAtPlace(
  transaction: Uint8Array,
  address: string,
  sign: (message: Uint8Array) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const decoding = decodeTransaction(transaction)
  const place = decoding.kind === 'transaction' ? readAccountIndex(decoding.transaction, address) : undefined
  if (decoding.kind === 'malformed' || decoding.transaction.version === 1 || place === undefined) {
    throw new TypeError('the transaction is not one that this wallet has to sign')
  }
  const signed = transaction.slice()
  signed.set(await sign(decoding.transaction.message), 1 + place * signatureBytes)
  return signed
}

async function readKeyPair(source: KeySource): Promise<CryptoKeyPair> {
  if ('keyPair' in source) return source.keyPair
  if (!('secretKey' in source)) return importKey(Uint8Array.from(source))
  const secret = Uint8Array.from(source.secretKey)
  if (!equalBytes(secret.subarray(32), Uint8Array.from(source.publicKey.toBytes()))) throw mismatch()
  return importKey(secret)
}

async function importKey(bytes: Uint8Array): Promise<CryptoKeyPair> {
  if (bytes.length === 32) return createKeyPairFromPrivateKeyBytes(bytes)
  if (bytes.length !== 64) throw new TypeError('a key has 64 bytes, or 32 as a seed')
  try {
    return await createKeyPairFromBytes(bytes)
  } catch {
    throw mismatch()
  }
}

/** A signer made elsewhere may have been put together from halves that do not match. */
async function prove(pair: CryptoKeyPair, claimed: string, actual: string): Promise<void> {
  const sample = decodeAddress(actual) ?? new Uint8Array()
  const good = await verifySignature(pair.publicKey, await signBytes(pair.privateKey, sample), sample)
  if (!good || claimed !== actual) throw mismatch()
}

function mismatch(): TypeError {
  return new TypeError('the public half of the key does not belong to its secret half')
}
