/** The dialect of MPP's charge on Solana. Its receipt is the native `Payment-Receipt` with the id of the challenge. */
import { refuse } from '../core/payment/refusals.ts'
import type { ChallengeParts, Offer } from '../core/protocol/challenge.ts'
import type { MppCharge, MppCredentialHeader, MppTerms } from '../core/protocol/mpp.ts'
import {
  formatMppId,
  mppAcceptHeader,
  mppChallengeHeader,
  mppCredentialHeaders,
  mppProblems,
  parseMppAccept,
  parseMppCredential,
  prepareMppCharge,
} from '../core/protocol/mpp.ts'
import { createClaim } from '../core/protocol/proof.ts'
import type { ForeignDialect, Reading } from './dialect.ts'
import { type FeePayer, foreignStatus, isFreshRefusal, isNativeClient, listPrices, noHeaders } from './foreign.ts'

export interface MppParts {
  /** Names the service to clients, usually by its host. */
  readonly realm: string
  /** Undefined if clients pay the network fee. */
  readonly sponsor: FeePayer | undefined
  /**
   * Whether the signature of a transaction that the client has sent is a credential. Everybody who reads the chain can
   * copy it.
   */
  readonly push: boolean
  /** The header that the challenge asks for, if it is not `Authorization`. */
  readonly header?: MppCredentialHeader | undefined
}

const credentialNames = mppCredentialHeaders.map((name) => name.toLowerCase())
const acceptName = mppAcceptHeader.toLowerCase()

export function createMpp(mpp: MppParts): ForeignDialect {
  return {
    name: 'mpp',
    requestHeaders: [...mppCredentialHeaders, mppAcceptHeader],
    responseHeaders: [mppChallengeHeader],

    read: (incoming) => {
      for (const name of credentialNames) {
        const header = incoming.header(name)
        const reading = header === undefined ? undefined : readCredential(header, mpp)
        if (reading) return reading
      }
      return undefined
    },

    isWanted: (incoming) => !isNativeClient(incoming) && parseMppAccept(incoming.header(acceptName)) !== 'other',

    prepare: (offer) => {
      const write = prepareCharge(offer, mpp)
      return write && ((parts) => (parts.proof === 'bare' ? [[mppChallengeHeader, write(parts)]] : noHeaders))
    },

    refusal: (refusal) => {
      const type = mppProblems[refusal.code]
      return { status: foreignStatus(refusal), headers: noHeaders, ...(type !== undefined && { type }) }
    },

    isFresh: isFreshRefusal,

    paid: () => noHeaders,

    receiptMembers: ({ requestId, claim }) => ({ challengeId: formatMppId(requestId, claim) }),
  }
}

function readCredential(header: string, { realm, push }: MppParts): Reading | undefined {
  const reading = parseMppCredential(header, realm)
  switch (reading?.kind) {
    case 'transaction': {
      const { transaction, requestId, claim } = reading
      return { kind: 'credential', credential: { transaction, requestId, claim } }
    }
    case 'signature':
      return push ? reading : refuse('transaction_invalid', { detail: pushDetail })
    case 'malformed':
      // mppx pays again after a challenge, up to three times. This client has paid already.
      if (reading.isSent) return refuse('transaction_invalid', { detail: `The credential is invalid: ${reading.why}.` })
      return { kind: 'malformed', why: reading.why }
    default:
      return undefined
  }
}

const pushDetail =
  'This service accepts transactions that it sends itself, not signatures of sent ones. Send the payment as Payment-Proof.'

type WriteCharge = (parts: Pick<ChallengeParts, 'requestId' | 'expiresAt'>) => string

/** One challenge for each token would double the header, so there is one: for the first token that has a mint, or for SOL. */
function prepareCharge(offer: Offer, { realm, header, ...parts }: MppParts): WriteCharge | undefined {
  const { network, recipient, isUnsponsored } = offer
  const sponsor = isUnsponsored ? undefined : parts.sponsor
  const [first] = listPrices(offer)
  if (!first) return undefined
  const { token, ...price } = first
  const splits = (offer.splits ?? []).flatMap(({ recipient: to, amounts }) => {
    const units = amounts[token]
    return units === undefined ? [] : [{ recipient: to, units }]
  })
  let [feePayer, recentBlockhash]: readonly (string | undefined)[] = []
  let write: MppCharge | undefined
  return ({ requestId, expiresAt }) => {
    const payer = sponsor?.isOffering() ? sponsor.address : undefined
    const recent = sponsor?.recent()?.blockhash
    if (!write || payer !== feePayer || recent !== recentBlockhash) {
      feePayer = payer
      recentBlockhash = recent
      const terms: MppTerms = { ...price, splits, realm, header, network, recipient, feePayer, recentBlockhash }
      write = prepareMppCharge(terms)
    }
    return write({ requestId, expiresAt, claim: createClaim() })
  }
}
