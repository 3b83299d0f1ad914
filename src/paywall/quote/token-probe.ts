/**
 * Checks on chain, before a token is offered, that it can be used: the mint matches the configuration, and the
 * recipient and the wallets of the splits can receive it. A token that fails is not offered; the others are.
 */
import { canonicalJson } from '../../core/encoding/canonical-json.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'
import { convertAll } from '../../core/money/spread.ts'
import {
  findMint,
  isKnownCode,
  isOpenedByPayer,
  isSameMint,
  knownMints,
  type Mint,
  pickMints,
  type TokenCode,
} from '../../core/money/tokens.ts'
import { dividePrice } from '../../core/payment/splits.ts'
import {
  formatObjection,
  type Inspection,
  judgeToken,
  type Offering,
  type TokenTerms,
} from '../../core/payment/token-rules.ts'
import type { RouteConfig } from '../config/config.ts'
import type { Readiness } from '../runtime/catalog.ts'
import type { Look } from '../runtime/route-warnings.ts'
import type { Runtime } from '../runtime/runtime.ts'

/**
 * Intervals: while nothing is offered or known, while some tokens fail, and while all are good, because fees and
 * accounts change.
 */
const [hurriedMs, patientMs, calmMs] = [5_000, 30_000, 300_000]
const notAskedYet = 'the chain has not been read yet'

/** The state of each accepted token, in the configured order. */
interface Findings {
  readonly offered: ReadonlyMap<TokenCode, Offering>
  readonly withheld: ReadonlyMap<TokenCode, string>
  /** Warnings for the operator about offered tokens. */
  readonly doubts: readonly string[]
}

