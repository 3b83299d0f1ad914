/**
 * Buys from a server of another protocol: reserve, sign, record the credential, send it with the request, and read the
 * outcome. One call creates one credential at most. After a crash, the next call sends the recorded one again.
 *
 * The server sends the transaction, so its answer proves nothing about the money. A payment whose outcome is unknown
 * stays reserved until the chain shows that it landed or can no longer land.
 */
import { readLifetime } from '../../chain/send/send.ts'
import { signCosigned } from '../../chain/wallets/cosigned-payment.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { Network } from '../../core/money/tokens.ts'
import { PaymentError } from '../errors.ts'
import type { Intent } from '../journal/journal.ts'
import { chooseAffordable, type PermittedOffer } from '../protocols/choose.ts'
import { type ClientParts, connect, type PaidRequest } from './paid-request.ts'
import { type PayParts, payParts, reserve } from './pay.ts'
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

/** A fraction of a lamport, as the reference clients pay. */
const microLamports = 1n

export async function buyForeign(
  parts: ClientParts,
  paidRequest: PaidRequest,
  asked: ForeignReading,
): Promise<Response> {
  const { requestId, url } = asked
  await asked.response.body?.cancel()
  const [network, permitted] = pickNetwork(asked.permitted)
  const { rpc, genesis } = await connect(parts, paidRequest, network)
  const paying = payParts(parts, paidRequest, rpc)
  // Some servers simulate at a final slot, where a younger blockhash is not known yet.
  const [lifetime, choice] = await Promise.all([
    readLifetime(rpc, 'finalized'),
    chooseAffordable(rpc, paidRequest.wallet.address, permitted, requestId),
  ])
  if (!lifetime)
    throw new PaymentError('chain_unavailable', 'No node returned a recent blockhash. Nothing was paid. Try again.')
  const intent = await approve(paying, asked, choice, { genesis, key: paidRequest.key })
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

/** Asks the caller, and reserves the amount. */
async function approve(
  { journal, wallet, options, tell, clock }: PayParts,
  { requestId, url }: ForeignReading,
  { offer, candidate }: PermittedOffer,
  { genesis, key }: Pick<Intent, 'genesis' | 'key'>,
): Promise<Intent> {
  const { token, units, decimals } = candidate
  const { recipient, network, protocol, description, memo } = offer
  const amount = formatUnits(units, decimals)
  const proposal = {
    ...{ url: url.href, requestId, recipient, amount, token, network, protocol },
    ...(description !== undefined && { description }),
  }
  if (options.approve && (await options.approve(proposal)) !== true)
    throw new PaymentError('declined', `Paying ${amount} ${token} to ${url.host} was declined.`, { requestId })
  const intent: Intent = {
    ...{ requestId, key, url: url.href, host: url.host, network, genesis, token, units, protocol },
    day: new Date(clock.now()).toISOString().slice(0, 10),
    payer: wallet.address,
    proof: 'bare',
    state: 'reserved',
    ...(memo !== undefined && { memo }),
  }
  await reserve(journal, intent, candidate, options)
  tell({ kind: 'paying', ...proposal })
  return intent
}

/** The credential is in the journal before it is sent anywhere. */
async function sign(
  { journal, wallet }: PayParts,
  intent: Intent,
  { offer, candidate }: PermittedOffer,
  lifetime: NonNullable<Awaited<ReturnType<typeof readLifetime>>>,
): Promise<Intent> {
  const { requestId } = intent
  const { feePayer, splits, computeUnits } = offer
  const own = offer.units - splits.reduce((sum, { units }) => sum + units, 0n)
  const legs = [{ recipient: offer.recipient, units: own, memo: offer.memo }, ...splits]
  const order = { lifetime, feePayer, mint: candidate.mint, legs, computeUnits, microLamports }
  const signed = await signCosigned(order, wallet).catch(async (error: unknown) => {
    await journal.change(requestId, { state: 'dead' })
    const why = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
    throw new PaymentError('declined', `The wallet did not sign: ${why}.`, { requestId })
  })
  const { header, value } = offer.credential(signed.wire)
  const change = { state: 'signed', wire: signed.wire, slot: signed.slot, credential: `${header}: ${value}` } as const
  await journal.change(requestId, change)
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
  const { rpc } = await connect(parts, paidRequest, intent.network, intent.genesis)
  const paying = payParts(parts, paidRequest, rpc)
  try {
    return await present({ ...paying, paidRequest, genesis: intent.genesis }, intent, new URL(intent.url))
  } catch (error) {
    if (error instanceof PaymentError && error.facts.isOver) return undefined
    throw error
  }
}
