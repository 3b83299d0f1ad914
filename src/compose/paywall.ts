/**
 * Assembles a service from chain, ledger, clock and keys. Routes with equal settings share one service. Only `compose/`
 * knows the implementations.
 */
import { findTokenAccount } from '../chain/accounts/programs.ts'
import { createInspector } from '../chain/accounts/recipient.ts'
import type { Wallet } from '../chain/keys/keypair.ts'
import { readWallet } from '../chain/keys/wallet-source.ts'
import { createChain } from '../chain/read/chain.ts'
import { createSignedTransactions, type SignedTransactions } from '../chain/read/signed-transactions.ts'
import type { WatchJournal } from '../chain/read/watched-payments.ts'
import { createNodeStates } from '../chain/rpc/node-states.ts'
import { readLatestTime } from '../chain/rpc/time.ts'
import { createOpener } from '../chain/wallets/open-token-account.ts'
import { createOutgoingWallet } from '../chain/wallets/outgoing-wallet.ts'
import { createPaymentDrafts } from '../chain/wallets/payment-drafts.ts'
import { createSubmitter, encodeWire } from '../chain/wallets/sponsor.ts'
import { createWalletHistory } from '../chain/wallets/wallet-history.ts'
import { createLimits, type Limits } from '../core/collections/limits.ts'
import { createTurns } from '../core/collections/turns.ts'
import { encodeBase58 } from '../core/encoding/base58.ts'
import { encodeBase64url } from '../core/encoding/base64url.ts'
import { prepareHmac } from '../core/encoding/hmac.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import type { Meter } from '../core/observability/metrics.ts'
import { redactLog } from '../core/observability/redact.ts'
import { createRefusalLog } from '../core/payment/refusal-log.ts'
import { type Ledger, LedgerUnavailable } from '../core/ports/ledger.ts'
import type { Clock, Log, Verifier } from '../core/runtime.ts'
import { createEncoder } from '../host/base64url.ts'
import { createWallClock } from '../host/clock.ts'
import { createIdentity, createSign, createVerifier } from '../host/keys/ed25519.ts'
import { withKeyFile } from '../host/keys/key-file.ts'
import { createSealer } from '../host/keys/seal.ts'
import { createLog } from '../host/log.ts'
import { connectSocket, listSocketUrls } from '../host/net/sockets.ts'
import { readCheckoutFiles } from '../host/pages.ts'
import { findProcesses } from '../host/processes.ts'
import { createTrace } from '../host/trace.ts'
import { readVersion } from '../host/version.ts'
import { openLedger } from '../ledger/open.ts'
import { recordObservations } from '../paywall/claim/observed-payments.ts'
import { type Config, readConfig, type ServiceConfig } from '../paywall/config/config.ts'
import type { AccountKey } from '../paywall/config/kinds.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import { createPaywall, type Paywall, type ServiceHandle } from '../paywall/paywall.ts'
import { createPendingPayments } from '../paywall/runtime/pending-payments.ts'
import { createRateLimit } from '../paywall/runtime/rate-limit.ts'
import { createRuntime, type Runtime, type RuntimeParts } from '../paywall/runtime/runtime.ts'
import { createUnfinalizedPayments } from '../paywall/runtime/unfinalized.ts'
import { createUsageCounters } from '../paywall/runtime/usage-counters.ts'
import { noClockCheck, startClockCheck } from '../workers/clock-check.ts'
import { startFinality } from '../workers/finality.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import { startSubmissionOutcomes } from '../workers/submissions.ts'
import { createThrottledLog } from '../workers/throttled-log.ts'
import { openFaucetSource } from './faucet.ts'
import { observeChain, observeLedger, shareMeter } from './instrument.ts'
import { closeAll, keepNetwork, type NetworkContext, type OpenNetwork, type Stops } from './network.ts'
import { rememberOpen } from './open-paywalls.ts'
import { shareRates } from './rates.ts'
import { withSettlement } from './settlement/settlement.ts'
import { createVenue } from './settlement/venue.ts'
import { checkSponsorKey, createSponsors, createWalletUses } from './sponsor.ts'
import { openTestPayer } from './test-payer.ts'

export { createTrace, readCheckoutFiles }

