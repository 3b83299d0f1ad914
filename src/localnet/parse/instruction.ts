/** Instructions in the format `jsonParsed`: their meaning if the program is known, otherwise their raw parts. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { memoPrograms, programs } from '../accounts/addresses.ts'
import type { Role } from '../transaction/roles.ts'
import type { Instruction } from '../transaction/wire.ts'
import { type Cursor, cursorOver, decodeText, Unparsable } from './cursor.ts'
import { parseLookupTable, parseSystem } from './system.ts'
import { parseAssociatedToken, parseToken } from './token-instruction.ts'

type Parse = (cursor: Cursor, accounts: readonly string[]) => unknown

const parsers = new Map<string, readonly [name: string, parse: Parse]>([
  [programs.system, ['system', parseSystem]],
  [programs.token, ['spl-token', parseToken]],
  [programs.token2022, ['spl-token', parseToken]],
  [programs.associatedToken, ['spl-associated-token-account', parseAssociatedToken]],
  [programs.lookupTable, ['address-lookup-table', parseLookupTable]],
  ...[...memoPrograms].map((address) => [address, ['spl-memo', parseMemo]] as const),
])

function parseMemo(cursor: Cursor): string {
  return decodeText(cursor.bytes(cursor.left()))
}

export function parseInstruction(instruction: Instruction, roles: readonly Role[], stackHeight: number): unknown {
  const accounts = instruction.accounts.map((index) => roles[index]?.address ?? '')
  const programId = roles[instruction.program]?.address ?? ''
  const found = parsers.get(programId)
  try {
    if (!found) throw new Unparsable()
    return { parsed: found[1](cursorOver(instruction.data), accounts), program: found[0], programId, stackHeight }
  } catch (error) {
    if (!(error instanceof Unparsable)) throw error
    return { accounts, data: encodeBase58(instruction.data), programId, stackHeight }
  }
}
