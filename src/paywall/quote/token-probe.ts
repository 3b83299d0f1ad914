/**
 * Before anything is sold for a token, the chain is asked whether it can be paid with: whether the mint is what the
 * configuration says, and whether the recipient can receive it. A token that fails is not offered; the others are.
 */
import { canonicalJson } from '../../core/encoding/canonical-json.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'
import { convertAll } from '../../core/money/rates.ts'
import type { Mint, TokenCode } from '../../core/money/tokens.ts'
import { findMint, isSameMint, knownMints, pickMints } from '../../core/money/tokens.ts'
import type { Inspection, Offering, TokenTerms } from '../../core/payment/token-rules.ts'
import { judgeToken } from '../../core/payment/token-rules.ts'
import type { RouteConfig } from '../config/config.ts'
import type { Readiness } from '../runtime/catalog.ts'
import type { Look } from '../runtime/route-warnings.ts'
import type { Runtime } from '../runtime/runtime.ts'

export interface Probe {
  /** Tokens that can be sold for now, with what the quote has to mind. The same object as long as nothing changed. */
  offered(): ReadonlyMap<TokenCode, Offering>
  /** `waiting` and `bad`: nothing can be offered, yet or at all. */
  state(): 'good' | 'waiting' | 'bad'
  /** Why a token is not offered, one sentence each. */
  withheld(): ReadonlyMap<TokenCode, string>
  /**
   * Resolves when the chain was asked and at least one token is offered. Rejects with a `ConfigurationError` when none can
   * be, and with the reason when no node has told anything yet, also where known tokens are offered meanwhile.
   */
  result(): Promise<Readiness>
  stop(): void
}

/** While nothing can be sold, or nobody knows; while some tokens cannot; and when all is well: fees and accounts change. */
const [hurriedMs, patientMs, calmMs] = [5_000, 30_000, 300_000]
const notAskedYet = 'the chain has not been asked yet'

/** Where test money is free, the payer's client opens the recipient's account. On mainnet that would be a price beyond the price. */
const isOpenedByPayer = (runtime: Runtime): boolean => runtime.config.network !== 'mainnet'

/** What is known of each accepted token, in the order in which they are accepted. */
interface Findings {
  readonly offered: ReadonlyMap<TokenCode, Offering>
  readonly withheld: ReadonlyMap<TokenCode, string>
  /** What an operator should know of tokens that are offered. */
  readonly doubts: readonly string[]
}

