/** The request to a faucet: `{address, token?, amount?}`, with amounts as decimal text in tokens. */

import { decodeAddress } from '../encoding/base58.ts'
import { parseJson } from '../encoding/fields.ts'
import { parseUnits } from '../money/money.ts'
import { type ByToken, findDecimals, isTokenCode, type MintTable, type TokenCode } from '../money/tokens.ts'

/** The amounts that a faucet gives of a token: the default and the maximum per request. */
export interface Portion {
  readonly usual: string
  readonly most: string
}
/** A token that is left out is not given. */
export type Portions = ByToken<Portion>

/** The amounts of the localnet faucet. */
export const localnetPortions: Portions = {
  SOL: { usual: '10', most: '1000' },
  USDC: { usual: '1000', most: '1000000' },
  NATIVE: { usual: '1000', most: '1000000' },
  EURC: { usual: '1000', most: '1000000' },
}

export interface FaucetOrder {
  readonly address: string
  /** The requested token and amount. Undefined for the default amounts. */
  readonly token: TokenCode | undefined
  readonly amount: string | undefined
  readonly units: ByToken<bigint>
  /** The amounts as decimal text. */
  readonly amounts: ByToken<string>
}

/** Given without a named token. */
const all: readonly TokenCode[] = ['SOL', 'USDC', 'NATIVE']

/** Reads the body of a request. Returns text that states the problem if the body is invalid. */
export function readFaucetOrder(body: string, portions: Portions, mints: MintTable): FaucetOrder | string {
  const value = parseJson(body)
  if (value === undefined) return 'the body is not JSON'
  if (typeof value !== 'object' || value === null) return 'the body must be an object with an address'
  const { address, token, amount } = value as Record<string, unknown>
  if (typeof address !== 'string' || !decodeAddress(address)) return 'address must be a Solana address'
  if (token !== undefined && !isTokenCode(token)) return 'token must be a code such as SOL, USDC or NATIVE'
  if (amount !== undefined && typeof amount !== 'string') return 'amount must be decimal text, for example "2.5"'
  if (amount !== undefined && token === undefined) return 'an amount needs a token'
  const units: Record<string, bigint> = {}
  const amounts: Record<string, string> = {}
  for (const code of token === undefined ? all : [token]) {
    const [portion, decimals] = [portions[code], findDecimals(code, mints)]
    if (!portion || decimals === undefined) {
      if (token === undefined) continue
      return `the faucet does not offer ${code}`
    }
    const text = amount ?? portion.usual
    const number = parseUnits(text, decimals)
    if (number === undefined || number === 0n) return 'amount must be decimal text above zero, for example "2.5"'
    if (number > (parseUnits(portion.most, decimals) ?? 0n)) return `at most ${portion.most} ${code} at once`
    units[code] = number
    amounts[code] = text
  }
  return { address, token, amount, units, amounts }
}
