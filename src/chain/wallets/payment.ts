/**
 * Builds a payment: compute budget, the recipient's account if it is missing, memo, transfers; one signer.
 *
 * The memo comes directly before the transfer to the recipient. Solana Pay requires that position, and a Token-2022 account that
 * requires memos checks it.
 */
import { AccountRole, type Address, address, createNoopSigner, getBase64Decoder, type Instruction } from '@solana/kit'
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget'
import { getTransferSolInstruction } from '@solana-program/system'
import { getCreateAssociatedTokenIdempotentInstruction, getTransferCheckedInstruction } from '@solana-program/token'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import type { Mint } from '../../core/money/tokens.ts'
import type { SplitPart } from '../../core/payment/splits.ts'
import type { Asset } from '../../core/payment/verify.ts'
import { findTokenAccount, memoProgram } from '../accounts/programs.ts'
import type { Wallet } from '../keys/keypair.ts'
import { decodeTransaction } from '../read/decode.ts'
import { composeMessage, type Lifetime, type SignedPayment, unsigned } from '../send/message.ts'

/** The token and amount to pay. */
export interface TokenAmount {
  readonly asset: Asset
  readonly units: bigint
  readonly decimals: number
  /** The program that owns the mint. Undefined for SOL. */
  readonly tokenProgram?: string
}

export interface PaymentOrder extends Lifetime {
  /** The recipient's part. */
  readonly token: TokenAmount
  /** The recipient's wallet. For a mint, its associated token account receives the payment. */
  readonly recipient: string
  /** Further wallets that the transaction pays in the same token. Their token accounts must exist. */
  readonly splits?: readonly SplitPart[]
  readonly requestId: string
  /** Opens the recipient's token account at the payer's expense if it does not exist yet. */
  readonly createAccount?: boolean
  /** A Solana Pay reference: an address that the transfer only mentions, so that the transfer can be found by it. */
  readonly reference?: string
}

/** Deliberately generous: an excess unit costs a hundredth of a lamport, but a missing one fails the payment. */
export const computeUnits = { base: 60_000, transfer: 30_000, createAccount: 60_000 }
/** The price of a compute unit, in millionths of a lamport. */
export const usualMicroLamports = 10_000n

/** Builds a payment for an external wallet: the complete transaction with an empty signature, base64. */
export async function draftPayment(order: PaymentOrder, payer: string): Promise<string> {
  const instructions = [...budget(order), ...(await transferInstructions(order, payer))]
  return getBase64Decoder().decode(unsigned(composeMessage(instructions, order, payer)))
}

/** Builds and signs a payment. The signature is known from here on; store it before sending. */
export async function signPayment(order: PaymentOrder, wallet: Wallet): Promise<SignedPayment> {
  const instructions = [...budget(order), ...(await transferInstructions(order, wallet.address))]
  return signInstructions(instructions, order, wallet, (data) => {
    const memo = new TextEncoder().encode(order.requestId)
    // Wallets can add instructions. Without the memo, the payment could not be claimed.
    if (!data.some((one) => equalBytes(one, memo)))
      throw new TypeError('the wallet removed the memo, so the payment could not be claimed')
  })
}

/** Has a wallet sign instructions as the only fee payer, and checks the result. */
export async function signInstructions(
  instructions: readonly Instruction[],
  lifetime: Lifetime,
  wallet: Wallet,
  check: (data: readonly Uint8Array[]) => void = () => {},
): Promise<SignedPayment> {
  const message = composeMessage(instructions, lifetime, wallet.address)
  const bytes = await wallet.signTransaction(unsigned(message))
  const decoding = decodeTransaction(bytes)
  if (decoding.kind === 'malformed') throw new TypeError('the wallet did not return a transaction')
  const { signatures, keys, instructions: signed, lifetime: blockhash } = decoding.transaction
  const [signature, signer] = [signatures[0], keys[0]]
  if (!signature || !signer || encodeBase58(signer) !== wallet.address || signature.every((byte) => byte === 0))
    throw new TypeError('the wallet did not sign the transaction')
  // The expiry is known only for the given blockhash. With another blockhash, a live payment would appear to have
  // expired.
  if (encodeBase58(blockhash) !== lifetime.blockhash) throw new TypeError('the wallet changed the blockhash')
  check(signed.map(({ data }) => data))
  return { wire: getBase64Decoder().decode(bytes), signature: encodeBase58(signature), slot: lifetime.slot }
}

