/** The compute budget of a transaction, and the resulting fee. */
import { builtins, programs } from '../accounts/addresses.ts'
import type { Failure } from '../transaction/failure.ts'
import type { Instruction, Message } from '../transaction/wire.ts'
import { lamportsPerSignature } from './sysvars.ts'

export interface Budget {
  readonly unitLimit: number
  readonly priorityFee: bigint
  /** Micro-lamports per compute unit, for comparison with other transactions. */
  readonly unitPrice: bigint
  /** The maximum account data that the transaction may load, in bytes. */
  readonly sizeLimit: number
}

const maxUnits = 1_400_000
const unitsPerInstruction = 200_000
const unitsPerBuiltin = 3_000
const maxLoadedBytes = 64 * 1024 * 1024

const signaturePrograms: ReadonlySet<string> = new Set([programs.ed25519, programs.secp256k1, programs.secp256r1])

export function signatureFee(message: Message): bigint {
  let count = message.signers
  for (const { program, data } of message.instructions) {
    if (signaturePrograms.has(message.keys[program] ?? '')) count += data[0] ?? 0
  }
  return BigInt(count) * lamportsPerSignature
}

/** Reads the budget, or the problem with it. A transaction with an invalid budget never lands. */
export function readBudget(message: Message): Budget | { readonly failure: Failure } {
  if (message.config) return readConfig(message.config)
  return readInstructions(message)
}

function readConfig(config: NonNullable<Message['config']>): Budget {
  const unitLimit = Math.min(config.computeUnitLimit ?? 0, maxUnits)
  const priorityFee = config.priorityFeeLamports ?? 0n
  const unitPrice = unitLimit === 0 ? 0n : (priorityFee * 1_000_000n) / BigInt(unitLimit)
  const sizeLimit = Math.min(config.loadedAccountsDataSizeLimit ?? 0, maxLoadedBytes)
  return { unitLimit, priorityFee, unitPrice, sizeLimit }
}

type Request = { readonly kind: 'heap' | 'limit' | 'price' | 'size'; readonly value: bigint }

function readInstructions(message: Message): Budget | { readonly failure: Failure } {
  const requests = new Map<Request['kind'], bigint>()
  let defaultLimit = 0
  let badHeap: number | undefined
  for (const [index, instruction] of message.instructions.entries()) {
    const program = message.keys[instruction.program] ?? ''
    defaultLimit += builtins.has(program) ? unitsPerBuiltin : unitsPerInstruction
    if (program !== programs.computeBudget) continue
    const request = readRequest(instruction)
    if (!request) return { failure: { InstructionError: [index, 'InvalidInstructionData'] } }
    if (requests.has(request.kind)) return { failure: { DuplicateInstruction: index } }
    requests.set(request.kind, request.value)
    if (request.kind === 'heap' && !isHeapSize(request.value)) badHeap = index
  }
  if (badHeap !== undefined) return { failure: { InstructionError: [badHeap, 'InvalidInstructionData'] } }
  if (requests.get('size') === 0n) return { failure: 'InvalidLoadedAccountsDataSizeLimit' }
  const unitLimit = Math.min(Number(requests.get('limit') ?? defaultLimit), maxUnits)
  const unitPrice = requests.get('price') ?? 0n
  const priorityFee = (unitPrice * BigInt(unitLimit) + 999_999n) / 1_000_000n
  const sizeLimit = Math.min(Number(requests.get('size') ?? maxLoadedBytes), maxLoadedBytes)
  return { unitLimit, unitPrice, priorityFee, sizeLimit }
}

function readRequest({ data }: Instruction): Request | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const kind = ([undefined, 'heap', 'limit', 'price', 'size'] as const)[data[0] ?? 0]
  if (!kind || data.length < (kind === 'price' ? 9 : 5)) return undefined
  return { kind, value: kind === 'price' ? view.getBigUint64(1, true) : BigInt(view.getUint32(1, true)) }
}

function isHeapSize(bytes: bigint): boolean {
  return bytes >= 32_768n && bytes <= 262_144n && bytes % 1024n === 0n
}
