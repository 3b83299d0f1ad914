/**
 * The client for browsers: no files, the platform's own fetch, and a journal in memory for the lifetime of the page.
 */
import { fetchTransport } from '../chain/rpc/fetch-transport.ts'
import { createWallClock } from '../host/clock.ts'
import { createGetAnalytics } from './analytics.ts'
import { createFetchWith402 } from './fetch.ts'
import { createMemoryJournal } from './journal/journal.ts'
import { createNodes } from './nodes.ts'

export type { KeySource, Wallet } from '../chain/keys/keypair.ts'
export { createWallet } from '../chain/keys/keypair.ts'
export { isPaystileError, PaystileError } from '../core/errors/paystile-error.ts'
export type { Challenge } from '../core/protocol/challenge.ts'
export type { Receipt, SignedReceipt } from '../core/protocol/receipt.ts'
export { isReceiptGenuine, parseReceipt } from '../core/protocol/receipt.ts'
export { AnalyticsError, type AnalyticsOptions, type AnalyticsSummary, type GetAnalytics } from './analytics.ts'
export { JournalError, PaymentError, type PaymentErrorCode } from './errors.ts'
export type { FetchWith402 } from './fetch.ts'
export { createMemoryJournal, type Journal } from './journal/journal.ts'
export type { ClientEvent, ClientOptions, PaymentOffer } from './options.ts'
export { type SignedIn, SignInError, signInWith } from './sign-in.ts'

const journal = createMemoryJournal()

/** `fetch` that pays when a server answers 402. On a localnet, `rpc` is required. */
export const fetchWith402 = createFetchWith402({
  clock: createWallClock(),
  nodes: createNodes({ transport: fetchTransport, findLocalnet: () => undefined }),
  journal: () => journal,
  defaultRpc: undefined,
})

/** Returns the revenue of a service. `url` is required, and `wallet` if the service requires a sign-in. */
export const getAnalytics = createGetAnalytics({
  clock: createWallClock(),
  usualUrl: () => undefined,
  usualWallet: undefined,
})
