/**
 * Payments for people with a wallet in their browser or on their phone. This module drafts the transaction, and reads
 * and sends the signed result. It cannot sign.
 */
import { getBase64Decoder } from '@solana/kit'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { isOpenedByPayer, type Network, smallestBalance } from '../../core/money/tokens.ts'
import { sumParts } from '../../core/payment/splits.ts'
import type { Drafting, DraftOption, DraftPart, PaymentDraft, PaymentDrafts } from '../../core/ports/payment-drafts.ts'
import type { Verifier } from '../../core/runtime.ts'
import { computeNeededLamports, readFunds } from '../accounts/balances.ts'
import { decodeTransaction, openTransaction, type Transaction, verifySignatures } from '../read/decode.ts'
import { type ParsedInstruction, readInstructions } from '../read/instructions.ts'
import { describeError } from '../rpc/json.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { readFate, readLifetime, readRecentSlot, submit } from '../send/send.ts'
import { createSimulation } from '../send/simulate.ts'
import { computeGain, simulateEffects } from '../send/simulate-effects.ts'
import { draftPayment } from './payment.ts'

export interface PaymentDraftsParts {
  readonly rpc: Rpc
  readonly network: Network
  readonly verifier: Verifier
  readonly genesis: string
}

export function createPaymentDrafts({ rpc, network, verifier, genesis }: PaymentDraftsParts): PaymentDrafts {
  const simulate = createSimulation(rpc, genesis)
  return {
    draft: async (draft) => {
      const [means, lifetime] = await Promise.all([checkMeans({ rpc, network }, draft), readLifetime(rpc)])
      if (means.kind !== 'payable') return means
      if (!lifetime) return { kind: 'unavailable', why: 'no node returned a recent blockhash' }
      const { account, recipient, mint, units, splits = [], requestId, reference } = draft
      const token = mint
        ? { asset: mint.address, decimals: mint.decimals, tokenProgram: mint.tokenProgram, units }
        : { asset: 'SOL', decimals: 9, units }
      const { createAccount } = means
      const order = { ...lifetime, token, recipient, splits, requestId, reference, createAccount }
      const transaction = await draftPayment(order, account)
      return { kind: 'transaction', transaction }
    },
    read: async (bytes, requestId) => {
      const decoding = decodeTransaction(bytes)
      if (decoding.kind === 'malformed') return { kind: 'foreign' }
      const { transaction } = decoding
      const memo = new TextEncoder().encode(requestId)
      const isMemo = (instruction: ParsedInstruction): boolean =>
        instruction.kind === 'memo' && equalBytes(instruction.data, memo)
      if (!readTopInstructions(transaction).some(isMemo)) return { kind: 'foreign' }
      const [signature] = transaction.signatures
      if (!signature || !verifySignatures(transaction, verifier)) return { kind: 'foreign' }
      // The wallet may have replaced the blockhash.
      const block = encodeBase58(transaction.lifetime)
      const [lifetime, recent] = await Promise.all([readLifetime(rpc), readRecentSlot(rpc, block)])
      if (!lifetime) return { kind: 'unavailable' }
      const wire = getBase64Decoder().decode(bytes)
      const slot = Math.max(lifetime.slot, recent ?? 0)
      return {
        kind: 'signed',
        signed: { wire, signature: encodeBase58(signature), slot },
        isFresh: recent !== undefined,
      }
    },
    simulate: async (bytes, options) => {
      const transaction = openTransaction(bytes)
      const unsigned = withoutSignatures(bytes, transaction)
      const simulation = await simulate(unsigned)
      if (simulation.kind === 'unavailable') return { kind: 'unavailable' }
      if (simulation.kind === 'bad') return { kind: 'fails', why: describeError(simulation.error) }
      if (ordersPrice(transaction, options)) return { kind: 'pays' }
      // A program of the wallet may make the transfer. Then only the simulated effect shows it.
      const effects = await simulateEffects(rpc, genesis, unsigned, [
        ...new Set(options.flatMap(listParts).map(({ destination }) => destination)),
      ])
      if (effects.kind === 'unavailable') return { kind: 'unavailable' }
      if (effects.kind === 'failed') return { kind: 'fails', why: effects.why }
      const isPaid = options.some((option) =>
        listParts(option).every(
          ({ destination, units }) => computeGain(effects.changes, { asset: option.asset, destination }) >= units,
        ),
      )
      return isPaid ? { kind: 'pays' } : { kind: 'foreign', why: 'it does not pay the price to the seller' }
    },
    send: (signed) => submit(rpc, signed),
    readFate: async (signed) => {
      const fate = await readFate({ rpc, genesis }, signed)
      if (fate.kind === 'landed') return 'landed'
      return fate.kind === 'unknown' ? 'open' : 'over'
    },
  }
}

