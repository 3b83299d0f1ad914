/**
 * Decides which tokens can be accepted as payment, from the on-chain state of the mint and of the recipient's account.
 *
 * A rule that refuses states the problem in one sentence and, if the provider can fix it, the setting to write.
 */
import { formatUnits } from '../money/money.ts'
import {
  type ByToken,
  type Mint,
  nameMintOption,
  solDecimals,
  splTokenProgram,
  type TokenCode,
  token2022Program,
} from '../money/tokens.ts'
import { computeGross, type TransferFee } from '../money/transfer-fee.ts'

/** Mint features that the provider must allow explicitly: they can cost payments or misstate amounts. */
export const doubtfulTraits = [
  'transferHook',
  'permanentDelegate',
  'interestBearing',
  'scaledUiAmount',
  'unknown',
] as const
export type DoubtfulTrait = (typeof doubtfulTraits)[number]

const dangers: Readonly<Record<DoubtfulTrait, string>> = {
  transferHook: 'runs third-party code on every transfer, or can be changed to do so',
  permanentDelegate: 'has a permanent delegate, which can withdraw payments from your account',
  interestBearing: 'bears interest, so wallets show amounts that differ from the paid ones',
  scaledUiAmount: 'has a multiplier, so wallets show amounts that differ from the paid ones',
  unknown: 'has an unknown extension',
}

export interface MintTraits {
  readonly decimals: number
  /** The fees of the current and of the next epoch, so that a quote survives the change of epoch. */
  readonly fees: readonly TransferFee[]
  readonly doubts: readonly DoubtfulTrait[]
  readonly isTransferable: boolean
  readonly isPaused: boolean
  /** New accounts cannot receive tokens until the issuer has thawed them. */
  readonly opensFrozen: boolean
}

/** The account at the address of a mint. */
export type MintReading =
  | { readonly kind: 'absent' }
  /** It belongs to no token program, or to an unknown one. */
  | { readonly kind: 'foreign'; readonly program: string }
  | { readonly kind: 'malformed'; readonly program: string; readonly why: string }
  | { readonly kind: 'mint'; readonly program: string; readonly traits: MintTraits }

/** The account at which the recipient receives a token. */
export type AccountReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'account'
      readonly owner: string
      readonly isFrozen: boolean
      /** An address besides the owner that may withdraw tokens. */
      readonly delegate?: string
      /** An address besides the owner that may close the empty account. */
      readonly closer?: string
    }

/** The account at the recipient's own address. */
export type WalletReading =
  /**
   * The smallest amount in lamports that can be sent to it. It is above zero while the account holds less than the
   * rent-exempt minimum.
   */
  { readonly kind: 'wallet'; readonly leastLamports: bigint } | { readonly kind: 'unspendable'; readonly what: string }

export interface TokenReading {
  readonly mint: MintReading
  readonly account: AccountReading
}

/** The nodes' report on a recipient and the tokens in which it is paid. */
export type Inspection =
  | {
      readonly kind: 'seen'
      readonly wallet: WalletReading
      readonly tokens: ByToken<TokenReading>
    }
  | { readonly kind: 'unknown'; readonly why: string }

/** The constraints on a quote in a token. */
export interface Offering {
  /** Fees of the mint. The price must arrive in full under each of them. */
  readonly fees: readonly TransferFee[]
  /** Smaller payments cannot land. */
  readonly leastUnits: bigint
}

export type TokenVerdict =
  | { readonly kind: 'good'; readonly offering: Offering; readonly warnings: readonly string[] }
  /** All rules pass, but the recipient has no account for the token yet. */
  | ({ readonly kind: 'unopened'; readonly offering: Offering } & Objection)
  | ({ readonly kind: 'bad' } & Objection)

export interface Objection {
  readonly option: 'recipient' | ReturnType<typeof nameMintOption>
  /** The problem, which begins with the option. */
  readonly why: string
  /** The action that corrects it without a change of the option, if there is one. */
  readonly remedy?: string
}

/** The problem and its remedy, in one line. */
export function formatObjection({ why, remedy }: Objection): string {
  return remedy === undefined ? why : `${why}; ${remedy}`
}

export interface TokenTerms {
  readonly code: TokenCode
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly recipient: string
  /** The price, if it is known in advance. */
  readonly units: bigint | undefined
  readonly allowed: readonly DoubtfulTrait[]
}

