/** Chooses one of a server's offers: within the policy, and affordable. */
import { computeNeededLamports, findUnready, readFunds } from '../../chain/accounts/balances.ts'
import type { Rpc } from '../../chain/rpc/rpc.ts'
import { formatUnits } from '../../core/money/money.ts'
import {
  isTokenCode,
  knownMints,
  type MintTable,
  smallestBalance,
  solDecimals,
  type TokenCode,
} from '../../core/money/tokens.ts'
import { sumParts } from '../../core/payment/splits.ts'
import type { Challenge } from '../../core/protocol/challenge.ts'
import { type Protocol, protocols } from '../../core/protocol/protocols.ts'
import { PaymentError } from '../errors.ts'
import type { ClientOptions } from '../options.ts'
import { type Candidate, checkChallenge, listCandidates, type PolicyOptions } from '../policy.ts'
import { readMppOffers } from './mpp.ts'
import type { ForeignOffer } from './offer.ts'
import { readX402Offers, readX402V1Offers } from './x402.ts'

/** An offer that the policy permits. */
export interface PermittedOffer {
  readonly offer: ForeignOffer
  readonly candidate: Candidate
}

/** The offers of a 402 in the permitted protocols, in the caller's order. */
export function readForeignOffers(
  response: Response,
  body: unknown,
  { protocols: permitted = protocols, network }: Pick<ClientOptions, 'protocols' | 'network'>,
): readonly ForeignOffer[] {
  const readers: Readonly<Record<Protocol, () => readonly ForeignOffer[]>> = {
    paystile: () => [],
    mpp: () => readMppOffers(response.headers, network),
    x402: () => readX402Offers(response.headers, network),
    'x402-v1': () => readX402V1Offers(body, network),
  }
  return permitted.flatMap((protocol) => readers[protocol]())
}

export interface OfferQuestion {
  readonly url: URL
  readonly options: PolicyOptions
  /** Undefined if no wallet is known yet. */
  readonly payer: string | undefined
  /** The caller's request already has this header. */
  readonly hasHeader: (name: string) => boolean
  readonly now: number
  /** The client's own name for this purchase. */
  readonly requestId: string
}

/** The permitted offers, the preferred one first. Throws the first reason if there is none. */
export function listPermitted(offers: readonly ForeignOffer[], question: OfferQuestion): readonly PermittedOffer[] {
  const readings = offers.map((offer) => {
    try {
      return permit(offer, question)
    } catch (error) {
      if (error instanceof PaymentError) return error
      throw error
    }
  })
  const permitted = readings.filter((reading): reading is PermittedOffer => !(reading instanceof PaymentError))
  const [problem] = readings
  if (permitted.length === 0 && problem instanceof PaymentError) throw problem
  return permitted
}

/** A transaction takes effect when the server sends it, at the latest at its blockhash's end. */
export const shortestRemainingMs = 10_000

