/** Formats transactions for RPC responses: the message and its outcome. */
import { encodeBase58 } from '../../../core/encoding/base58.ts'
import type { TransactionRecord } from '../../bank/history.ts'
import type { InnerInstruction } from '../../bank/vm.ts'
import { parseInstruction } from '../../parse/instruction.ts'
import { listRoles, type Role } from '../../transaction/roles.ts'
import { type TokenBalance, uiAmount } from '../../transaction/token-balances.ts'
import { decodeTransaction, type Message, type Transaction } from '../../transaction/wire.ts'
import { unsupportedVersion } from '../wire/errors.ts'
import { type Config, readChoice, readOptionalInteger } from '../wire/params.ts'

export type TransactionEncoding = 'json' | 'jsonParsed' | 'base58' | 'base64' | 'binary'

export interface TransactionFormat {
  readonly encoding: TransactionEncoding
  readonly maxVersion: number | undefined
}

export function readTransactionFormat(config: Config): TransactionFormat {
  const encodings = ['binary', 'base64', 'base58', 'json', 'jsonParsed'] as const
  return {
    encoding: readChoice<TransactionEncoding>(config['encoding'], encodings, 'json'),
    maxVersion: readOptionalInteger(config, 'maxSupportedTransactionVersion'),
  }
}

/** Stored transactions have been decoded before, so this cannot fail. */
export function openTransaction({ wire }: TransactionRecord): Transaction {
  const decoded = decodeTransaction(wire)
  if (decoded.kind !== 'ok') throw new Error(`a stored transaction cannot be read: ${decoded.reason}`)
  return decoded.value
}

/** Transaction, meta and version. A version that the client did not request is an error. */
export function formatTransaction(
  record: TransactionRecord,
  format: TransactionFormat,
  showRewards = true,
): Record<string, unknown> {
  const transaction = openTransaction(record)
  const { version } = transaction.message
  if (version !== 'legacy' && (format.maxVersion === undefined || version > format.maxVersion))
    throw unsupportedVersion(version)
  const roles = listRoles(transaction.message, record.loaded)
  return {
    transaction: formatWire(transaction, roles, format.encoding),
    meta: formatMeta(record, roles, format.encoding, showRewards),
    ...(format.maxVersion === undefined ? {} : { version }),
  }
}

function formatWire(transaction: Transaction, roles: readonly Role[], encoding: TransactionEncoding): unknown {
  if (encoding === 'base64') return [Buffer.from(transaction.bytes).toString('base64'), 'base64']
  if (encoding === 'base58') return [encodeBase58(transaction.bytes), 'base58']
  if (encoding === 'binary') return encodeBase58(transaction.bytes)
  return {
    signatures: transaction.signatures.map(encodeBase58),
    message: encoding === 'json' ? formatMessage(transaction.message) : formatParsedMessage(transaction.message, roles),
  }
}

function formatMessage(message: Message): unknown {
  return {
    header: {
      numRequiredSignatures: message.signers,
      numReadonlySignedAccounts: message.readonlySigners,
      numReadonlyUnsignedAccounts: message.readonlyOthers,
    },
    accountKeys: message.keys,
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map(({ program, accounts, data }) => ({
      programIdIndex: program,
      accounts,
      data: encodeBase58(data),
      stackHeight: 1,
    })),
    ...formatExtras(message),
  }
}

/** Fields of single versions: lookup tables in v0, the resource configuration in v1. */
function formatExtras(message: Message): Record<string, unknown> {
  if (message.version === 0) {
    return {
      addressTableLookups: message.lookups.map(({ table, writable, readonly }) => ({
        accountKey: table,
        writableIndexes: writable,
        readonlyIndexes: readonly,
      })),
    }
  }
  if (!message.config) return {}
  const { priorityFeeLamports, computeUnitLimit, loadedAccountsDataSizeLimit, heapSize } = message.config
  return {
    transactionConfig: {
      priorityFee: priorityFeeLamports ?? null,
      computeUnitLimit: computeUnitLimit ?? null,
      loadedAccountsDataSizeLimit: loadedAccountsDataSizeLimit ?? null,
      heapSize: heapSize ?? null,
    },
  }
}

export function formatRoles(roles: readonly Role[]): unknown {
  return roles.map(({ address, signer, writable, source }) => ({ pubkey: address, signer, source, writable }))
}

function formatParsedMessage(message: Message, roles: readonly Role[]): unknown {
  return {
    accountKeys: formatRoles(roles),
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map((instruction) => parseInstruction(instruction, roles, 1)),
    ...formatExtras(message),
  }
}

/** The leading fields in every report on a transaction. */
export function formatOutcome({ failure, fee, preBalances, postBalances }: TransactionRecord) {
  const status = failure === undefined ? { Ok: null } : { Err: failure }
  return { err: failure ?? null, status, fee, preBalances, postBalances }
}

function formatMeta(
  record: TransactionRecord,
  roles: readonly Role[],
  encoding: TransactionEncoding,
  showRewards: boolean,
): unknown {
  const { returnData } = record
  const parsed = encoding === 'jsonParsed'
  return {
    ...formatOutcome(record),
    innerInstructions: formatInner(record.inner, roles, parsed),
    logMessages: record.logs,
    preTokenBalances: formatTokenBalances(record.preTokenBalances),
    postTokenBalances: formatTokenBalances(record.postTokenBalances),
    // The node earns rewards at the end of a slot, never through a transaction.
    ...(showRewards ? { rewards: [] } : {}),
    ...(parsed ? {} : { loadedAddresses: record.loaded }),
    ...(returnData ? { returnData: formatReturnData(returnData) } : {}),
    computeUnitsConsumed: record.units,
  }
}

export function formatInner(
  inner: readonly (readonly InnerInstruction[])[],
  roles: readonly Role[],
  parsed: boolean,
): readonly unknown[] {
  return inner.flatMap((calls, index) => {
    if (calls.length === 0) return []
    const instructions = calls.map((call) =>
      parsed
        ? parseInstruction(call, roles, call.stackHeight)
        : {
            programIdIndex: call.program,
            accounts: call.accounts,
            data: encodeBase58(call.data),
            stackHeight: call.stackHeight,
          },
    )
    return [{ index, instructions }]
  })
}

export function formatReturnData({ program, data }: NonNullable<TransactionRecord['returnData']>): unknown {
  return { programId: program, data: [Buffer.from(data).toString('base64'), 'base64'] }
}

export function formatTokenBalances(balances: readonly TokenBalance[]): readonly unknown[] {
  return balances.map(({ accountIndex, mint, owner, programId, amount, decimals }) => ({
    accountIndex,
    mint,
    uiTokenAmount: uiAmount(amount, decimals),
    owner,
    programId,
  }))
}
