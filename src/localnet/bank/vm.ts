/**
 * The virtual machine: litesvm, used only to simulate transactions.
 *
 * The bank applies their changes itself, so the VM never holds a state that the bank did not choose. litesvm ends the
 * process on an account that it cannot store; this use avoids that case.
 */
import { createHash } from 'node:crypto'
import type * as Litesvm from 'litesvm/dist/internal.js'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { type Account, decodeKey, exemptForGood } from '../accounts/account.ts'
import type { Change } from '../accounts/accounts.ts'
import { programs, sysvars } from '../accounts/addresses.ts'
import { loadLitesvm } from '../store/binaries.ts'
import { readMemoV3 } from '../store/memo-program.ts'
import { type Failure, instructionFailureName, transactionFailureName } from '../transaction/failure.ts'

export interface InnerInstruction {
  readonly program: number
  readonly accounts: readonly number[]
  readonly data: Uint8Array
  readonly stackHeight: number
}

export interface Execution {
  readonly failure: Failure | undefined
  readonly logs: readonly string[]
  /** One list per top-level instruction. Empty if it called nothing. */
  readonly inner: readonly (readonly InnerInstruction[])[]
  readonly units: bigint
  readonly returnData: { readonly program: string; readonly data: Uint8Array } | undefined
  /** The writable accounts after the transaction. Empty if it failed. */
  readonly changes: readonly Change[]
}

export interface Vm {
  /** The programs and system accounts with which the VM starts. */
  readonly genesis: readonly (readonly [string, Account])[]
  /** The number that identifies the set of active features. */
  readonly featureSet: number
  rentExemption(bytes: number): bigint
  put(changes: Iterable<Change>): void
  /** Loads a program and returns its accounts. Throws if the bytes are not a program. */
  load(address: string, elf: Uint8Array): readonly Change[]
  /** The caller must have decoded these bytes, because malformed ones would end the process. */
  execute(transaction: Uint8Array): Execution
}

const genesisOwners = [
  programs.nativeLoader,
  programs.loaderV1,
  programs.loaderV2,
  programs.loaderUpgradeable,
  sysvars.owner,
  'Config1111111111111111111111111111111111111',
  'Feature111111111111111111111111111111111111',
]

export async function createVm(): Promise<Vm> {
  const native = await loadLitesvm()
  const svm = new native.LiteSvm()
  svm.setSigverify(false)
  svm.setBlockhashCheck(false)
  svm.setTransactionHistory(0n)
  svm.withNativeMints()
  // The VM has the code of Memo v4 at the address of v3. The clusters run v3 there, which needs far more compute units.
  const memoV4 = svm.getAccount(decodeKey(programs.memoV3))?.data() ?? new Uint8Array()
  svm.addProgramWithLoader(decodeKey(programs.memoV3), readMemoV3(), decodeKey(programs.loaderV2))
  svm.addProgram(decodeKey(programs.memoV4), memoV4)
  svm.setEpochSchedule(new native.EpochSchedule(432_000n, 432_000n, false, 0n, 0n))
  const nothing = new native.Account(0n, new Uint8Array(), decodeKey(programs.system), false, 0n)
  // The VM's own faucet would be unaccounted money.
  for (const { address } of svm.getProgramAccounts(decodeKey(programs.system))) svm.setAccount(address, nothing)

  function toNative({ lamports, data, owner, executable, rentEpoch }: Account): Litesvm.Account {
    return new native.Account(lamports, data, decodeKey(owner), executable, rentEpoch)
  }

  return {
    genesis: [...genesisOwners, programs.token, programs.token2022].flatMap((owner) =>
      svm
        .getProgramAccounts(decodeKey(owner))
        .map((entry) => [encodeBase58(entry.address), fromNative(entry.account())] as const),
    ),
    featureSet: createFeatureSet(native.FeatureSet.allEnabled()),
    rentExemption: (bytes) => svm.minimumBalanceForRentExemption(BigInt(bytes)),
    put(changes) {
      for (const [address, account] of programDataFirst(changes)) {
        const key = decodeKey(address)
        if (!account) {
          svm.setAccount(key, nothing)
          continue
        }
        try {
          svm.setAccount(key, toNative(account))
        } catch (error) {
          // A program without its code stays executable on chain but cannot run, and the VM refuses it.
          if (!account.executable) throw error
          svm.setAccount(key, toNative({ ...account, executable: false }))
        }
      }
    },
    load(address, elf) {
      svm.addProgram(decodeKey(address), elf)
      const read = (of: string) => [of, fromNative(svm.getAccount(decodeKey(of)) as Litesvm.Account)] as const
      const program = read(address)
      const code = findCodeAddress(program[1])
      return code === undefined ? [program] : [read(code), program]
    },
    execute: (transaction) => readExecution(native, svm.simulateVersionedTransaction(transaction)),
  }
}