function permit(offer: ForeignOffer, question: OfferQuestion): PermittedOffer {
  const { url, options, payer, hasHeader, now, requestId } = question
  const refuse = (code: PaymentError['code'], message: string) => new PaymentError(code, message, { requestId })
  const known = findToken(offer, options)
  if (!known) {
    const { asset, network } = offer
    throw refuse(
      'mint_not_allowed',
      `The server charges in the mint ${asset}, which is not known on ${network}. If you trust it, add it to mints.`,
    )
  }
  const { header } = offer.credential('')
  if (hasHeader(header))
    throw refuse(
      'declined',
      `The request has its own ${header} header, but the server takes the payment there. Nothing was paid.`,
    )
  if (offer.expiresAt !== undefined && offer.expiresAt - now < shortestRemainingMs)
    throw refuse('challenge_expiring', 'The challenge expires too soon to be paid. Send the request again.')
  const wallets = [offer.recipient, ...offer.splits.map(({ recipient }) => recipient)]
  const { feePayer } = offer
  if (feePayer !== undefined && (feePayer === payer || wallets.includes(feePayer)))
    throw refuse('declined', 'The wallet that pays the network fee also takes part in the payment. Nothing was paid.')
  if (offer.splits.reduce((sum, { units }) => sum + units, 0n) >= offer.units)
    throw refuse('declined', "The splits leave nothing for the payment's recipient. Nothing was paid.")
  const amount = formatUnits(offer.units, known.decimals)
  const challenge: Challenge = {
    requestId,
    recipient: offer.recipient,
    amount,
    currency: known.token,
    acceptedMints: [known.token],
    instructions: '',
    amounts: { [known.token]: amount },
    network: offer.network,
    ...(offer.splits.length > 0 && {
      splits: offer.splits.map(({ recipient, units }) => ({
        recipient,
        amounts: { [known.token]: formatUnits(units, known.decimals) },
      })),
    }),
  }
  checkChallenge(challenge, url, options, now)
  const [candidate] = listCandidates(challenge, offer.network, options)
  if (candidate?.units !== offer.units) throw new TypeError('the amount of an offer has changed')
  return { offer, candidate }
}

/** The token whose mint the caller knows. Undefined if the server describes it differently. */
function findToken(
  { asset, network, decimals, tokenProgram }: ForeignOffer,
  options: PolicyOptions,
): { readonly token: TokenCode; readonly decimals: number } | undefined {
  if (asset === 'SOL') return { token: 'SOL', decimals: solDecimals }
  const mints: MintTable = { ...knownMints[network], ...options.mints }
  const [token, mint] = Object.entries(mints).find(([, one]) => one.address === asset) ?? []
  if (!mint || !isTokenCode(token)) return undefined
  const isSame =
    (decimals ?? mint.decimals) === mint.decimals && (tokenProgram ?? mint.tokenProgram) === mint.tokenProgram
  return isSame ? { token, decimals: mint.decimals } : undefined
}

/** The first offer that the wallet can afford. */
export async function chooseAffordable(
  rpc: Rpc,
  wallet: string,
  permitted: readonly PermittedOffer[],
  requestId: string,
): Promise<PermittedOffer> {
  const reasons: string[] = []
  for (const one of permitted) {
    const { mint, units, token, decimals } = one.candidate
    const { recipient, splits, feePayer } = one.offer
    const others = splits.map((split) => split.recipient)
    const funds = await readFunds(rpc, { wallet, recipient, others, mints: mint ? [mint] : [] })
    if (funds.kind === 'unavailable') {
      throw new PaymentError(
        'chain_unavailable',
        `The wallet's balance cannot be read (${funds.why}). Nothing was paid. Try again.`,
        { requestId },
      )
    }
    const [held] = funds.tokens
    const unready = findUnready(funds.others, splits, mint)
    const balance = mint ? (held?.units ?? 0n) : funds.lamports
    const own = units - sumParts(splits)
    const needed = computeNeededLamports(mint, units, { isSponsored: feePayer !== undefined })
    if (balance < units)
      reasons.push(`it holds ${formatUnits(balance, decimals)} ${token} and needs ${formatUnits(units, decimals)}`)
    else if (mint && !held?.recipientReady) reasons.push(`the recipient has no ${token} account`)
    else if (unready) reasons.push(`${unready.recipient}, which receives a part, cannot receive ${token} yet`)
    else if (!mint && funds.recipientLamports + own < smallestBalance)
      reasons.push(`${formatUnits(own, solDecimals)} SOL is too little to open the recipient's empty wallet`)
    else if (funds.lamports < needed)
      reasons.push(
        `it has ${formatUnits(funds.lamports, solDecimals)} SOL and needs ${formatUnits(needed, solDecimals)}`,
      )
    else return one
  }
  throw new PaymentError('insufficient_funds', `The wallet ${wallet} cannot pay: ${reasons.join('; ')}.`, { requestId })
}
