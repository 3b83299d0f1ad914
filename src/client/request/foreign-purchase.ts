/**
 * Buys from a server of another protocol: reserve, sign, record the credential, send it with the request, and read the
 * outcome. One call creates one credential at most. After a crash, the next call sends the recorded one again.
 *
 * The server sends the transaction, so its answer proves nothing about the money. A payment whose outcome is unknown
 * stays reserved until the chain shows that it landed or can no longer land.
 */
import type { Lifetime } from '../../chain/send/message.ts'
import { readLifetime } from '../../chain/send/send.ts'
import { signCosigned } from '../../chain/wallets/cosigned-payment.ts'
import type { Network } from '../../core/money/tokens.ts'
import { PaymentError } from '../errors.ts'
import type { Intent } from '../journal/journal.ts'
import { chooseAffordable, type PermittedOffer, shortestRemainingMs } from '../protocols/choose.ts'
import { type ClientParts, connect, type PaidRequest } from './paid-request.ts'
import { approve, type PayParts, payParts, requireLifetime, signOrDrop } from './pay.ts'
import { present } from './present-credential.ts'

/** A 402 of a server that speaks other protocols. */
export interface ForeignReading {
  readonly kind: 'foreign'
  /** The 402, with its body unread. */
  readonly response: Response
  readonly url: URL
  /** The client's own name for this purchase. */
  readonly requestId: string
  readonly permitted: readonly PermittedOffer[]
}

export async function buyForeign(
  parts: ClientParts,
  paidRequest: PaidRequest,
  asked: ForeignReading,
): Promise<Response> {
  const { requestId, url } = asked
  await asked.response.body?.cancel()
  const [network, permitted] = pickNetwork(asked.permitted)
  const connection = await connect(parts, paidRequest, network)
  const { rpc, genesis } = connection
  const paying = payParts(parts, paidRequest, connection)
  // Some servers simulate at a final slot, where a younger blockhash is not known yet.
  const read = () => readLifetime(rpc, 'finalized')
  const [found, choice] = await Promise.all([
    read(),
    chooseAffordable(rpc, paidRequest.wallet.address, permitted, requestId),
  ])
  const { recipient, protocol, description, memo, expiresAt = Number.POSITIVE_INFINITY } = choice.offer
  const times = { lifetime: requireLifetime(found), read, payableUntil: expiresAt - shortestRemainingMs }
  const { intent, lifetime } = await approve(
    { ...paying, ...times },
    choice.candidate,
    url,
    { requestId, recipient, network, description, protocol },
    { key: paidRequest.key, genesis, proof: 'bare', protocol, ...(memo !== undefined && { memo }) },
  )
  try {
    const signed = await sign(paying, intent, choice, lifetime)
    return await present({ ...paying, paidRequest, genesis }, signed, url)
  } catch (error) {
    await paidRequest.journal.release(requestId)
    throw error
  }
}

/** The offers on the network of the first one: the client asks the nodes of one network. */
function pickNetwork(permitted: readonly PermittedOffer[]): readonly [Network, readonly PermittedOffer[]] {
  const network = permitted[0]?.offer.network ?? 'mainnet'
  return [network, permitted.filter(({ offer }) => offer.network === network)]
}

/** The credential is in the journal before it is sent anywhere. */
async function sign(
  parts: PayParts,
  intent: Intent,
  { offer, candidate }: PermittedOffer,
  lifetime: Lifetime,
): Promise<Intent> {
  const { requestId } = intent
  const { feePayer, splits, computeUnits, microLamports } = offer
  const own = offer.units - splits.reduce((sum, { units }) => sum + units, 0n)
  const legs = [{ recipient: offer.recipient, units: own, memo: offer.memo }, ...splits]
  const order = { lifetime, feePayer, mint: candidate.mint, legs, computeUnits, microLamports }
  const { wire, slot } = await signOrDrop(parts, requestId, signCosigned(order, parts.wallet))
  const { header, value } = offer.credential(wire)
  const change = { state: 'signed', wire, slot, credential: `${header}: ${value}` } as const
  await parts.journal.change(requestId, change)
  return { ...intent, ...change }
}

/**
 * Continues a purchase that was signed and whose resource did not arrive. Undefined if the payment can no longer land, so
 * that a new one may be made.
 */
export async function resumeForeign(
  parts: ClientParts,
  paidRequest: PaidRequest,
  intent: Intent,
): Promise<Response | undefined> {
  const connection = await connect(parts, paidRequest, intent.network, intent.genesis)
  const paying = payParts(parts, paidRequest, connection)
  try {
    return await present({ ...paying, paidRequest, genesis: intent.genesis }, intent, new URL(intent.url))
  } catch (error) {
    if (error instanceof PaymentError && error.facts.isOver) return undefined
    throw error
  }
}