/** Opens a paywall from a provider's options. Every adapter starts here. */
export function openPaywall(options: ProviderOptions): Paywall {
  return openConfiguredPaywall(readConfig(options, process.env))
}

/** Opens a paywall from a parsed configuration. Throws a `ConfigurationError` if the sponsor's key file is unusable. */
export function openConfiguredPaywall(config: Config): Paywall {
  checkSponsorKey(config.route.sponsor)
  const log = openLog(config.log)
  if (config.service.network === 'mainnet' && config.route.publicUrl === undefined) {
    log.warn('config.public_url_missing', {
      why: 'signed proofs and receipts contain the Host header that the client sent',
    })
  }
  const paywall = createPaywall(config, withSettlement(openHandle(config.service, log), config.route, log), log)
  const { endpoint, scope, description } = config.route
  const name = `the paywall of ${endpoint?.path ?? description ?? scope}`
  const close = rememberOpen(paywall.close, { name, log })
  return { ...paywall, close, retire: () => paywall.retire().finally(close) }
}

/** The provider's own log with secrets redacted, or lines on stderr. */
export function openLog(log: Log | undefined): Log {
  return log ? redactLog(log) : createLog()
}

interface Shared {
  users: number
  get(): Runtime | Promise<Runtime>
  stop(): Promise<void>
}

const services = new Map<string, Shared>()
const ledgerNames = new WeakMap<Ledger, string>()

/** Callers with equal settings share a service. It closes with the last of them. */
export function openHandle(config: ServiceConfig, log: Log): ServiceHandle {
  const name = nameService(config)
  const shared = services.get(name) ?? share(config, log)
  services.set(name, shared)
  shared.users += 1
  let released = false
  return {
    get: shared.get,
    release: async () => {
      if (released) return
      released = true
      shared.users -= 1
      if (shared.users > 0) return
      services.delete(name)
      await shared.stop()
    },
  }
}

/** Services with equal names share ledger and nodes. Secrets appear as their fingerprint only. */
export function nameService({ network, rpc, ledger, keyring, service, watch, reportToken }: ServiceConfig): string {
  if (typeof ledger === 'object' && !ledgerNames.has(ledger)) ledgerNames.set(ledger, crypto.randomUUID())
  const ledgerName = typeof ledger === 'object' ? ledgerNames.get(ledger) : ledger
  const keys = keyring && [keyring.fingerprint, keyring.sealing, ...[...keyring.sealKeys].map(nameKey)]
  return JSON.stringify([network, rpc, ledgerName, keys, service, watch, reportToken])
}

function nameKey([id, key]: readonly [number, Uint8Array]): string {
  return `${id}:${encodeBase64url(prepareHmac(key)(new Uint8Array()), 9)}`
}

const firstPauseMs = 1_000
const longestPauseMs = 10_000

function share(config: ServiceConfig, everyLine: Log): Shared {
  let current: Started | undefined
  let starting: Promise<Started> | undefined
  let stopped = false
  let failures = 0
  const log = createThrottledLog(everyLine, createWallClock())
  const network = keepNetwork(config, everyLine)
  const attempt = async (): Promise<Started> => {
    try {
      current = await start(config, await network.open(), everyLine)
      if (failures > 0) log.info('paywall.started', { failures })
      return current
    } catch (error) {
      log.error('paywall.start_failed', { why: error instanceof Error ? error.message : String(error) })
      // Until then all requests get this failure, so a flood of requests causes one attempt.
      const pauseMs = Math.min(firstPauseMs * 2 ** failures, longestPauseMs)
      failures += 1
      setTimeout(() => {
        starting = undefined
      }, pauseMs).unref()
      throw error
    }
  }
  const begin = async (): Promise<Runtime> => {
    if (stopped) throw new PaystileError('closed', 'this paywall is closed')
    starting ??= attempt()
    return (await starting).service
  }
  // Starts now and not at the first request. `ready` reports a failure, and a later request retries.
  begin().catch(() => {})
  return {
    users: 0,
    get: () => current?.service ?? begin(),
    stop: async () => {
      stopped = true
      const started = await starting?.catch(() => undefined)
      await started?.stop()
      await network.close()
    },
  }
}

