/** Finds the wallet of a payee. Payers are stored as pseudonyms, and their addresses are read from the chain again. */
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import { type Asset, computeCredit, type Effect } from '../../core/payment/verify.ts'
import type { PayoutLine } from '../../core/payouts/ports/outgoing.ts'
import type { PayeeName, Rewards } from '../../core/payouts/ports/rewards.ts'
import type { Chain } from '../../core/ports/chain.ts'

export type Finding =
  | { readonly kind: 'found'; readonly address: string }
  /** No node has the payment any more, or no address in it has that pseudonym. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

export interface Addresses {
  /** `payment` returns a payment of the payee. It is called only if an address must be read from the chain. */
  find(name: PayeeName, payment: () => Promise<Uint8Array>): Promise<Finding>
  /** The amount that a payer sent in a final payment, as the chain reports it now. */
  sent(payer: string, payment: Uint8Array, to: Destination): Promise<Sent>
}

export interface Destination {
  readonly recipient: string
  readonly asset: Asset
}

export type Sent = { readonly kind: 'sent'; readonly units: bigint } | Exclude<Finding, { kind: 'found' }>

/** Cached in this process, so that a payer with daily payouts is not looked up every day. */
const mostRemembered = 50_000

export function createAddresses(parts: {
  readonly chain: Pick<Chain, 'read'>
  readonly nameOf: (wallet: Uint8Array) => string
}): Addresses {
  const known = new Map<string, string>()
  return {
    find: async ({ role, payee }, payment) => {
      if (role !== 'cashback') return { kind: 'found', address: payee }
      const before = known.get(payee)
      if (before !== undefined) return { kind: 'found', address: before }
      const reading = await readPayment(parts, payee, await payment())
      if (reading.kind !== 'read') return reading
      const { address } = reading
      if (known.size >= mostRemembered) known.clear()
      known.set(payee, address)
      return { kind: 'found', address }
    },
    sent: async (payer, payment, { recipient, asset }) => {
      const reading = await readPayment(parts, payer, payment)
      if (reading.kind !== 'read') return reading
      return { kind: 'sent', units: computeCredit(reading.effect, recipient, asset, reading.address) }
    },
  }
}

/** Reads a final payment, and the address in it that has a payer's pseudonym. */
async function readPayment(
  { chain, nameOf }: Parameters<typeof createAddresses>[0],
  payer: string,
  payment: Uint8Array,
): Promise<
  { readonly kind: 'read'; readonly effect: Effect; readonly address: string } | Exclude<Finding, { kind: 'found' }>
> {
  const reading = await chain.read(encodeBase58(payment), 0, { commitment: 'finalized' })
  if (reading.kind === 'missing')
    return { kind: 'lost', why: 'no node has the payment as final; it is too new or too old' }
  if (reading.kind !== 'found') return { kind: 'unavailable', why: reading.why }
  const { effect } = reading
  const { transfers, feePayer } = effect
  const candidates = [...transfers.flatMap(({ authority, signers }) => [authority, ...signers]), feePayer]
  const address = candidates.find((one) => nameOf(decodeAddress(one) ?? new Uint8Array()) === payer)
  if (address === undefined) return { kind: 'lost', why: "no account of the payment matches the payer's pseudonym" }
  return { kind: 'read', effect, address }
}

/** A payment with which the payee of a line earned: the last accrual that the line settles belongs to this payee. */
export async function createPayment(rewards: Rewards, { through }: PayoutLine): Promise<Uint8Array> {
  const [accrual] = await rewards.accruals(through - 1, 1)
  return accrual?.tx ?? new Uint8Array(64)
}
