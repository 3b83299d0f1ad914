/**
 * Evaluates a transaction at a given slot: the checks of a validator, the run, and the effects of a failed run (the fee
 * is paid, a nonce is used up, nothing else).
 *
 * This module does not change the chain. The caller decides whether the outcome becomes part of it.
 */
import { type Account, decodeKey } from '../accounts/account.ts'
import type { Change } from '../accounts/accounts.ts'
import { programs, sysvars } from '../accounts/addresses.ts'
import type { Failure } from '../transaction/failure.ts'
import { loadAddresses } from '../transaction/lookup-table.ts'
import { type LoadedAddresses, listRoles, type Role } from '../transaction/roles.ts'
import type { Message, Transaction } from '../transaction/wire.ts'
import { type Budget, readBudget, signatureFee } from './fees.ts'
import { advanceNonce, deriveNonce, findNonceAddress, nonceAdmits, nonceBytes, readNonce } from './nonce.ts'
import { type Execution, findCodeAddress, type Vm } from './vm.ts'

export interface Outcome {
  readonly kind: 'processed'
  readonly failure: Failure | undefined
  readonly fee: bigint
  readonly budget: Budget
  readonly roles: readonly Role[]
  readonly loaded: LoadedAddresses
  /** Bytes of account data loaded for it. */
  readonly loadedBytes: number
  readonly execution: Execution
  /** The changes of the transaction, whether it failed or not. */
  readonly changes: readonly Change[]
}

/** It never becomes part of the chain, and costs nothing. */
export interface Rejection {
  readonly kind: 'rejected'
  readonly failure: Failure
  readonly roles: readonly Role[]
  readonly loaded: LoadedAddresses
  readonly fee: bigint | undefined
}

export interface Surroundings {
  readonly vm: Vm
  readonly slot: number
  get(address: string): Account | undefined
  /** The hash of the latest closed slot, to which nonces advance. */
  readonly lastBlockhash: string
  isRecentBlockhash(blockhash: string): boolean
  isRecentSlot(slot: bigint): boolean
  wasProcessed(message: Message): boolean
  /** A simulation can skip the check of the blockhash's age. */
  readonly anyAge: boolean
}

const maxLocks = 64
const noRoles = { roles: [], loaded: { writable: [], readonly: [] }, fee: undefined } as const

/** Resolves addresses and locks, which are checked before signatures. */
export function resolve(
  message: Message,
  surroundings: Surroundings,
): { roles: readonly Role[]; loaded: LoadedAddresses } | Rejection {
  const loaded = loadAddresses(message.lookups, {
    slot: surroundings.slot,
    get: surroundings.get,
    isRecent: surroundings.isRecentSlot,
  })
  if (typeof loaded === 'string') return { kind: 'rejected', failure: loaded, ...noRoles }
  const roles = listRoles(message, loaded)
  const locks = roles.length
  if (new Set(roles.map(({ address }) => address)).size !== locks)
    return { kind: 'rejected', failure: 'AccountLoadedTwice', roles, loaded, fee: undefined }
  if (locks > maxLocks) return { kind: 'rejected', failure: 'TooManyAccountLocks', roles, loaded, fee: undefined }
  return { roles, loaded }
}

export function evaluate(transaction: Transaction, surroundings: Surroundings): Outcome | Rejection {
  const { message } = transaction
  const resolved = resolve(message, surroundings)
  if ('kind' in resolved) return resolved
  const reject = (failure: Failure, fee?: bigint): Rejection => ({ kind: 'rejected', failure, ...resolved, fee })

  const nonce = admittedNonce(message, resolved.roles, surroundings)
  if (!nonce && !surroundings.anyAge && !surroundings.isRecentBlockhash(message.blockhash))
    return reject('BlockhashNotFound')
  const budget = readBudget(message)
  if ('failure' in budget) return reject(budget.failure)
  if (surroundings.wasProcessed(message)) return reject('AlreadyProcessed')
  const fee = signatureFee(message) + budget.priorityFee
  const payer = message.keys[0] as string
  const refused = refusePayer(surroundings.get(payer), fee, surroundings.vm)
  if (refused) return reject(refused, fee)

  const loadedBytes = countLoadedBytes(message, resolved.roles, surroundings)
  const execution = run(transaction, surroundings, resolved.roles, loadedBytes > budget.sizeLimit)
  if (execution.failure !== undefined && !landsWhenFailed(execution.failure)) return reject(execution.failure, fee)
  const changes = execution.failure === undefined ? execution.changes : leftovers(payer, fee, nonce, surroundings)
  return { kind: 'processed', failure: execution.failure, fee, budget, ...resolved, loadedBytes, execution, changes }
}

