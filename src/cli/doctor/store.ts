/** Checks the ledger: it opens, belongs to this service, is durable, and has room. */
import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { TokenCode } from '../../core/money/tokens.ts'
import { parseLedgerUrl } from '../../core/ports/ledger-url.ts'
import type { SponsoredSums } from '../../core/ports/sponsor.ts'
import { createWallClock } from '../../host/clock.ts'
import { localLedgerFile, localnetDirectory } from '../../host/home.ts'
import { inspectLedger } from '../../ledger/inspect.ts'
import type { LedgerFacts } from '../../ledger/inspect-answers.ts'
import type { ServiceConfig } from '../../paywall/config/config.ts'
import { bytesText } from '../allowance-text.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const [leastFree, littleFree] = [100_000_000, 1_000_000_000]

export interface StoreReport {
  readonly findings: readonly Finding[]
  readonly aheadMs: number | undefined
  /** Undefined if it is unknown. */
  readonly sponsored?: SponsoredSums | undefined
}

export async function checkStore(
  config: ServiceConfig,
  genesis: string | undefined,
  { reportToken, owes = false }: { readonly reportToken?: TokenCode | undefined; readonly owes?: boolean } = {},
): Promise<StoreReport> {
  const { network, service, keyring, ledger } = config
  if (typeof ledger === 'object') return none(ok('is an object of your program and is not checked'))
  if (ledger === undefined && network === 'localnet' && config.rpc.length > 0) {
    const file = genesis === undefined ? undefined : localLedgerFile(localnetDirectory(genesis))
    if (file === undefined) return none(ok('is kept beside the chain once it responds'))
    // The directory belongs to the chain and may not exist yet.
    if (!existsSync(file)) return none(ok(`${file} will be created at the first start`))
  }
  const url = ledger ?? usualLedger(config, genesis)
  if (parseLedgerUrl(url)?.kind === 'memory') return none(memoryWords(config, owes))
  if (network === 'localnet' && config.rpc.length === 0) {
    const mend = 'remove ledger from the configuration, or run npx paystile localnet --keep and set its address as rpc'
    return none(fail('outlives the local chain, so the next start would refuse it', mend))
  }
  const identity = {
    network,
    service,
    ...(keyring && { fingerprint: keyring.fingerprint }),
    ...(genesis !== undefined && { genesis }),
    ...(reportToken !== undefined && { reportToken }),
  }
  const inspection = await inspectLedger(url, identity, createWallClock().now())
  if (inspection.kind === 'unavailable')
    return none(fail(inspection.why, 'start the database, or correct ledger in the configuration (PAYSTILE_LEDGER)'))
  const { facts } = inspection
  const room = roomWords(facts)
  const relative = relativeWords(url)
  if (inspection.kind === 'bad') {
    const mend = inspection.remedy ?? 'correct ledger in the configuration (PAYSTILE_LEDGER)'
    return { findings: [fail(inspection.why, mend), ...room], aheadMs: facts.aheadMs }
  }
  const words = inspection.kind === 'new' ? `${facts.name} will be created at the first start` : goodWords(facts)
  const { aheadMs, sponsored } = facts
  return { findings: [ok(words), ...room, ...relative], aheadMs, sponsored }
}

/** A service with payouts that loses its ledger loses the record of payables and payouts. */
function memoryWords(config: ServiceConfig, owes: boolean): Finding {
  if (!owes) return ok('is in memory: payments are lost at the next start')
  const words = 'is in memory: rewards, refunds and conversions are lost at the next start, and commands cannot read it'
  const isOwnChain = config.network === 'localnet' && config.rpc.length === 0
  return warn(
    words,
    isOwnChain
      ? 'run npx paystile localnet and set its address as rpc'
      : 'set ledger: to a file, such as ledger.sqlite',
  )
}

const none = (finding: Finding): StoreReport => ({ findings: [finding], aheadMs: undefined })

/** The ledger of a service without the option `ledger`. */
function usualLedger({ network, rpc }: ServiceConfig, genesis: string | undefined): string {
  if (network !== 'localnet') return join('.paystile', `${network}.sqlite`)
  if (rpc.length === 0 || genesis === undefined) return 'memory:'
  return localLedgerFile(localnetDirectory(genesis))
}

function goodWords({ name, payments = 0, version = 0, latest = 0 }: LedgerFacts): string {
  const count = `${payments} ${payments === 1 ? 'payment' : 'payments'}`
  const update = version < latest ? `; the next start upgrades it from schema ${version} to ${latest}` : ''
  return `${name} is intact and matches the chain and the secret, with ${count}${update}`
}

export function roomWords({ freeBytes }: LedgerFacts): readonly Finding[] {
  if (freeBytes === undefined || freeBytes >= littleFree) return []
  const words = `only ${bytesText(freeBytes)} are free on the disk of the ledger`
  const mend = 'free some space, or move the ledger to another disk'
  return [freeBytes < leastFree ? fail(words, mend) : warn(words, mend)]
}

/** Started in another directory, the service would create a new ledger, and payments would be accepted twice. */
function relativeWords(url: string): readonly Finding[] {
  const place = parseLedgerUrl(url)
  if (place?.kind !== 'sqlite' || isAbsolute(place.path)) return []
  return [ok(`its path is relative: always start the service from ${process.cwd()}`)]
}