type Seen = Parameters<WatchJournal['note']>

interface Started {
  readonly service: Runtime
  stop(): Promise<void>
}

/** Another server may accept tokens that this one does not know. */
const registryMs = 30_000

async function start(config: ServiceConfig, { http, meter, context }: OpenNetwork, log: Log): Promise<Started> {
  const stops: Stops = []
  const stop = (): Promise<void> => closeAll(stops)
  try {
    const { rpc, genesis, urls } = context
    const opened = await openServiceLedger(config, context, stops)
    const host: HostParts = { http, verifier: createVerifier(), clock: opened.clock ?? context.clock, log, meter }
    const { clock, verifier } = host
    const processes = findProcesses()
    const trace = createTrace()
    const ledger = observeLedger(opened, { meter, trace, clock })
    const { journal } = ledger
    const watch = config.watch && {
      peers: processes?.watchOf(nameService(config)),
      connect: connectSocket,
      socketUrls: urls.map(listSocketUrls),
      // Nothing is watched before the service has routes.
      journal: { mark: journal.mark, note: (...seen: Seen) => recordObservations(service, journal, ...seen) },
    }
    const clockCheck =
      config.network === 'localnet' && !opened.clock
        ? noClockCheck
        : startClockCheck({ clock, log, meter, read: () => readLatestTime(rpc) })
    stops.push(clockCheck.stop)
    const signed = createSignedTransactions()
    const chain = createChain({ rpc, verifier, signed, clock, log, genesis, meter, ...(watch && { watch }) })
    stops.push(chain.close)
    const networkParts = createNetworkParts(config, context, { ...host, ledger, signed }, stops)
    let worker: Loop | undefined
    // Only services that send transactions for others have outcomes to record.
    const startSubmitter = (): Promise<void> => {
      const { submitter, sealer } = networkParts
      worker ??= startSubmissionOutcomes({
        submissions: ledger.submissions,
        sealer,
        clock,
        log,
        readStates: submitter.readStates,
        leads: service.leads,
        clockCheck,
      })
      return submitter.start()
    }
    stops.push(async () => worker?.stop())
    const service: Runtime = createRuntime(config, {
      ...createLedgerParts(ledger, host, stops, (tx) => service.changes.note(encodeBase58(tx))),
      ...networkParts,
      submitter: { ...networkParts.submitter, start: startSubmitter },
      chain: observeChain(chain, trace),
      ledger,
      trace,
      meter,
      ...shareMeter(meter, processes, stops),
      clockCheck,
    })
    const loadRegistries = async () => void (await Promise.all([service.tokens.load(), service.splits.load()]))
    await loadRegistries()
    stops.push(startLoop({ name: 'token_registry', everyMs: registryMs, work: loadRegistries, log }).stop)
    await clockCheck.first
    meter.set('paystile_ready', 1)
    const onConcluded = (tx: string, kind: 'finalized' | 'reverted') => service.emit({ kind, tx })
    stops.push(startFinality({ journal, chain, log, meter, onConcluded, leads: service.leads }).stop)
    return { service, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface HostParts {
  readonly http: OpenNetwork['http']
  readonly verifier: Verifier
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
}

/** The provider's own ledger, or the ledger at its URL. */
async function openServiceLedger(config: ServiceConfig, context: NetworkContext, stops: Stops): Promise<Ledger> {
  const { network, service, reportToken, ledger } = config
  if (typeof ledger === 'object') return ledger
  const { clock, genesis, keyring } = context
  const identity = { network, service, fingerprint: keyring.fingerprint, genesis, reportToken }
  // The clock of a localnet can be moved, and the ledger follows it.
  const ownClock = network !== 'localnet'
  try {
    const opened = await openLedger(ledger ?? context.usualLedger(), { clock, ownClock, identity })
    stops.push(opened.close)
    return opened
  } catch (error) {
    // Customers get this error for any failure to open the ledger.
    throw new LedgerUnavailable(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** The parts that use the ledger outside of requests. */
function createLedgerParts(
  { journal, books, rates: ratesJournal }: Ledger,
  { http, clock, log }: HostParts,
  stops: Stops,
  note: (tx: Uint8Array) => void,
): Pick<RuntimeParts, 'openRates' | 'exposure' | 'usage' | 'refusals' | 'pending'> {
  const rates = shareRates({ get: http.get, clock, log, journal: ratesJournal })
  stops.push(rates.stop)
  const exposure = createUnfinalizedPayments(journal, log)
  stops.push(exposure.stop)
  const usage = createUsageCounters(books, clock, log)
  stops.push(usage.stop)
  const pending = createPendingPayments(journal, log, note)
  stops.push(pending.stop)
  return { openRates: rates.open, exposure, usage, refusals: createRefusalLog(clock), pending }
}

/** The parts that depend on keys, nodes and files. */
function createNetworkParts(
  { network }: ServiceConfig,
  { rpc, genesis, urls, keyring, prepareRecipient }: NetworkContext,
  parts: HostParts & { readonly ledger: Ledger; readonly signed: SignedTransactions },
  stops: Stops,
): Omit<
  RuntimeParts,
  | keyof ReturnType<typeof createLedgerParts>
  | 'chain'
  | 'ledger'
  | 'trace'
  | 'meter'
  | 'formatMetrics'
  | 'leads'
  | 'clockCheck'
> {
  const { http, verifier, clock, log, meter, ledger, signed } = parts
  const submitter = createSubmitter({ rpc, genesis, verifier, clock })
  stops.push(submitter.stop)
  const uses = createWalletUses(openWallet)
  const sponsorParts = {
    network,
    rpc,
    verifier,
    signed,
    clock,
    log,
    meter,
    keyring,
    submitter,
    ledger,
    openWallet,
    uses,
  }
  const sponsors = createSponsors(sponsorParts, stops)
  const opener = createOpener({ rpc, clock, genesis })
  stops.push(opener.stop)
  const { transport, get, post } = http
  const openLimits = (): Limits => findProcesses()?.limits ?? createLimits(clock)
  const testMoney = { network, genesis, rpc, urls, transport, clock }
  return {
    clock,
    keyring,
    verifier,
    identity: createIdentity(keyring.identitySeed),
    genesis,
    inspect: createInspector(rpc, genesis),
    nodes: createNodeStates(rpc, clock.monotonic),
    versions: { paystile: readVersion(), node: process.versions.node },
    openOutgoingWallet: async (key, limits) =>
      createOutgoingWallet({
        rpc,
        genesis,
        verifier,
        clock,
        log,
        wallet: await uses.open(key, 'payouts, refunds or conversions'),
        ...limits,
      }),
    openWalletHistory: (wallet) => createWalletHistory(wallet, { rpc, genesis, verifier, clock, log }),
    openVenue: async (key, venue) =>
      createVenue(venue, { rpc, genesis, clock, get, post, wallet: await uses.open(key, 'settlementKey') }),
    sealer: createSealer(keyring.outgoingKey),
    openAccount: ({ key, ...order }) => opener.open({ ...order, wallet: () => uses.open(key, 'accountKey') }),
    paymentDrafts: createPaymentDrafts({ rpc, network, verifier, genesis }),
    submitter,
    payerTurns: createTurns(),
    encodeWire,
    openSponsor: sponsors.open,
    listSponsors: sponsors.list,
    checkoutFiles: readCheckoutFiles(),
    tokenAccountOf: (owner, mint) => findTokenAccount(owner, mint.address, mint.tokenProgram),
    testPayer: openTestPayer(testMoney),
    openFaucetSource: (options) => {
      if (options.faucetKey !== undefined) void uses.open(options.faucetKey, 'faucetKey').catch(() => {})
      return openFaucetSource({ ...options, ...testMoney })
    },
    prepareRecipient,
    encode: createEncoder(),
    log,
    openLimits,
    rateLimit: createRateLimit(openLimits(), 'proof'),
  }
}

async function openWallet(key: AccountKey): Promise<Wallet> {
  const read = (source: unknown) => readWallet(source, createSign)
  const wallet = await (typeof key === 'string' ? withKeyFile(key, read) : read(key))
  if (wallet) return wallet
  throw new TypeError('a key must be the path of a key file, 64 secret bytes, a kit signer, a Keypair or a wallet')
}
