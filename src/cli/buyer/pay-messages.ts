/** The messages of `pay` during a payment, and the facts that it keeps for its result. */
import type { ClientEvent, PaymentOffer } from '../../client/options.ts'
import { type AllowanceLeft, isOneRequest, type Offered } from '../../core/payment/allowance.ts'
import { boughtText, leftText } from '../allowance-text.ts'
import { paint, short } from '../output.ts'

/** The facts about the payment in the final result. */
export interface Paid {
  tx?: string
  requestId?: string
  amount?: string
  token?: string
  recipient?: string
  /** The parts of other wallets in the amount. */
  splits?: PaymentOffer['splits']
  network?: string
  protocol?: string
  /** The purchased allowance, and its remainder. */
  allowance?: Partial<Offered & AllowanceLeft>
}

export function remember(paid: Paid, event: ClientEvent): void {
  if (event.kind === 'paying') {
    const { requestId, amount, token, recipient, splits, network, protocol, allowance } = event
    const terms = { requestId, amount, token, recipient, network, protocol }
    Object.assign(paid, { ...terms, ...(splits && { splits }), ...(allowance && { allowance }) })
  }
  if (event.kind === 'sent' || event.kind === 'resumed') paid.tx = event.tx
  if (event.kind === 'resumed') paid.requestId = event.requestId
  if (event.kind === 'delivered' && event.tx !== '') paid.tx = event.tx
  if (event.kind === 'delivered' && event.allowance) paid.allowance = { ...paid.allowance, ...event.allowance }
}

export function describe(event: ClientEvent, purse: string, limit: string): string | undefined {
  switch (event.kind) {
    case 'paying': {
      const { amount, token, protocol, splits = [] } = event
      const parts = splits.map((split) => `\n     of which ${split.amount} ${token} to ${split.recipient}`).join('')
      const over = protocol === 'paystile' ? '' : ` over ${protocol}`
      const limits = `(limit ${limit} ${token} per payment)`
      return (
        `${paint.yellow('402')}  ${new URL(event.url).host} charges ${paint.bold(`${amount} ${token}`)}${describePurpose(event)}\n` +
        `pay  ${amount} ${token} from ${purse} to ${event.recipient} on ${event.network}${over} ${limits}${parts}`
      )
    }
    case 'sent':
      return `sent ${event.tx}`
    case 'confirmed':
      return paint.green('paid')
    case 'resumed':
      return `trying the earlier payment ${short(event.tx || event.requestId)}`
    case 'retrying':
      return `not received yet (${event.reason}); sending the same proof again in ${(event.afterMs / 1000).toFixed(1)} s`
    case 'delivered': {
      const left = event.allowance && leftText(event.allowance)
      const status = (event.status < 400 ? paint.green : paint.red)(String(event.status))
      return `${status}  requestId ${event.requestId}${left === undefined ? '' : `; ${left}`}`
    }
  }
}

/** A single request is not mentioned. */
function describePurpose({ allowance, description }: Extract<ClientEvent, { kind: 'paying' }>): string {
  const what = allowance && !isOneRequest(allowance) ? ` for ${boughtText(allowance)}` : ''
  return description === undefined ? what : `${what === '' ? ' for' : `${what} of`} "${description}"`
}