export interface NonceUse {
  readonly address: string
  readonly next: string
}

export function admittedNonce(
  message: Message,
  roles: readonly Role[],
  surroundings: Surroundings,
): NonceUse | undefined {
  // Blockhashes are checked first, because an ordinary transaction can advance a nonce without relying on it.
  if (surroundings.isRecentBlockhash(message.blockhash)) return undefined
  const address = findNonceAddress(message, roles)
  if (address === undefined) return undefined
  const next = deriveNonce(surroundings.lastBlockhash)
  return nonceAdmits(message, roles, readNonce(surroundings.get(address)), next) ? { address, next } : undefined
}

function refusePayer(payer: Account | undefined, fee: bigint, vm: Vm): Failure | undefined {
  if (!payer || payer.lamports === 0n) return 'AccountNotFound'
  if (payer.owner !== programs.system) return 'InvalidAccountForFee'
  const nonce = readNonce(payer) !== undefined
  if (payer.data.length > 0 && !nonce) return 'InvalidAccountForFee'
  const kept = nonce ? vm.rentExemption(nonceBytes) : 0n
  if (payer.lamports < kept + fee) return 'InsufficientFundsForFee'
  const exemption = vm.rentExemption(payer.data.length)
  const rest = payer.lamports - fee
  if (rest > 0n && rest < exemption && payer.lamports >= exemption)
    return { InsufficientFundsForRent: { account_index: 0 } }
  return undefined
}

function run(
  transaction: Transaction,
  surroundings: Surroundings,
  roles: readonly Role[],
  tooLarge: boolean,
): Execution {
  if (tooLarge) return notRun('MaxLoadedAccountsDataSizeExceeded')
  for (const { program } of transaction.message.instructions) {
    const address = roles[program]?.address ?? ''
    if (!surroundings.get(address) && address !== programs.nativeLoader) return notRun('ProgramAccountNotFound')
  }
  return surroundings.vm.execute(withBlockhash(transaction, surroundings.lastBlockhash))
}

const accountOverheadBytes = 64
const lookupTableBytes = 8248

/**
 * Counts like a validator (SIMD-0186): every account with an overhead, the code of upgradeable programs, and the lookup
 * tables.
 */
function countLoadedBytes(message: Message, roles: readonly Role[], surroundings: Surroundings): number {
  const named = new Set(roles.map(({ address }) => address))
  let total = message.lookups.length * lookupTableBytes
  for (const address of named) {
    const account = surroundings.get(address)
    if (!account || address === sysvars.instructions) continue
    total += accountOverheadBytes + account.data.length
    const code = findCodeAddress(account)
    if (code === undefined || named.has(code)) continue
    named.add(code)
  }
  return total
}

function notRun(failure: Failure): Execution {
  return { failure, logs: [], inner: [], units: 0n, returnData: undefined, changes: [] }
}

/**
 * The VM uses the message's blockhash as that of the latest slot, to which nonces advance. The signatures were already
 * verified over the original bytes.
 */
function withBlockhash({ bytes, message }: Transaction, blockhash: string): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy.set(decodeKey(blockhash), message.bytes.byteOffset - bytes.byteOffset + message.blockhashOffset)
  return copy
}

/** Failures during loading or execution are recorded, and the fee is charged. Earlier failures leave no trace. */
function landsWhenFailed(failure: Failure): boolean {
  if (typeof failure === 'object') return !('DuplicateInstruction' in failure)
  return landing.has(failure)
}

const landing: ReadonlySet<string> = new Set([
  'ProgramAccountNotFound',
  'InvalidProgramForExecution',
  'MaxLoadedAccountsDataSizeExceeded',
  'UnbalancedTransaction',
  'InvalidRentPayingAccount',
  'ProgramCacheHitMaxLimit',
])

function leftovers(
  payer: string,
  fee: bigint,
  nonce: NonceUse | undefined,
  surroundings: Surroundings,
): readonly Change[] {
  const after = new Map<string, Account>()
  const stored = nonce && surroundings.get(nonce.address)
  if (nonce && stored) after.set(nonce.address, advanceNonce(stored, nonce.next))
  const account = after.get(payer) ?? surroundings.get(payer)
  if (!account) return [...after]
  const lamports = account.lamports - fee
  return [...after, [payer, lamports === 0n ? undefined : { ...account, lamports }]]
}