/** The parsed top-level instructions of a transaction, without the calls of programs. */
function readTopInstructions({ instructions, keys }: Transaction): readonly ParsedInstruction[] {
  return instructions.flatMap(({ program, accounts, data }) => {
    const id = keys[program]
    return (id && readInstructions(encodeBase58(id), accounts, data)) ?? []
  })
}

/** All parts of the price in one token. */
function listParts({ destination, units, gross, splits = [] }: DraftOption): readonly DraftPart[] {
  return [{ destination, units, gross }, ...splits]
}

/** Whether its own instructions send all parts of the price. If the transaction succeeds, these transfers were made. */
function ordersPrice(transaction: Transaction, options: readonly DraftOption[]): boolean {
  const moves = readTopInstructions(transaction).flatMap((instruction) => {
    if (instruction.kind !== 'move' || instruction.units === undefined) return []
    const key = transaction.keys[instruction.destination]
    return [{ money: instruction.money, units: instruction.units, destination: key && encodeBase58(key) }]
  })
  return options.some((option) =>
    listParts(option).every(({ destination, gross }) =>
      moves.some((move) => {
        const isSameMoney = (option.asset === 'SOL') === (move.money === 'lamports')
        return isSameMoney && move.destination === destination && move.units >= gross
      }),
    ),
  )
}

/** A copy without signatures, which no node can send. */
export function withoutSignatures(bytes: Uint8Array, { signatures }: Transaction): Uint8Array {
  const unsigned = Uint8Array.from(bytes)
  for (const { byteOffset, length } of signatures) {
    const start = byteOffset - bytes.byteOffset
    unsigned.fill(0, start, start + length)
  }
  return unsigned
}

type Means =
  /** `createAccount`: the payment must open the recipient's token account. */
  { readonly kind: 'payable'; readonly createAccount: boolean } | Exclude<Drafting, { kind: 'transaction' }>

/** Whether the wallet can pay, and the wallets of the price can receive their parts. */
async function checkMeans(
  { rpc, network }: Pick<PaymentDraftsParts, 'rpc' | 'network'>,
  draft: PaymentDraft,
): Promise<Means> {
  const { account, recipient, mint, splits = [] } = draft
  const others = splits.map((split) => split.recipient)
  const funds = await readFunds(rpc, { wallet: account, recipient, others, mints: mint ? [mint] : [] })
  if (funds.kind === 'unavailable') return funds
  const [token] = funds.tokens
  const balance = mint ? (token?.units ?? 0n) : funds.lamports
  const units = draft.units + sumParts(splits)
  if (balance < units) return { kind: 'short', of: 'token', has: balance, needs: units }
  const isMissing = token !== undefined && !token.recipientReady
  const createAccount = isMissing && isOpenedByPayer(network)
  const needed = computeNeededLamports(mint, units, { createAccount })
  if (funds.lamports < needed) return { kind: 'short', of: 'fee', has: funds.lamports, needs: needed }
  if (isMissing && !createAccount) return { kind: 'impossible', why: 'the seller has no account for this token' }
  if (!mint && funds.recipientLamports + draft.units < smallestBalance)
    return { kind: 'impossible', why: "the amount is too small to open the seller's empty wallet" }
  if (mint && funds.others.some(({ mints }) => mints.length === 0))
    return { kind: 'impossible', why: 'a wallet that shares the price has no account for this token' }
  if (!mint && funds.others.some(({ lamports }, index) => lamports + (splits[index]?.units ?? 0n) < smallestBalance))
    return { kind: 'impossible', why: 'a part of the price is too small to open an empty wallet' }
  return { kind: 'payable', createAccount }
}
