/** The client for Node: a journal in a file, persistent connections, and the wallet of an agent. */
import { join } from 'node:path'
import { createSignatureNotices, type SignatureNotices } from '../chain/rpc/signature-notices.ts'
import { parseNodes } from '../core/money/tokens.ts'
import { createWallClock } from '../host/clock.ts'
import { findLocalnet, homeDirectory } from '../host/home.ts'
import { createHttpTransport } from '../host/net/transport.ts'
import { shareInProcess } from '../host/process-wide.ts'
import { initAgentWallet } from './agent-wallet.ts'
import { createGetAnalytics } from './analytics.ts'
import { createDownloadWith402 } from './download/download.ts'
import { createFetchWith402 } from './fetch.ts'
import { loadFileJournal } from './journal/binary.ts'
import type { Journal } from './journal/journal.ts'
import { createNodes } from './nodes.ts'

export type { KeySource, Wallet } from '../chain/keys/keypair.ts'
export { createWallet } from '../chain/keys/keypair.ts'
export { isPaystileError, PaystileError } from '../core/errors/paystile-error.ts'
export type { Challenge } from '../core/protocol/challenge.ts'
export type { Receipt, SignedReceipt } from '../core/protocol/receipt.ts'
export { isReceiptGenuine, parseReceipt } from '../core/protocol/receipt.ts'
export { type AgentWallet, type AgentWalletOptions, initAgentWallet } from './agent-wallet.ts'
export { AnalyticsError, type AnalyticsOptions, type AnalyticsSummary, type GetAnalytics } from './analytics.ts'
export type { Download, DownloadOptions, DownloadWith402, Progress } from './download/download.ts'
export { DownloadError, type DownloadErrorCode } from './download/part-file.ts'
export { JournalError, PaymentError, type PaymentErrorCode } from './errors.ts'
export type { FetchWith402 } from './fetch.ts'
export { createMemoryJournal, type Journal } from './journal/journal.ts'
export type { ClientEvent, ClientOptions, PaymentOffer } from './options.ts'
export { type SignedIn, SignInError, signInWith } from './sign-in.ts'

const journals = shareInProcess('journals', () => new Map<string, Journal>())

/**
 * One journal per file and process. It is loaded here, so that a caller with its own journal does not need the SQLite
 * binary.
 */
async function journalOfUser(): Promise<Journal> {
  const { openFileJournal } = await loadFileJournal()
  const path = join(homeDirectory(), 'client.sqlite')
  const journal = journals.get(path) ?? openFileJournal(path)
  journals.set(path, journal)
  return journal
}

const { transport } = createHttpTransport()

/** Loaded with the first payment. */
async function openNotices(urls: readonly string[]): Promise<SignatureNotices> {
  const { connectIdleSocket, listSocketUrls } = await import('../host/net/sockets.ts')
  const socketUrls = urls.flatMap(listSocketUrls)
  return createSignatureNotices({ connect: connectIdleSocket, socketUrls, clock: createWallClock() })
}

/**
 * `fetch` that pays when a server answers 402, and never pays twice for one purchase.
 *
 * It spends at most 1 USDC, 0.01 SOL or 10 NATIVE per request, unless `maxPrice` sets other limits. `maxPrice` also
 * excludes every token that it omits.
 *
 * @example
 * const response = await fetchWith402('https://api.example.com/report', { wallet, tokens: ['USDC'] })
 */
export const fetchWith402 = createFetchWith402({
  clock: createWallClock(),
  nodes: createNodes({ transport, findLocalnet: (genesis) => findLocalnet(genesis)?.rpcUrl, openNotices }),
  journal: journalOfUser,
  get defaultRpc() {
    return parseNodes(process.env['PAYSTILE_RPC'])
  },
})

/**
 * Downloads a resource into a file, pays if necessary, and resumes an interrupted call.
 *
 * The bytes are in `<path>.part` until the download is complete. Throws a `PaymentError`, or a `DownloadError` about
 * the file.
 *
 * @example
 * await downloadWith402('https://data.example.com/set.parquet', 'set.parquet', { wallet, maxPrice: { USDC: 5 } })
 */
export const downloadWith402 = createDownloadWith402({ fetchWith402, journal: journalOfUser })

/**
 * Reads the summary of a service's revenue. Without arguments it asks the service at `PAYSTILE_URL`, and signs in with the
 * agent's wallet, which must be one of the service's owners.
 *
 * @example
 * const { totalRevenue, currencyBreakdown, topEndpoints } = await getAnalytics()
 */
export const getAnalytics = createGetAnalytics({
  clock: createWallClock(),
  usualUrl: () => process.env['PAYSTILE_URL'] || undefined,
  usualWallet: () => initAgentWallet({ create: false }),
})
