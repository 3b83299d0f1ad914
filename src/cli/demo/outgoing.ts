/** Describes the demo's outgoing transactions. The service reports them to clients on the same machine. */
import { counted } from '../output.ts'

interface Landed {
  readonly id: string
  readonly payees?: number
  readonly amount: string
  readonly token?: string
  readonly reason?: string
  readonly sell?: string
  readonly buy?: string
  readonly sold?: string | null
  readonly received?: string | null
}

/** Undefined if the service does not report the transaction, or not yet. */
export async function describeOutgoing(url: string, kind: string, id: string): Promise<string | undefined> {
  try {
    if (kind === 'payout') {
      const { amount, payees = 0 } = (await ask(`${url}/api/rewards/payouts/${id}`)) as Landed
      return `paid ${amount} NATIVE to ${counted(payees, 'payee')}`
    }
    const isRefund = kind === 'refund'
    const answer = (await ask(`${url}/api/${isRefund ? 'refunds' : 'settlement'}`)) as Record<string, readonly Landed[]>
    const found = answer[isRefund ? 'refunds' : 'conversions']?.find((one) => one.id === id)
    if (!found) return undefined
    const { amount, token, reason, sell, buy, sold, received } = found
    if (isRefund) return `refunded ${amount} ${token} (${reason})`
    return `converted ${sold ?? amount} ${sell} into ${received ?? 'some'} ${buy}`
  } catch {
    return undefined
  }
}

async function ask(address: string): Promise<unknown> {
  const response = await fetch(address, { signal: AbortSignal.timeout(5_000) })
  if (!response.ok) throw new Error(`status ${response.status}`)
  return response.json()
}
