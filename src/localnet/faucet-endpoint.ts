/** `POST /faucet {address, token?, amount?}`: test money for people and scripts. Amounts are decimal text in tokens. */
import { decodeAddress } from '../core/base58.ts'
import { parseUnits } from '../core/money.ts'
import { decimalsOf, isTokenCode, knownMints, type TokenCode } from '../core/network.ts'
import { type Amounts, FaucetError } from './faucet.ts'

interface Allowance {
  readonly usual: string
  readonly most: string
}

const allowances: Readonly<Record<TokenCode, Allowance>> = {
  SOL: { usual: '10', most: '1000' },
  USDC: { usual: '1000', most: '1000000' },
  NATIVE: { usual: '1000', most: '1000000' },
}

type Fund = (address: string, amounts: Amounts) => Promise<readonly string[]>

export async function serveFaucet(body: string, fund: Fund): Promise<{ status: number; json: unknown }> {
  const request = readRequest(body)
  if (typeof request === 'string') return { status: 400, json: { error: request } }
  const amounts = Object.fromEntries(Object.entries(request.amounts).map(([token, { units }]) => [token, units]))
  try {
    const signatures = await fund(request.address, amounts)
    const paid = Object.fromEntries(Object.entries(request.amounts).map(([token, { text }]) => [token, text]))
    return { status: 200, json: { address: request.address, amounts: paid, signatures } }
  } catch (error) {
    if (error instanceof FaucetError) return { status: 422, json: { error: error.message } }
    throw error
  }
}

interface FaucetRequest {
  readonly address: string
  readonly amounts: Readonly<Record<string, { readonly units: bigint; readonly text: string }>>
}

function readRequest(body: string): FaucetRequest | string {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return 'the body is not JSON'
  }
  if (typeof value !== 'object' || value === null) return 'the body must be an object with an address'
  const { address, token, amount } = value as Record<string, unknown>
  if (typeof address !== 'string' || !decodeAddress(address)) return 'address must be a Solana address'
  if (token !== undefined && !isTokenCode(token)) return 'token must be SOL, USDC or NATIVE'
  if (amount !== undefined && typeof amount !== 'string') return 'amount must be decimal text, for example "2.5"'
  if (amount !== undefined && token === undefined) return 'an amount needs a token'
  const tokens: readonly TokenCode[] = token === undefined ? ['SOL', 'USDC', 'NATIVE'] : [token]
  const amounts: Record<string, { units: bigint; text: string }> = {}
  for (const code of tokens) {
    const text = amount ?? allowances[code].usual
    const units = parseUnits(text, decimalsOf(code, knownMints.localnet) ?? 0)
    const most = parseUnits(allowances[code].most, decimalsOf(code, knownMints.localnet) ?? 0) ?? 0n
    if (units === undefined || units === 0n) return `amount must be decimal text above zero, for example "2.5"`
    if (units > most) return `at most ${allowances[code].most} ${code} at once`
    amounts[code] = { units, text }
  }
  return { address, amounts }
}
