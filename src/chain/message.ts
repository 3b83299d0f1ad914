/**
 * What is signed, and by whom: a message is composed once, and each of its signers puts a signature at its own place. Nobody
 * can change it then without the others.
 */
import {
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createTransactionMessage,
  getPublicKeyFromAddress,
  type Instruction,
  pipe,
  type SignatureBytes,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  verifySignature,
} from '@solana/kit'
import { signatureBytes } from '../core/base58.ts'
import { equalBytes } from '../core/mac.ts'
import type { Wallet } from './keypair.ts'
import { decodeTransaction, placeOf, type Transaction } from './transaction.ts'

/** Until when a transaction can land. */
export interface Lifetime {
  readonly blockhash: string
  readonly lastValidBlockHeight: number
}

/** The message bytes that its signers have to sign: version 0, without lookup tables. */
export function composeMessage(instructions: readonly Instruction[], lifetime: Lifetime, feePayer: string): Uint8Array {
  const until = {
    blockhash: lifetime.blockhash as Blockhash,
    lastValidBlockHeight: BigInt(lifetime.lastValidBlockHeight),
  }
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(address(feePayer), draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(until, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  )
  return new Uint8Array(compileTransaction(message).messageBytes)
}

/** A transaction of a message that `composeMessage` made, with an empty place for each of its signers. */
export function unsigned(message: Uint8Array): Uint8Array {
  // The version comes first, then how many sign. There are never so many that their number would take two bytes.
  const signers = message[1] ?? 0
  const bytes = new Uint8Array(1 + signers * signatureBytes + message.length)
  bytes[0] = signers
  bytes.set(message, 1 + signers * signatureBytes)
  return bytes
}

/**
 * Has one of its signers sign a transaction, and takes nothing from what comes back but that signature. Throws a `TypeError`
 * when the wallet is none of the signers, changed what it was to sign, or did not sign it.
 */
export async function signUnchanged(transaction: Uint8Array, wallet: Wallet): Promise<Uint8Array> {
  const before = decode(transaction)
  const place = placeOf(before, wallet.address)
  if (before.version === 1 || place === undefined) throw new TypeError('the transaction is not for this wallet to sign')
  const decoding = decodeTransaction(await wallet.signTransaction(transaction.slice()))
  if (decoding.kind === 'malformed') throw new TypeError('the wallet did not return a transaction')
  const after = decoding.transaction
  if (!equalBytes(after.message, before.message)) throw new TypeError('the wallet changed the transaction')
  return attachSignature(transaction, wallet.address, after.signatures[place] ?? new Uint8Array())
}

/** Puts a signature at the place of its signer. Throws a `TypeError` when it is not that signer's, under this message. */
export async function attachSignature(
  transaction: Uint8Array,
  signer: string,
  signature: Uint8Array,
): Promise<Uint8Array> {
  const decoded = decode(transaction)
  const place = placeOf(decoded, signer)
  if (decoded.version === 1 || place === undefined) throw new TypeError(`${signer} is not to sign the transaction`)
  const key = await getPublicKeyFromAddress(address(signer))
  if (
    signature.length !== signatureBytes ||
    !(await verifySignature(key, signature as SignatureBytes, Uint8Array.from(decoded.message)))
  ) {
    throw new TypeError(`${signer} did not sign the transaction`)
  }
  const signed = transaction.slice()
  signed.set(signature, 1 + place * signatureBytes)
  return signed
}

function decode(bytes: Uint8Array): Transaction {
  const decoding = decodeTransaction(bytes)
  if (decoding.kind === 'malformed') throw new TypeError(`not a transaction: ${decoding.why}`)
  return decoding.transaction
}
