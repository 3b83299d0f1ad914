/** `verifyPayment` (a boolean) and `checkPayment` (the whole verdict). Both open their own connections and use no payment. */
import { findTokenAccount } from '../chain/accounts/programs.ts'
import { createChain } from '../chain/read/chain.ts'
import { createRpc } from '../chain/rpc/rpc.ts'
import { readChainTime } from '../chain/rpc/time.ts'
import { decodeAddress } from '../core/encoding/base58.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { readPrice } from '../core/money/price.ts'
import {
  checkMints,
  findDecimals,
  genesisHashes,
  isNetwork,
  isTokenCode,
  knownMints,
  listTokens,
  type MintTable,
  type Network,
  networks,
  parseNodes,
  publicNodes,
  type TokenCode,
} from '../core/money/tokens.ts'
import type { RecipientSet } from '../core/payment/splits.ts'
import type { Ledger } from '../core/ports/ledger.ts'
import type { Clock } from '../core/runtime.ts'
import { createWallClock } from '../host/clock.ts'
import { findLocalnet } from '../host/home.ts'
import { createVerifier } from '../host/keys/ed25519.ts'
import { createLog } from '../host/log.ts'
import { createHttpTransport } from '../host/net/transport.ts'
import { openLedger } from '../ledger/open.ts'
import { type Expectation, type ExpectedPayment, judgePayment, type Verdict } from '../paywall/claim/check-payment.ts'
import { type Environment, openKeyring } from '../paywall/config/config.ts'
import { createSplitRegistry } from '../paywall/runtime/split-registry.ts'
import { createTokenRegistry } from '../paywall/runtime/token-registry.ts'

export interface VerifyOptions {
  readonly recipient: string
  /** In units of `mint`. */
  readonly amount: number | string
  /** The token code of the payment. */
  readonly mint: TokenCode
  readonly payer?: string
  readonly network?: Network
  readonly rpc?: string | readonly string[]
  /** Without a ledger, the use of the payment is not checked. */
  readonly ledger?: string | Ledger
  /** Without a secret, the authenticity of the requestId is not checked. */
  readonly secret?: string
  readonly service?: string
  readonly mints?: MintTable
  readonly waitSeconds?: number
}

/** Options that may be omitted if the requestId contains the quote. */
export type CheckOptions = Omit<VerifyOptions, 'recipient' | 'amount' | 'mint'> &
  Partial<Pick<VerifyOptions, 'recipient' | 'amount' | 'mint'>>

/**
 * Validates a payment proof on chain. Consumes nothing.
 *
 * Returns false for any invalid payment. Throws only for wrong options.
 *
 * @example
 * await verifyPayment(tx, requestId, { recipient, amount: 0.01, mint: 'USDC', network: 'devnet' })
 */
export async function verifyPayment(txHash: string, requestId: string, options: VerifyOptions): Promise<boolean> {
  // Programs in JavaScript may leave out the options.
  const given: Partial<VerifyOptions> = options ?? {}
  const missing = (['recipient', 'amount', 'mint'] as const).filter((name) => given[name] === undefined)
  if (missing.length > 0) throw new ConfigurationError(missing.map((name) => `${name}: is missing`))
  return (await checkPayment(txHash, requestId, options)).valid
}

/** The same with the whole verdict: every check with its result. */
export async function checkPayment(txHash: string, requestId: string, options: CheckOptions = {}): Promise<Verdict> {
  const read = readOptions(options, process.env)
  const http = createHttpTransport()
  const rpc = createRpc({ urls: read.urls, transport: http.transport })
  const clock = await chooseClock(read.network, rpc)
  const genesis = genesisHashes[read.network]
  const chain = createChain({
    rpc,
    verifier: createVerifier(),
    clock,
    log: createLog(),
    ...(genesis !== undefined && { genesis }),
  })
  let opened: Ledger | undefined
  try {
    opened = await openLedgerFor(read, clock)
    const { network, service, keyring, waitMs } = read
    const ledger = opened ?? (typeof options.ledger === 'object' ? options.ledger : undefined)
    const mints = { ...read.mints, ...(ledger && (await readBoundMints(ledger))) }
    const tokenAccountOf = (owner: string, mint: { address: string; tokenProgram: string }) =>
      findTokenAccount(owner, mint.address, mint.tokenProgram)
    const splits = ledger ? await readKeptSplits(ledger, clock) : []
    const parts = { chain, clock, network, service, mints, keyring, ledger, splits, waitMs, tokenAccountOf }
    return await judgePayment(parts, txHash, requestId, read.expected)
  } finally {
    await opened?.close()
    await chain.close()
    await http.close()
  }
}