type Native = typeof Litesvm

function readExecution(
  native: Native,
  result: Litesvm.SimulatedTransactionInfo | Litesvm.FailedTransactionMetadata,
): Execution {
  const failed = result instanceof native.FailedTransactionMetadata
  const meta = result.meta()
  const returned = meta.returnData()
  const data = returned.data()
  return {
    failure: failed ? readFailure(native, result.err()) : undefined,
    logs: meta.logs(),
    inner: meta.innerInstructions().map((calls) =>
      calls.map((call) => {
        const instruction = call.instruction()
        return {
          program: instruction.programIdIndex(),
          accounts: [...instruction.accounts()],
          data: instruction.data(),
          stackHeight: call.stackHeight(),
        }
      }),
    ),
    units: meta.computeUnitsConsumed(),
    returnData: data.length === 0 ? undefined : { program: encodeBase58(returned.programId()), data },
    changes: failed
      ? []
      : result.postAccounts().map((entry) => {
          const account = fromNative(entry.account())
          const kept = account.lamports === 0n ? undefined : { ...account, rentEpoch: exemptForGood }
          return [encodeBase58(entry.address), kept] as const
        }),
  }
}

function fromNative(account: Litesvm.Account): Account {
  return {
    lamports: account.lamports(),
    data: account.data(),
    owner: encodeBase58(account.owner()),
    executable: account.executable(),
    rentEpoch: account.rentEpoch(),
  }
}

function readFailure(native: Native, error: ReturnType<Litesvm.FailedTransactionMetadata['err']>): Failure {
  if (typeof error === 'number') return transactionFailureName(error)
  if (error instanceof native.TransactionErrorInstructionError) {
    const inner = error.err()
    if (typeof inner === 'number') return { InstructionError: [error.index, instructionFailureName(inner)] }
    if (inner instanceof native.InstructionErrorCustom)
      return { InstructionError: [error.index, { Custom: inner.code }] }
    return { InstructionError: [error.index, 'BorshIoError'] }
  }
  if (error instanceof native.TransactionErrorDuplicateInstruction) return { DuplicateInstruction: error.index }
  if (error instanceof native.TransactionErrorInsufficientFundsForRent)
    return { InsufficientFundsForRent: { account_index: error.accountIndex } }
  return { ProgramExecutionTemporarilyRestricted: { account_index: error.accountIndex } }
}

/** The address of an upgradeable program's code: a second account, named by the first. */
export function findCodeAddress({ owner, data }: Account): string | undefined {
  if (owner !== programs.loaderUpgradeable || data.length !== 36 || data[0] !== 2) return undefined
  return encodeBase58(data.subarray(4))
}

/** An upgradeable program is loaded from a second account, so that account must be stored first. */
function programDataFirst(changes: Iterable<Change>): readonly Change[] {
  return [...changes].sort(
    (left, right) => Number(left[1]?.executable ?? false) - Number(right[1]?.executable ?? false),
  )
}

/** Computed like a validator: the first four bytes of the hash over all feature addresses in order. */
function createFeatureSet(features: Litesvm.FeatureSet): number {
  const ids = features.getActiveFeatures().sort(Buffer.compare)
  return createHash('sha256').update(Buffer.concat(ids)).digest().readUInt32LE(0)
}
