/**
 * Explains why a batch would fail, in one sentence for the person who can fix it.
 *
 * The sentence names only the sender, because it is stored and receivers must not be. A transfer is blamed only if its
 * destination account is at fault: a wallet without money would also fail at some transfer.
 */

import { isFields } from '../../core/encoding/fields.ts'
import { formatUnits } from '../../core/money/money.ts'
import { solDecimals } from '../../core/money/tokens.ts'
import type { AccountState, Signing, TransferOrder } from '../../core/payouts/outgoing-wallet.ts'
import { absent, type ChainAccount, readAccounts } from '../accounts/account.ts'
import { readState } from '../accounts/destinations.ts'
import { describeError, readCount } from '../rpc/json.ts'
import type { Call } from '../rpc/rpc.ts'
import type { TransferBatch } from './transfer-batch.ts'

type Impossible = Extract<Signing, { kind: 'impossible' }>

export interface Failure {
  readonly order: TransferOrder
  readonly batch: TransferBatch
  readonly wallet: string
  /** The node's error. */
  readonly error: unknown
  /** The accounts of the transaction, in its order. */
  readonly keys: readonly string[]
}

export async function explainFailure(call: Call, failure: Failure): Promise<Impossible> {
  const { order, batch, wallet, error, keys } = failure
  if (error === 'AccountNotFound' || error === 'InsufficientFundsForFee')
    return impossible(`${wallet} has too little SOL for the fee; send it more`)
  if (error === 'InvalidAccountForFee') return impossible(`${wallet} is not a plain wallet and cannot pay fees`)
  const position = positionIn(error)
  if (position !== undefined)
    return (await blame(call, failure, batch.transferOf[position])) ?? unclear(failure, position)
  const poor = rentIn(error)
  if (poor === undefined) return impossible(`it would fail (${describeError(error)})`)
  const transfer = order.transfers.findIndex(({ owner }) => owner === keys[poor])
  if (poor > 0 && !order.mint && transfer >= 0)
    return impossible(`${nameTransfer(failure, transfer)} is too small to open an empty wallet`, transfer)
  return impossible(`${wallet} would keep less SOL than an account must hold; send it more`)
}

/** Checks the accounts involved. Undefined if they are fine. */
async function blame(call: Call, failure: Failure, transfer: number | undefined): Promise<Impossible | undefined> {
  const { order, batch, wallet } = failure
  const { mint, transfers } = order
  const needed = transfers.reduce((sum, { units }) => sum + units, 0n)
  const accounts = await readAccounts(call, [wallet, batch.source, batch.destinations[transfer ?? -1] ?? wallet])
  const [own = absent, source = absent, destination = absent] = accounts ?? []
  if (!accounts) return undefined
  if (!mint) return own.lamports < needed ? short(wallet, own.lamports, needed, solDecimals, 'SOL') : undefined
  const wanted = transfer === undefined ? undefined : transfers[transfer]
  if (wanted && transfer !== undefined) {
    const state = readState(destination, wanted.owner, mint)
    const fault = state === 'missing' && wanted.opens ? undefined : faults[state]
    if (fault !== undefined) return impossible(`${nameTransfer(failure, transfer)} cannot be made: ${fault}`, transfer)
  }
  const state = readState(source, wallet, mint)
  if (state === 'missing') return impossible(`${wallet} holds none of the token; send it some`)
  if (state === 'frozen') return impossible(`the issuer of the token has frozen the token account of ${wallet}`)
  const held = unitsIn(source)
  if (held < needed) return short(wallet, held, needed, mint.decimals, 'of the token')
  return wanted?.opens && isCustom(failure.error, 1)
    ? impossible(`${wallet} has too little SOL to open the accounts; send it more`)
    : undefined
}

const faults: Readonly<Record<AccountState, string | undefined>> = {
  ready: undefined,
  missing: 'the payee has no token account',
  frozen: 'the issuer of the token has frozen the token account',
  unusable: 'the token account does not accept plain transfers',
}

function unclear(failure: Failure, position: number): Impossible {
  const transfer = failure.batch.transferOf[position]
  const what = transfer === undefined ? 'it' : nameTransfer(failure, transfer)
  return impossible(`${what} would fail (${describeError(failure.error)})`)
}

/** Counted from 1 for human readers. */
function nameTransfer({ order }: Failure, transfer: number): string {
  return order.transfers.length === 1 ? 'the transfer' : `transfer ${transfer + 1} of ${order.transfers.length}`
}

function short(wallet: string, held: bigint, needed: bigint, decimals: number, what: string): Impossible {
  return impossible(
    `${wallet} holds ${formatUnits(held, decimals)} ${what} and needs ${formatUnits(needed, decimals)}; send it more`,
  )
}

function impossible(why: string, transfer?: number): Impossible {
  return { kind: 'impossible', why, ...(transfer !== undefined && { transfer }) }
}

function positionIn(error: unknown): number | undefined {
  const parts = isFields(error) ? error['InstructionError'] : undefined
  return Array.isArray(parts) ? readCount(parts[0]) : undefined
}

function isCustom(error: unknown, code: number): boolean {
  const parts = isFields(error) ? error['InstructionError'] : undefined
  const detail: unknown = Array.isArray(parts) ? parts[1] : undefined
  return isFields(detail) && detail['Custom'] === code
}

function rentIn(error: unknown): number | undefined {
  const detail = isFields(error) ? error['InsufficientFundsForRent'] : undefined
  return isFields(detail) ? readCount(detail['account_index']) : undefined
}

const unitsOffset = 64

function unitsIn({ data }: ChainAccount): bigint {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getBigUint64(unitsOffset, true)
}
