/**
 * Builds a payment that a server of another protocol completes and sends: compute limits, then each transfer with its
 * memo. The server's wallet, or the payer itself, pays the network fee.
 */
import { getBase64Decoder } from '@solana/kit'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Mint } from '../../core/money/tokens.ts'
import type { Wallet } from '../keys/keypair.ts'
import { openTransaction, readAccountIndex } from '../read/decode.ts'
import { composeMessage, type Lifetime, signUnchanged, unsigned } from '../send/message.ts'
import { computeBudget, memoInstruction, transferInstruction } from './payment.ts'

export interface CosignedLeg {
  readonly recipient: string
  readonly units: bigint
  readonly memo: string | undefined
}

export interface CosignedOrder {
  readonly lifetime: Lifetime
  /** Undefined if the payer pays the fee. */
  readonly feePayer: string | undefined
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly legs: readonly CosignedLeg[]
  readonly computeUnits: number
  /** The price of a compute unit, in millionths of a lamport. */
  readonly microLamports: bigint
}

/** Throws if the wallet changes the transaction: such servers accept only this form. */
export async function signCosigned(order: CosignedOrder, wallet: Wallet) {
  const { lifetime, feePayer, mint, legs, computeUnits, microLamports } = order
  const instructions = [...computeBudget(computeUnits, microLamports)]
  for (const { recipient, units, memo } of legs) {
    instructions.push(await transferInstruction(wallet.address, recipient, { mint, units }))
    if (memo !== undefined) instructions.push(memoInstruction(memo))
  }
  const draft = unsigned(composeMessage(instructions, lifetime, feePayer ?? wallet.address))
  const bytes = await signUnchanged(draft, wallet)
  return {
    /** The transaction with the payer's signature, base64. */
    wire: getBase64Decoder().decode(bytes),
    /** The payer's signature, base58. */
    signature: readOwnSignature(bytes, wallet.address),
    /** A slot at which a node knew its blockhash. */
    slot: lifetime.slot,
  }
}

/** The signature of one of its signers, base58. */
export function readOwnSignature(transaction: Uint8Array, signer: string): string {
  const decoded = openTransaction(transaction)
  const place = readAccountIndex(decoded, signer)
  return encodeBase58((place === undefined ? undefined : decoded.signatures[place]) ?? new Uint8Array())
}