/** Opens a wallet's token account at the signer's expense. If the account exists by then, only the fee is spent. */
export async function signOpening(
  owner: string,
  mint: Pick<Mint, 'address' | 'tokenProgram'>,
  lifetime: Lifetime,
  wallet: Wallet,
): Promise<SignedPayment> {
  const units = computeUnits.base + computeUnits.createAccount
  const instructions = [...computeBudget(units), await openInstruction(wallet.address, owner, mint)]
  return signInstructions(instructions, lifetime, wallet)
}

/** Opens a wallet's token account at the payer's expense if it does not exist yet. */
export async function openInstruction(
  payer: string,
  owner: string,
  mint: Pick<Mint, 'address' | 'tokenProgram'>,
): Promise<Instruction> {
  return getCreateAssociatedTokenIdempotentInstruction({
    payer: createNoopSigner(address(payer)),
    ata: address(await findTokenAccount(owner, mint.address, mint.tokenProgram)),
    owner: address(owner),
    mint: address(mint.address),
    tokenProgram: address(mint.tokenProgram),
  })
}

function budget({ token, splits = [], createAccount }: PaymentOrder): readonly Instruction[] {
  const transfer = token.asset === 'SOL' ? 0 : computeUnits.transfer * (1 + splits.length)
  return computeBudget(computeUnits.base + transfer + (createAccount ? computeUnits.createAccount : 0))
}

/** Sets the compute unit limit and the price per unit. */
export function computeBudget(units: number, microLamports = usualMicroLamports): readonly Instruction[] {
  return [getSetComputeUnitLimitInstruction({ units }), getSetComputeUnitPriceInstruction({ microLamports })]
}

async function transferInstructions(order: PaymentOrder, payer: string): Promise<readonly Instruction[]> {
  const { token, recipient, splits = [] } = order
  const mint = toMint(token)
  const transfer = await transferInstruction(payer, recipient, { mint, units: token.units })
  const others = await Promise.all(
    splits.map((split) => transferInstruction(payer, split.recipient, { mint, units: split.units })),
  )
  const paying = [memoInstruction(order.requestId), mentioning(transfer, order.reference), ...others]
  return order.createAccount && mint ? [await openInstruction(payer, recipient, mint), ...paying] : paying
}

function toMint({ asset, decimals, tokenProgram }: TokenAmount): Mint | undefined {
  if (asset === 'SOL') return undefined
  if (tokenProgram === undefined) throw new TypeError('a mint needs its token program')
  return { address: asset, decimals, tokenProgram }
}

/** The token and amount that one wallet transfers to another. */
export interface Leg {
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly units: bigint
}

/** Transfers from wallet to wallet. For a mint, between their token accounts. */
export async function transferInstruction(
  from: string,
  to: string,
  { mint, units: amount }: Leg,
): Promise<Instruction> {
  // Only the signer role matters here: the wallet signs the final bytes.
  const authority = createNoopSigner(address(from))
  if (!mint) return getTransferSolInstruction({ source: authority, destination: address(to), amount })
  const { decimals, tokenProgram } = mint
  const [source, destination] = await Promise.all([
    findTokenAccount(from, mint.address, tokenProgram),
    findTokenAccount(to, mint.address, tokenProgram),
  ])
  const accounts = { source: address(source), mint: address(mint.address), destination: address(destination) }
  return getTransferCheckedInstruction(
    { ...accounts, authority, amount, decimals },
    { programAddress: address(tokenProgram) },
  )
}

function mentioning(instruction: Instruction, reference: string | undefined): Instruction {
  if (reference === undefined) return instruction
  const mention = { address: address(reference), role: AccountRole.READONLY }
  return { ...instruction, accounts: [...(instruction.accounts ?? []), mention] }
}

export function memoInstruction(text: string): Instruction {
  return { programAddress: memoProgram as Address, data: new TextEncoder().encode(text) }
}
