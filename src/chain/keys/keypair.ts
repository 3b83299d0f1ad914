/**
 * Wallets that sign with a local key: from bytes, a kit signer or a web3.js `Keypair`.
 *
 * The key is imported into WebCrypto and cannot be read back from the wallet, in Node and in browsers.
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

const seedBytes = 32

export interface Wallet {
  readonly address: string
  /**
   * Takes a transaction in wire format with an empty slot for its signature. Returns it with that slot filled and all
   * other signatures unchanged. A wallet may have added its own instructions.
   */
  signTransaction(transaction: Uint8Array): Promise<Uint8Array>
  /** Signs a text, such as that of a proof. */
  signMessage(text: Uint8Array): Promise<Uint8Array>
  /**
   * Whether `signMessage` works.
   *
   * @defaultValue `true`
   */
  readonly canSignMessages?: boolean
}

/** The used part of a web3.js 1.x `Keypair`. */
export interface KeypairLike {
  readonly publicKey: { toBytes(): Uint8Array }
  readonly secretKey: Uint8Array
}

/** 64 secret bytes (as in a key file, also as plain numbers), a 32-byte seed, a kit signer, or a `Keypair`. */
export type KeySource = ArrayLike<number> | KeyPairSigner | KeypairLike

/**
 * Creates a function that signs with the key of a seed of 32 bytes. Node's own takes a fraction of WebCrypto's time.
 */
export type CreateSign = (seed: Uint8Array) => (bytes: Uint8Array) => Uint8Array

/** Throws a `TypeError` if the source is not a key, or if its public key does not match the secret. */
export async function createWallet(source: KeySource, createSign?: CreateSign): Promise<Wallet> {
  const pair = await readKeyPair(source)
  const address = await getAddressFromPublicKey(pair.publicKey)
  const own = createSign && readSeed(source, createSign)
  const sign = async (bytes: Uint8Array): Promise<Uint8Array> =>
    own ? own(bytes) : new Uint8Array(await signBytes(pair.privateKey, bytes))
  if ('keyPair' in source) await prove(pair, source.address, address)
  const signTransaction = (transaction: Uint8Array) => signAtPlace(transaction, address, sign)
  const wallet = Object.freeze({ address, signTransaction, signMessage: sign })
  localWallets.add(wallet)
  return wallet
}

const localWallets = new WeakSet<Wallet>()

/** Whether `createWallet` made it, so that it signs exactly the given transaction. */
export function isLocalWallet(wallet: Wallet): boolean {
  return localWallets.has(wallet)
}

/** Writes the signature into its slot: after the signature count, in the order of the signers. */
async function signAtPlace(
  transaction: Uint8Array,
  address: string,
  sign: (message: Uint8Array) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const decoding = decodeTransaction(transaction)
  const place = decoding.kind === 'transaction' ? readAccountIndex(decoding.transaction, address) : undefined
  if (decoding.kind === 'malformed' || decoding.transaction.version === 1 || place === undefined)
    throw new TypeError("the transaction does not need this wallet's signature")
  const signed = Uint8Array.from(transaction)
  signed.set(await sign(decoding.transaction.message), 1 + place * signatureBytes)
  return signed
}

/** Undefined for a kit signer, whose key cannot be read. */
function readSeed(source: KeySource, createSign: CreateSign) {
  if ('keyPair' in source) return undefined
  return createSign(Uint8Array.from('secretKey' in source ? source.secretKey : source).slice(0, seedBytes))
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

/** A foreign signer could consist of two halves that do not match. */
async function prove(pair: CryptoKeyPair, claimed: string, actual: string): Promise<void> {
  const sample = decodeAddress(actual) ?? new Uint8Array()
  const good = await verifySignature(pair.publicKey, await signBytes(pair.privateKey, sample), sample)
  if (!good || claimed !== actual) throw mismatch()
}

function mismatch(): TypeError {
  return new TypeError('the public half of the key does not belong to its secret half')
}
