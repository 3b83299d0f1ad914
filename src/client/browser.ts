/** The client for browsers: no files, the platform's own fetch, and a journal as long as the page. */
import { fetchTransport } from '../chain/fetch-transport.ts'
import { createWallClock } from '../host/clock.ts'
import { createFetchWith402 } from './fetch.ts'
import { createMemoryJournal } from './journal.ts'
import { createNodes } from './nodes.ts'

export type { KeySource, Wallet } from '../chain/keypair.ts'
export { createWallet } from '../chain/keypair.ts'
export type { Challenge } from '../core/challenge.ts'
export type { Receipt, SignedReceipt } from '../core/receipt.ts'
export { isReceiptGenuine, parseReceipt } from '../core/receipt.ts'
export { PaymentError, type PaymentErrorCode } from './errors.ts'
export type { FetchWith402 } from './fetch.ts'
export { createMemoryJournal, type Journal } from './journal.ts'
export type { ClientEvent, ClientOptions, PaymentOffer } from './options.ts'

const journal = createMemoryJournal()

/** `fetch` that pays when a server answers 402. On a localnet the node has to be given as `rpc`. */
export const fetchWith402 = createFetchWith402({
  clock: createWallClock(),
  nodes: createNodes({ transport: fetchTransport, findLocalnet: () => undefined }),
  journal: () => journal,
  defaultRpc: undefined,
})
