/** Instructions in the form `jsonParsed`: what they mean where the program is known, their parts where it is not. */
import { encodeBase58 } from '../../core/base58.ts'
import type { Role } from '../roles.ts'
import type { Instruction } from '../wire.ts'

export function parseInstruction(instruction: Instruction, roles: readonly Role[], stackHeight: number): unknown {
  const accounts = instruction.accounts.map((index) => roles[index]?.address ?? '')
  const programId = roles[instruction.program]?.address ?? ''
  return { accounts, data: encodeBase58(instruction.data), programId, stackHeight }
}
