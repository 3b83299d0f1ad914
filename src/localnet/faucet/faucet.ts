/** Test money: SOL from the faucet's balance, and freshly minted tokens, sent by ordinary transactions. */
import { PaystileError } from '../../core/errors/paystile-error.ts'
import { type ByToken, listTokens, localnetMints, type TokenCode } from '../../core/money/tokens.ts'
import { associatedTokenAddress } from '../accounts/program-address.ts'
import type { Bank } from '../bank/bank.ts'
import {
  buildTransaction,
  type Call,
  computeUnitLimit,
  createTokenAccount,
  mintTokens,
  transferSol,
} from '../transaction/build.ts'
import { describeFailure, type Failure } from '../transaction/failure.ts'
import type { Keypair } from '../transaction/signature.ts'
import { decodeTransaction } from '../transaction/wire.ts'

export type Amounts = ByToken<bigint>

const unitLimit = 400_000

export function createFaucet(bank: Bank, key: Keypair) {
  let serial = 0

  function send(calls: readonly Call[]): { readonly signature: string; readonly failure: Failure | undefined } {
    const open = bank.sync()
    // Two equal payments in one slot would be the same transaction. A different compute limit, far above the need,
    // distinguishes them.
    serial = (serial + 1) % 1_000_000
    const wire = buildTransaction(key, [computeUnitLimit(unitLimit + serial), ...calls], bank.latestBlockhash(open))
    const decoded = decodeTransaction(wire)
    if (decoded.kind !== 'ok') throw new Error(`the faucet created an unreadable transaction: ${decoded.reason}`)
    const result = bank.submit(decoded.value)
    if (result.kind === 'rejected') throw new FaucetError(`the faucet cannot pay: ${describeFailure(result.failure)}`)
    return { signature: result.record.signature, failure: result.record.failure }
  }

  return {
    address: key.address,
    /** Sends lamports and returns at once, like a cluster's faucet. The transaction can still fail. */
    airdrop: (address: string, lamports: bigint) => send([transferSol(key.address, address, lamports)]).signature,
    /** Pays, and creates missing token accounts. Throws if the chain refuses. */
    pay(address: string, amounts: Amounts) {
      const calls = listTokens(localnetMints).flatMap((token) =>
        createCalls(key.address, address, token, amounts[token]),
      )
      if (calls.length === 0) throw new FaucetError('nothing to pay')
      const { signature, failure } = send(calls)
      if (failure !== undefined) throw new FaucetError(`the faucet's payment failed: ${describeFailure(failure)}`)
      return signature
    },
  }
}

export type Faucet = ReturnType<typeof createFaucet>

function createCalls(faucet: string, address: string, token: TokenCode, units: bigint | undefined): readonly Call[] {
  if (units === undefined) return []
  if (token === 'SOL') return units === 0n ? [] : [transferSol(faucet, address, units)]
  const mint = localnetMints[token]
  if (!mint) return []
  const account = associatedTokenAddress(address, mint.address, mint.tokenProgram)
  const create = createTokenAccount(faucet, account, address, mint.address, mint.tokenProgram)
  return units === 0n ? [create] : [create, mintTokens(mint.address, account, faucet, units, mint.tokenProgram)]
}

export class FaucetError extends PaystileError {
  override readonly name = 'FaucetError'
  constructor(message: string, options?: ErrorOptions) {
    super('faucet_failed', message, options)
  }
}
