/** `POST /faucet {address, token?, amount?}`: test money for people and scripts. Amounts are decimal text in tokens. */
import { localnetMints } from '../../core/money/tokens.ts'
import { localnetPortions, readFaucetOrder } from '../../core/protocol/faucet-order.ts'
import { type Amounts, FaucetError } from './faucet.ts'

type Fund = (address: string, amounts: Amounts) => Promise<readonly string[]>

export async function serveFaucet(body: string, fund: Fund): Promise<{ status: number; json: unknown }> {
  const order = readFaucetOrder(body, localnetPortions, localnetMints)
  if (typeof order === 'string') return { status: 400, json: { error: order } }
  const { address, units, amounts } = order
  try {
    const signatures = await fund(address, units)
    return { status: 200, json: { address, amounts, signatures } }
  } catch (error) {
    if (error instanceof FaucetError) return { status: 422, json: { error: error.message } }
    throw error
  }
}
