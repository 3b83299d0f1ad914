/** Who is behind the name under which somebody is owed. Payers are stored as pseudonyms, and found on the chain again. */
import { decodeAddress, encodeBase58 } from '../core/base58.ts'
import type { PayeeName, PayoutLine, Rewards } from '../core/money-out.ts'
import type { Chain } from '../core/ports.ts'

export type Finding =
  | { readonly kind: 'found'; readonly address: string }
  /** No node has the payment any more, or nobody in it has that name. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

export interface Addresses {
  /** `payment` tells a payment of theirs. It is asked for only where an address has to be read from the chain. */
  find(name: PayeeName, payment: () => Promise<Uint8Array>): Promise<Finding>
}

/** Remembered in this process, so that a payer who is paid every day is not looked up every day. */
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
      const reading = await parts.chain.read(encodeBase58(await payment()), 0, { commitment: 'finalized' })
      if (reading.kind === 'missing') return { kind: 'lost', why: 'no node has the payment by which it was earned' }
      if (reading.kind !== 'found') return { kind: 'unavailable', why: reading.why }
      const { transfers, feePayer } = reading.effect
      const candidates = [...transfers.flatMap(({ authority, signers }) => [authority, ...signers]), feePayer]
      const address = candidates.find((one) => parts.nameOf(decodeAddress(one) ?? new Uint8Array()) === payee)
      if (address === undefined) return { kind: 'lost', why: 'nobody in the payment has the name of the payer' }
      if (known.size >= mostRemembered) known.clear()
      known.set(payee, address)
      return { kind: 'found', address }
    },
  }
}

/** A payment by which the payee of a line has earned: the last accrual that it settles is one of its payee's own. */
export async function paymentOf(rewards: Rewards, { upto }: PayoutLine): Promise<Uint8Array> {
  const [accrual] = await rewards.accruals(upto - 1, 1)
  return accrual?.tx ?? new Uint8Array(64)
}
