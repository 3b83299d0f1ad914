/**
 * Composes a message once. Each signer then adds its own signature, and no signer can change the message without
 * invalidating the others' signatures.
 */
import {
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getPublicKeyFromAddress,
  type Instruction,
  pipe,
  type SignatureBytes,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  verifySignature,
} from '@solana/kit'
import { signatureBytes } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'
import type { Signing } from '../../core/payouts/outgoing-wallet.ts'
import type { Verifier } from '../../core/runtime.ts'
import type { LookupTable } from '../accounts/lookup-tables.ts'
import { isLocalWallet, type Wallet } from '../keys/keypair.ts'
import { decodeTransaction, openTransaction, readAccountIndex, readSignature } from '../read/decode.ts'

/** The period in which a transaction can land. */
export interface Lifetime {
  readonly blockhash: string
  readonly lastValidBlockHeight: number
  /** A slot at which a node knew the blockhash. */
  readonly slot: number
}

/** The version 0 message bytes that the signers sign. */
export function composeMessage(
  instructions: readonly Instruction[],
  { blockhash }: Pick<Lifetime, 'blockhash'>,
  feePayer: string,
  tables: readonly LookupTable[] = [],
): Uint8Array {
  // The lifetime of a blockhash is not part of the message.
  const until = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n }
  const entries = Object.fromEntries(tables.map((table) => [table.address, table.entries.map((one) => address(one))]))
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(address(feePayer), draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(until, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
    (draft) => compressTransactionMessageUsingAddressLookupTables(draft, entries),
  )
  return new Uint8Array(compileTransaction(message).messageBytes)
}

/** Wraps a message of `composeMessage` in a transaction with an empty slot for each signature. */
export function unsigned(message: Uint8Array): Uint8Array {
  // The version comes first, then the number of signers, which always fits into one byte.
  const signers = message[1] ?? 0
  const bytes = new Uint8Array(1 + signers * signatureBytes + message.length)
  bytes[0] = signers
  bytes.set(message, 1 + signers * signatureBytes)
  return bytes
}

/** A wallet changed the transaction or did not sign it. */
class WalletFault extends PaystileError {
  override readonly name = 'WalletFault'
  constructor(message: string) {
    super('wallet_fault', message)
  }
}

/**
 * Has one of its signers sign a transaction, and takes only that signature from the result. Throws a `WalletFault` if
 * the wallet is not a signer, changed the transaction or did not sign it. Errors of the wallet pass through. The
 * signature of a local key needs no verification. A server passes its `verify`, which takes a fraction of WebCrypto's
 * time.
 */
export async function signUnchanged(transaction: Uint8Array, wallet: Wallet, verify?: Verifier): Promise<Uint8Array> {
  const before = openTransaction(transaction)
  const place = readAccountIndex(before, wallet.address)
  if (before.version === 1 || place === undefined)
    throw new WalletFault("the transaction does not need this wallet's signature")
  if (isLocalWallet(wallet)) return wallet.signTransaction(transaction)
  const decoding = decodeTransaction(await wallet.signTransaction(Uint8Array.from(transaction)))
  if (decoding.kind === 'malformed') throw new WalletFault('the wallet did not return a transaction')
  const after = decoding.transaction
  if (!equalBytes(after.message, before.message)) throw new WalletFault('the wallet changed the transaction')
  return attachSignature(transaction, wallet.address, after.signatures[place] ?? new Uint8Array(), verify)
}

/** In slots. A node that differs more, in either direction, is not credible. */
const mostApart = 1_000

/**
 * Like `signUnchanged`, for a transaction that is stored before it is sent; failures of the wallet are returned.
 * `slots` are the slots up to which the nodes knew the chain. The transaction cannot have landed before any of them,
 * and a node behind the latest of them knows nothing about it.
 */
export async function signDraft(
  draft: Uint8Array,
  wallet: Wallet,
  { lastValidBlockHeight, slots }: { readonly lastValidBlockHeight: number; readonly slots: readonly number[] },
): Promise<Signing> {
  if (Math.max(...slots) - Math.min(...slots) > mostApart)
    return { kind: 'unavailable', why: 'the slots of the nodes are too far apart' }
  try {
    const wire = await signUnchanged(draft, wallet)
    const signature = readSignature(openTransaction(wire))
    return { kind: 'signed', signed: { wire, signature, lastValidBlockHeight, slot: Math.max(...slots) } }
  } catch (error) {
    if (error instanceof WalletFault) return { kind: 'impossible', why: error.message }
    // A signer's own message may contain data that must not be stored, such as its address.
    return { kind: 'unavailable', why: `the wallet did not sign (${error instanceof Error ? error.name : 'unknown'})` }
  }
}

/**
 * Writes a signature into its signer's slot. Throws a `WalletFault` if it is not that signer's signature of this
 * message.
 */
export async function attachSignature(
  transaction: Uint8Array,
  signer: string,
  signature: Uint8Array,
  verify?: Verifier,
): Promise<Uint8Array> {
  const decoded = openTransaction(transaction)
  const place = readAccountIndex(decoded, signer)
  const key = place === undefined ? undefined : decoded.keys[place]
  if (decoded.version === 1 || place === undefined || !key)
    throw new WalletFault(`${signer} is not a signer of the transaction`)
  const isSigned = verify
    ? verify(key, decoded.message, signature)
    : await verifyWithWebCrypto(signer, decoded.message, signature)
  if (!isSigned) throw new WalletFault(`${signer} did not sign the transaction`)
  const signed = Uint8Array.from(transaction)
  signed.set(signature, 1 + place * signatureBytes)
  return signed
}

async function verifyWithWebCrypto(signer: string, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  if (signature.length !== signatureBytes) return false
  const key = await getPublicKeyFromAddress(address(signer))
  return verifySignature(key, signature as SignatureBytes, Uint8Array.from(message))
}

export interface SignedPayment {
  /** The complete transaction, base64. */
  readonly wire: string
  readonly signature: string
  /** A slot at which a node knew its blockhash. */
  readonly slot: number
}
