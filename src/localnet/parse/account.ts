/** Account data in the format `jsonParsed`, for the well-known programs. */
import type { Account } from '../accounts/account.ts'
import { programs, sysvars } from '../accounts/addresses.ts'
import { nonceBytes, readNonce } from '../bank/nonce.ts'
import { readLookupTable } from '../transaction/lookup-table.ts'
import { cursorOver, Unparsable } from './cursor.ts'
import { parseSysvar } from './sysvar.ts'
import { type Lookup, parseTokenAccount } from './token-account.ts'

export type ParseAccount = (address: string, account: Account) => unknown

/** Creates a parser that can look up other accounts (a token account needs its mint) and the time in the same slot. */
export function accountParser(get: Lookup, nowMs: number): ParseAccount {
  return (address, account) => {
    try {
      const [program, parsed] = parse(address, account, get, nowMs)
      return parsed === undefined ? undefined : { parsed, program, space: account.data.length }
    } catch (error) {
      if (error instanceof Unparsable) return undefined
      throw error
    }
  }
}

function parse(address: string, account: Account, get: Lookup, nowMs: number): readonly [string, unknown] {
  switch (account.owner) {
    case programs.token:
      return ['spl-token', parseTokenAccount(account, get, nowMs)]
    case programs.token2022:
      return ['spl-token-2022', parseTokenAccount(account, get, nowMs)]
    case programs.system:
      return ['nonce', parseNonce(account)]
    case programs.lookupTable:
      return ['address-lookup-table', parseLookupTable(account)]
    case programs.loaderUpgradeable:
      return ['bpf-upgradeable-loader', parseLoader(account)]
    case sysvars.owner:
      return ['sysvar', parseSysvar(address, account.data)]
    default:
      return ['', undefined]
  }
}

function parseNonce(account: Account): unknown {
  if (account.data.length !== nonceBytes) return undefined
  const state = readNonce(account)
  if (!state) return { type: 'uninitialized' }
  return {
    info: {
      authority: state.authority,
      blockhash: state.nonce,
      feeCalculator: { lamportsPerSignature: state.lamportsPerSignature.toString() },
    },
    type: 'initialized',
  }
}

function parseLookupTable(account: Account): unknown {
  const table = readLookupTable(account.data)
  if (!table) return undefined
  return {
    info: {
      addresses: table.addresses,
      ...(table.authority === undefined ? {} : { authority: table.authority }),
      deactivationSlot: table.deactivationSlot.toString(),
      lastExtendedSlot: table.lastExtendedSlot.toString(),
      lastExtendedSlotStartIndex: table.lastExtendedStartIndex,
    },
    type: 'lookupTable',
  }
}

const programDataHead = 45

function parseLoader({ data }: Account): unknown {
  const cursor = cursorOver(data)
  const kind = cursor.u32()
  if (kind === 2) return { info: { programData: cursor.key() }, type: 'program' }
  if (kind !== 3) return undefined
  const slot = cursor.u64()
  const authority = cursor.optionalKey(1) ?? null
  const code = Buffer.from(data.subarray(programDataHead)).toString('base64')
  return { info: { authority, data: [code, 'base64'], slot }, type: 'programData' }
}