/** The ledger's own meaning of the codes of other tokens takes precedence. */
async function readBoundMints({ kv }: Ledger): Promise<MintTable> {
  const tokens = createTokenRegistry(kv)
  await tokens.load()
  return tokens.complete({})
}

async function readKeptSplits({ kv }: Ledger, clock: Clock): Promise<readonly RecipientSet[]> {
  const splits = createSplitRegistry(kv, clock)
  await splits.load()
  return [...splits.known().values()]
}

function readOptions(options: CheckOptions, environment: Environment) {
  const problems: string[] = []
  const network = options.network ?? (environment['PAYSTILE_NETWORK'] || 'mainnet')
  if (!isNetwork(network)) {
    const name = options.network === undefined ? 'network (PAYSTILE_NETWORK)' : 'network'
    throw new ConfigurationError([`${name}: must be one of ${networks.join(', ')}, not "${network}"`])
  }
  const given = options.rpc ?? parseNodes(environment['PAYSTILE_RPC']) ?? []
  const urls = typeof given === 'string' ? [given] : given.length > 0 ? given : listNodes(network)
  if (urls.length === 0) problems.push(`rpc: give the URL of a ${network} node (option rpc or PAYSTILE_RPC)`)
  problems.push(...checkMints(options.mints))
  if (problems.length > 0) throw new ConfigurationError(problems)
  const mints = { ...knownMints[network], ...options.mints }
  const secret = options.secret ?? environment['PAYSTILE_SECRET']
  const keyring = secret === undefined ? undefined : openKeyring(secret, problems)
  const ledgerUrl = typeof options.ledger === 'object' ? undefined : (options.ledger ?? environment['PAYSTILE_LEDGER'])
  const expected = readExpectation(options, mints, problems)
  if (!expected.payment && secret === undefined)
    problems.push('recipient, amount and mint: give them, or the secret that decodes the requestId')
  if (problems.length > 0) throw new ConfigurationError(problems)
  const service = options.service ?? environment['PAYSTILE_SERVICE'] ?? 'default'
  return { network, urls, service, mints, keyring, ledgerUrl, expected, waitMs: (options.waitSeconds ?? 10) * 1000 }
}

function readExpectation(options: CheckOptions, mints: MintTable, problems: string[]): Expectation {
  const { payer } = options
  if (payer !== undefined && decodeAddress(payer) === undefined) problems.push('payer: must be a Solana address')
  return { payer, payment: readPayment(options, mints, problems) }
}

function readPayment(options: CheckOptions, mints: MintTable, problems: string[]): ExpectedPayment | undefined {
  const { recipient, amount, mint } = options
  if (recipient === undefined && amount === undefined && mint === undefined) return undefined
  if (recipient === undefined || decodeAddress(recipient) === undefined)
    problems.push('recipient: must be a Solana address')
  if (!isTokenCode(mint)) {
    problems.push(`mint: must be one of ${listTokens(mints).join(', ')}`)
    return undefined
  }
  const decimals = findDecimals(mint, mints)
  if (decimals === undefined) problems.push(`mints.${mint}: give the mint's address, decimals and token program`)
  const price = readPrice(amount, mint, decimals ?? 0)
  if (price.kind === 'problem') problems.push(`amount: ${price.why}`)
  const units = price.kind === 'price' ? price.units : 0n
  return { recipient: recipient ?? '', token: mint, units }
}

/** Empty on mainnet: for real money the caller must choose the nodes to trust. */
function listNodes(network: Network): readonly string[] {
  if (network === 'devnet') return publicNodes.devnet
  const url = network === 'localnet' ? findLocalnet()?.rpcUrl : undefined
  return url === undefined ? [] : [url]
}

async function chooseClock(network: Network, rpc: Parameters<typeof readChainTime>[0]): Promise<Clock> {
  const wall = createWallClock()
  const time = network === 'localnet' ? await readChainTime(rpc) : undefined
  return time === undefined ? wall : { now: () => time, monotonic: wall.monotonic }
}

async function openLedgerFor({ ledgerUrl, keyring, network, service }: ReturnType<typeof readOptions>, clock: Clock) {
  if (ledgerUrl === undefined) return undefined
  if (!keyring) throw new ConfigurationError(['ledger: needs its secret (option secret or PAYSTILE_SECRET)'])
  return openLedger(ledgerUrl, { clock, identity: { network, service, fingerprint: keyring.fingerprint } })
}