/** Asks at once, and again and again. */
export function startProbe(runtime: Runtime, config: RouteConfig): Probe {
  const { recipient, acceptedMints, verifyOnChain } = config
  const tell = createTeller()
  let findings = firstFindings(runtime, config)
  let hasAsked = !verifyOnChain
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false

  const inspect = async (look: Look): Promise<readonly Unopened[]> => {
    const inspection = await runtime.inspect({ recipient, mints: pickMints(acceptedMints, config.mints) })
    if (inspection.kind === 'unknown') {
      look.say('warn', 'tokens not checked', { why: inspection.why })
      throw new PaystileError('chain_unavailable', `the chain cannot be read yet: ${inspection.why}`)
    }
    const judged = judgeAll(runtime, config, inspection)
    hasAsked = true
    if (nameOf(judged.findings) !== nameOf(findings)) findings = judged.findings
    return judged.unopened
  }

  const find = async (look: Look): Promise<void> => {
    await runtime.welcome(recipient)
    try {
      const unopened = verifyOnChain ? await inspect(look) : []
      if (!stopped && (await openAll(runtime, config, unopened))) await inspect(look)
    } catch (error) {
      // What was found before stays true for as long as nobody says otherwise.
      if (!hasAsked) throw error
    }
    tell(findings, look)
  }

  const ask = async (): Promise<Readiness> => {
    const look = runtime.warnings.look(routeNameOf(config))
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
  // Who asks meanwhile is told what was found last.
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
    offered: () => findings.offered,
    withheld: () => findings.withheld,
    state: () => (findings.offered.size > 0 ? 'good' : hasAsked ? 'bad' : 'waiting'),
    result: () => latest,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** Before anybody has answered: what is known here is right unless the chain says otherwise, what a provider gave is not. */
function firstFindings(runtime: Runtime, { acceptedMints, mints, verifyOnChain }: RouteConfig): Findings {
  const known = knownMints[runtime.config.network]
  const offered = new Map<TokenCode, Offering>()
  const withheld = new Map<TokenCode, string>()
  for (const code of acceptedMints) {
    const mint = findMint(code, mints)
    const isTrusted = !verifyOnChain || !mint || isSameMint(mint, findMint(code, known))
    if (isTrusted) offered.set(code, { fees: [], leastUnits: 0n })
    else withheld.set(code, notAskedYet)
  }
  return { offered, withheld, doubts: [] }
}

interface Unopened {
  readonly code: TokenCode
  readonly mint: Mint
}

function judgeAll(
  runtime: Runtime,
  config: RouteConfig,
  inspection: Extract<Inspection, { kind: 'seen' }>,
): { readonly findings: Findings; readonly unopened: readonly Unopened[] } {
  const offered = new Map<TokenCode, Offering>()
  const withheld = new Map<TokenCode, string>()
  const unopened: Unopened[] = []
  const doubts: string[] = []
  for (const code of config.acceptedMints) {
    const terms = termsOf(config, code)
    const verdict = judgeToken(terms, inspection)
    if (verdict.kind === 'unopened' && terms.mint) unopened.push({ code, mint: terms.mint })
    const isUnopened = verdict.kind === 'unopened'
    if (verdict.kind === 'good' || (isUnopened && isOpenedByPayer(runtime))) offered.set(code, verdict.offering)
    else withheld.set(code, isUnopened && config.accountKey ? beingOpened(code) : verdict.why)
    if (verdict.kind === 'good') doubts.push(...verdict.warnings)
  }
  return { findings: { offered, withheld, doubts }, unopened }
}

const beingOpened = (code: TokenCode): string =>
  `recipient: has no ${code} account yet; it is opened with accountKey, and the log says if that fails`

function termsOf(config: RouteConfig, code: TokenCode): TokenTerms {
  const { recipient, mints, allowedTraits } = config
  return {
    code,
    recipient,
    mint: findMint(code, mints),
    units: unitsOf(config, code),
    allowed: allowedTraits[code] ?? [],
  }
}

/** The price, where it is the same for everybody and for good. Others are looked at as they are quoted. */
function unitsOf({ pricing, rates, mints }: RouteConfig, code: TokenCode): bigint | undefined {
  const { price, per, token, decimals } = pricing
  if (typeof price === 'function' || per.kind !== 'allowance' || rates.kind !== 'fixed') return undefined
  return convertAll({ token, units: price, decimals }, [code], mints, rates.table)[code]
}

/** True when one was opened, so that another look is worth it. */
async function openAll(
  { log, openAccount }: Runtime,
  { recipient, accountKey }: RouteConfig,
  unopened: readonly Unopened[],
): Promise<boolean> {
  if (accountKey === undefined) return false
  let any = false
  for (const { code, mint } of unopened) {
    const opening = await openAccount({ recipient, mint, key: accountKey })
    if (opening.kind === 'opened') log.info('token account opened', { token: code, recipient, tx: opening.tx })
    if (opening.kind === 'failed') log.error('token account not opened', { token: code, why: opening.why })
    any ||= opening.kind === 'opened'
  }
  return any
}

function routeNameOf({ endpoint, scope }: RouteConfig): string {
  return endpoint ? `${endpoint.methods.join(',')} ${endpoint.path}` : scope
}

/** Says what changed, once. */
function createTeller(): (findings: Findings, look: Look) => void {
  let last: Findings = { offered: new Map(), withheld: new Map(), doubts: [] }
  let wasSold = true
  return (findings, look) => {
    const { offered, withheld, doubts } = findings
    for (const [token, why] of withheld)
      if (last.withheld.get(token) !== why) look.say('error', 'token not offered', { token, why })
    for (const token of offered.keys()) if (last.withheld.has(token)) look.say('info', 'token offered again', { token })
    for (const why of doubts)
      if (!last.doubts.includes(why)) look.say('warn', 'somebody else has rights in an account', { why })
    const isSold = offered.size > 0
    if (wasSold && !isSold) look.say('error', 'nothing is sold', { why: [...withheld.values()].join('; ') })
    wasSold = isSold
    last = findings
  }
}

function nameOf({ offered, withheld, doubts }: Findings): string {
  return canonicalJson([[...offered], [...withheld], doubts])
}