/** Checks at once, then periodically. */
export function startProbe(runtime: Runtime, config: RouteConfig) {
  const { recipient, splits, acceptedMints, verifyOnChain } = config
  const wallets = [recipient, ...splits.map((split) => split.recipient)]
  const tell = createTeller()
  let findings = firstFindings(runtime, config)
  let hasAsked = !verifyOnChain
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false

  const inspect = async (look: Look): Promise<readonly Unopened[]> => {
    const mints = pickMints(acceptedMints, config.mints)
    const judgedWallets = await Promise.all(
      wallets.map(async (wallet) => {
        const inspection = await runtime.inspect({ recipient: wallet, mints })
        if (inspection.kind === 'seen') return judgeAll(runtime, config, wallet, inspection)
        look.say('warn', 'token.unchecked', { why: inspection.why })
        throw new PaystileError('chain_unavailable', `the chain cannot be read yet: ${inspection.why}`)
      }),
    )
    const judged = joinJudgements(judgedWallets)
    const bound = await bindOffered(runtime, config, judged.findings)
    hasAsked = true
    if (nameOf(bound) !== nameOf(findings)) findings = bound
    return judged.unopened
  }

  /** Without a look at the chain, the configured mints count. */
  const trust = async (): Promise<readonly Unopened[]> => {
    const offered = new Map(acceptedMints.map((code) => [code, { fees: [], leastUnits: 0n }] as const))
    findings = await bindOffered(runtime, config, { offered, withheld: new Map(), doubts: [] })
    return []
  }

  const find = async (look: Look): Promise<void> => {
    await Promise.all(wallets.map(runtime.prepareRecipient))
    try {
      const unopened = verifyOnChain ? await inspect(look) : await trust()
      if (!stopped && (await openAll(runtime, config, unopened))) await inspect(look)
    } catch (error) {
      // The last result stays valid until a node contradicts it.
      if (!hasAsked) throw error
    }
    tell(findings, look)
  }

  const ask = async (): Promise<Readiness> => {
    const look = runtime.warnings.look(nameRoute(config))
    await find(look).finally(look.end)
    if (findings.offered.size === 0) throw new ConfigurationError([...findings.withheld.values()])
    return { offered: [...findings.offered.keys()], withheld: Object.fromEntries(findings.withheld) }
  }

  const rest = (): void => {
    if (stopped || !verifyOnChain) return
    const isWell = hasAsked && findings.offered.size > 0
    timer = setTimeout(repeat, !isWell ? hurriedMs : findings.withheld.size > 0 ? patientMs : calmMs)
    timer.unref?.()
  }
  // Requests in the meantime get the last result.
  const repeat = (): void => {
    const asking = ask()
    const done = (): void => {
      latest = asking
      rest()
    }
    asking.then(done, done)
  }
  let latest = ask()
  latest.then(rest, rest)

  return {
    /** The offered tokens, with the facts that a quote needs. The same object while nothing changes. */
    offered: () => findings.offered,
    /** The reason for each token that is not offered, one sentence each. */
    withheld: () => findings.withheld,
    /** `waiting`: nothing can be offered yet. `bad`: nothing can be offered. */
    state: () => (findings.offered.size > 0 ? 'good' : hasAsked ? 'bad' : 'waiting'),
    /**
     * Resolves after the check if at least one token is offered. Rejects with a `ConfigurationError` if none can be, and
     * with the reason while no node has responded, even if known tokens are already offered.
     */
    result: () => latest,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

export type Probe = ReturnType<typeof startProbe>

/**
 * The state before the first check: known mints count as good, mints of the provider do not. With splits, nothing is
 * offered before the ledger has them.
 */
function firstFindings(runtime: Runtime, { acceptedMints, mints, splits, verifyOnChain }: RouteConfig): Findings {
  const known = knownMints[runtime.config.network]
  const offered = new Map<TokenCode, Offering>()
  const withheld = new Map<TokenCode, string>()
  for (const code of acceptedMints) {
    const mint = findMint(code, mints)
    const isTrusted = !mint || isSameMint(mint, findMint(code, known)) || (!verifyOnChain && isKnownCode(code))
    if (isTrusted && splits.length === 0) offered.set(code, { fees: [], leastUnits: 0n })
    else withheld.set(code, notAskedYet)
  }
  return { offered, withheld, doubts: [] }
}

interface Unopened {
  readonly recipient: string
  readonly code: TokenCode
  readonly mint: Mint
}

interface Judgement {
  readonly findings: Findings
  readonly unopened: readonly Unopened[]
}

/** Judges all tokens for one of the wallets. */
function judgeAll(
  runtime: Runtime,
  config: RouteConfig,
  recipient: string,
  inspection: Extract<Inspection, { kind: 'seen' }>,
): Judgement {
  const place = config.splits.findIndex((split) => split.recipient === recipient)
  const name = place < 0 ? '' : `splits.${place}.`
  const offered = new Map<TokenCode, Offering>()
  const withheld = new Map<TokenCode, string>()
  const unopened: Unopened[] = []
  const doubts: string[] = []
  for (const code of config.acceptedMints) {
    const terms = readTerms(config, code, recipient)
    const verdict = judgeToken(terms, inspection)
    if (verdict.kind === 'unopened' && terms.mint) unopened.push({ recipient, code, mint: terms.mint })
    const isUnopened = verdict.kind === 'unopened'
    // The payer opens only the account of the recipient, not those of others.
    const isOffered = verdict.kind === 'good' || (isUnopened && place < 0 && isOpenedByPayer(runtime.config.network))
    if (isOffered) offered.set(code, verdict.offering)
    else withheld.set(code, name + (isUnopened && config.accountKey ? beingOpened(code) : formatObjection(verdict)))
    if (verdict.kind === 'good') doubts.push(...verdict.warnings.map((warning) => name + warning))
  }
  return { findings: { offered, withheld, doubts }, unopened }
}

/** A token is offered if all wallets can receive it. */
function joinJudgements(judged: readonly Judgement[]): Judgement {
  const [first = { findings: { offered: new Map(), withheld: new Map(), doubts: [] }, unopened: [] }, ...others] =
    judged
  if (others.length === 0) return first
  const all = judged.map(({ findings }) => findings)
  const withheld = new Map(all.toReversed().flatMap((findings) => [...findings.withheld]))
  const offered = new Map(
    [...first.findings.offered].flatMap(([code, { fees }]) => {
      const least = all.map((findings) => findings.offered.get(code)?.leastUnits ?? 0n)
      const leastUnits = least.reduce((most, one) => (one > most ? one : most), 0n)
      return withheld.has(code) ? [] : [[code, { fees, leastUnits }] as const]
    }),
  )
  const doubts = all.flatMap((findings) => findings.doubts)
  return { findings: { offered, withheld, doubts }, unopened: judged.flatMap(({ unopened }) => unopened) }
}

/**
 * The ledger binds the codes of other tokens to their mints, once the chain has confirmed them and before they are
 * quoted. A code that it knows for another mint is withheld. The ledger also keeps the splits before they are quoted.
 */
async function bindOffered(runtime: Runtime, config: RouteConfig, findings: Findings): Promise<Findings> {
  const { recipient, splits, mints } = config
  if (splits.length > 0) await runtime.splits.keep({ recipient, splits })
  const [offered, withheld] = [new Map(findings.offered), new Map(findings.withheld)]
  for (const code of findings.offered.keys()) {
    const mint = isKnownCode(code) ? undefined : findMint(code, mints)
    const why = mint && (await runtime.tokens.bind(code, mint))
    if (why === undefined) continue
    offered.delete(code)
    withheld.set(code, why)
  }
  return { ...findings, offered, withheld }
}

const beingOpened = (code: TokenCode): string =>
  `recipient: has no ${code} account yet; accountKey opens it; if that fails, see the log`

/** The terms on which one of a route's wallets accepts a token, for `judgeToken`. */
export function readTerms(config: RouteConfig, code: TokenCode, recipient = config.recipient): TokenTerms {
  const { mints, allowedTraits } = config
  return {
    code,
    recipient,
    mint: findMint(code, mints),
    units: unitsOf(config, code, recipient),
    allowed: allowedTraits[code] ?? [],
  }
}

/**
 * The wallet's part of the price, if the price is the same for all requests and constant. Other prices are checked when
 * they are quoted.
 */
function unitsOf({ pricing, splits, rates, mints }: RouteConfig, code: TokenCode, wallet: string): bigint | undefined {
  const { price, per, token, decimals } = pricing
  if (typeof price === 'function' || per.kind !== 'allowance' || rates.kind !== 'fixed') return undefined
  const whole = convertAll({ token, units: price, decimals }, [code], mints, rates.table)[code]
  const divided = whole === undefined ? undefined : dividePrice(whole, splits)
  return divided?.parts.find(({ recipient }) => recipient === wallet)?.units ?? divided?.own
}

/** True if an account was opened, so that another check is useful. */
async function openAll(
  { log, openAccount }: Runtime,
  { accountKey }: RouteConfig,
  unopened: readonly Unopened[],
): Promise<boolean> {
  if (accountKey === undefined) return false
  let any = false
  for (const { recipient, code, mint } of unopened) {
    const opening = await openAccount({ recipient, mint, key: accountKey })
    if (opening.kind === 'opened') log.info('token_account.opened', { token: code, recipient, tx: opening.tx })
    if (opening.kind === 'failed') log.error('token_account.open_failed', { token: code, why: opening.why })
    any ||= opening.kind === 'opened'
  }
  return any
}

/** A route in logs and metrics: its methods and path, or its scope. */
export function nameRoute({ endpoint, scope }: RouteConfig): string {
  return endpoint ? `${endpoint.methods.join(',')} ${endpoint.path}` : scope
}

/** Logs changes, once each. */
function createTeller(): (findings: Findings, look: Look) => void {
  let last: Findings = { offered: new Map(), withheld: new Map(), doubts: [] }
  let wasSold = true
  return (findings, look) => {
    const { offered, withheld, doubts } = findings
    for (const [token, why] of withheld)
      if (last.withheld.get(token) !== why) look.say('error', 'token.withheld', { token, why })
    for (const token of offered.keys()) if (last.withheld.has(token)) look.say('info', 'token.offered', { token })
    for (const why of doubts) if (!last.doubts.includes(why)) look.say('warn', 'token_account.at_risk', { why })
    const isSold = offered.size > 0
    if (wasSold && !isSold) look.say('error', 'route.not_selling', { why: [...withheld.values()].join('; ') })
    wasSold = isSold
    last = findings
  }
}

function nameOf({ offered, withheld, doubts }: Findings): string {
  return canonicalJson([[...offered], [...withheld], doubts])
}