export function judgeToken(terms: TokenTerms, inspection: Extract<Inspection, { kind: 'seen' }>): TokenVerdict {
  const { code, mint, recipient } = terms
  const { wallet, tokens } = inspection
  if (wallet.kind === 'unspendable') return bad('recipient', `${recipient} is ${wallet.what}, not a wallet`)
  if (!mint) return judgeSol(terms, wallet.leastLamports)
  const reading = tokens[code]
  if (!reading) return bad(nameMintOption(code), 'was not checked')
  const traits = traitsOf(mint, reading.mint, terms.allowed)
  if (typeof traits === 'string') return bad(nameMintOption(code), `${mint.address} ${traits}`)
  if (terms.units !== undefined && computeGross(terms.units, traits.fees) === undefined) {
    return bad(nameMintOption(code), `${mint.address} has a transfer fee that is too high for this price`)
  }
  return judgeAccount(terms, mint, traits, reading.account)
}

function judgeSol({ recipient, units }: TokenTerms, leastUnits: bigint): TokenVerdict {
  if (units !== undefined && units < leastUnits) {
    const [price, least] = [formatUnits(units, solDecimals), formatUnits(leastUnits, solDecimals)]
    const why = `${recipient} is empty, and ${price} SOL is too little to open it`
    return bad('recipient', why, `send it ${least} SOL once`)
  }
  return { kind: 'good', offering: { fees: [], leastUnits }, warnings: [] }
}

/** Returns the traits of the mint, or the problem with it. */
function traitsOf(mint: Mint, reading: MintReading, allowed: readonly DoubtfulTrait[]): MintTraits | string {
  if (reading.kind === 'absent') return 'does not exist on this chain'
  if (reading.program !== mint.tokenProgram) {
    const isToken = reading.program === splTokenProgram || reading.program === token2022Program
    const remedy = isToken && reading.kind === 'mint' ? '; set tokenProgram to that' : ''
    return `belongs to the program ${reading.program}, not to ${mint.tokenProgram}${remedy}`
  }
  if (reading.kind === 'foreign') return 'is not a mint'
  if (reading.kind === 'malformed') return reading.why
  const { traits } = reading
  if (traits.decimals !== mint.decimals) return `has ${traits.decimals} decimals, not ${mint.decimals}`
  if (!traits.isTransferable) return 'is not transferable, so it cannot be used for payments'
  const doubt = traits.doubts.find((trait) => !allowed.includes(trait))
  if (doubt) return `${dangers[doubt]}; to accept that, set allow: ['${doubt}']`
  return traits.isPaused ? 'is paused by its issuer, so it cannot be used for payments' : traits
}

function judgeAccount(
  { code, recipient }: TokenTerms,
  mint: Mint,
  { fees, opensFrozen }: MintTraits,
  account: AccountReading,
): TokenVerdict {
  const offering = { fees, leastUnits: 0n }
  const theirs = `the ${code} account of ${recipient}`
  switch (account.kind) {
    case 'malformed':
      return bad('recipient', `${theirs} is not an account of ${mint.address}`)
    case 'absent': {
      const flag = mint.tokenProgram === token2022Program ? ' --program-2022' : ''
      const command = `spl-token create-account ${mint.address} --owner ${recipient}${flag}`
      const why = `has no ${code} account yet`
      const remedy = `open it with ${command}, or give accountKey`
      if (opensFrozen) return bad('recipient', why, `${remedy}, and ask the issuer to thaw it`)
      return { ...bad('recipient', why, remedy), kind: 'unopened', offering }
    }
    case 'account': {
      // Payments to this account would belong to another owner.
      if (account.owner !== recipient) return bad('recipient', `${theirs} was transferred to ${account.owner}`)
      if (account.isFrozen)
        return bad('recipient', `${theirs} is frozen and cannot receive payments until its issuer thaws it`)
      const { delegate, closer } = account
      const warnings = [
        ...(delegate === undefined
          ? []
          : [`recipient: ${theirs} has a delegate, ${delegate}, which can withdraw payments`]),
        ...(closer === undefined ? [] : [`recipient: ${theirs} can be closed by ${closer} while it is empty`]),
      ]
      return { kind: 'good', offering, warnings }
    }
  }
}

function bad(option: Objection['option'], problem: string, remedy?: string): { readonly kind: 'bad' } & Objection {
  return { kind: 'bad', option, why: `${option}: ${problem}`, ...(remedy !== undefined && { remedy }) }
}
