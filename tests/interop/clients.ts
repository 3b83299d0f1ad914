/**
 * Clients of other payment protocols, unmodified, each as one call that pays for a URL.
 *
 * Every call counts the credentials that the client sent, because a client that pays twice is a fault of the server's
 * answer.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { KeyPairSigner } from '@solana/kit'
import { Mppx, solana } from '@solana/mpp/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm'
import { wrapFetchWithPayment as wrapFetchWithPaymentV1 } from 'x402-fetch'

export interface Payer {
  readonly rpcUrl: string
  readonly signer: KeyPairSigner
  /** The fetch that the client wraps. Default: that of Node. */
  readonly fetch?: typeof globalThis.fetch
}

export interface PaidResponse {
  readonly response: Response
  /** The credentials that the client sent, in order. */
  readonly credentials: readonly string[]
}

/**
 * Pays with @x402/fetch and @x402/svm (x402 v2). Refuses prices over 1 USD, and every mint but USDC, unless the mint is
 * named.
 */
export function payWithX402(
  url: string,
  payer: Payer & { readonly mint?: string },
  init?: RequestInit,
): Promise<PaidResponse> {
  return count(payer, (fetch) => {
    const scheme = new ExactSvmScheme(payer.signer, { rpcUrl: payer.rpcUrl })
    const client = new x402Client().register('solana:*', scheme)
    if (payer.mint !== undefined)
      client.setSpendControls({
        allowedAssets: [{ network: 'solana:*', asset: payer.mint, maxAmountPerPayment: '10000' }],
      })
    return wrapFetchWithPayment(fetch, client)(url, init)
  })
}

/** Pays with x402-fetch (x402 v1). Refuses prices over 0.10 USD. */
export function payWithX402V1(url: string, payer: Payer, init?: RequestInit): Promise<PaidResponse> {
  return count(payer, (fetch) => {
    const config = { svmConfig: { rpcUrl: payer.rpcUrl } }
    return wrapFetchWithPaymentV1(fetch, payer.signer, undefined, undefined, config)(url, init)
  })
}

/**
 * Pays with mppx and @solana/mpp. In pull mode the server sends the transaction, and the challenge says who pays its
 * fee. In push mode the client sends it, waits for confirmation, and presents the signature.
 */
export function payWithMppx(
  url: string,
  payer: Payer & { readonly mode?: 'pull' | 'push' },
  init?: RequestInit,
): Promise<PaidResponse> {
  return count(payer, (fetch) => {
    const { signer, rpcUrl, mode = 'pull' } = payer
    const methods = [solana.charge({ signer, rpcUrl, broadcast: mode === 'push' })] as const
    return Mppx.create({ methods, fetch, polyfill: false }).fetch(url, init)
  })
}

/**
 * Pays with the client of @solana/pay-kit, in the protocol given.
 *
 * The package takes the global fetch when it loads, and replaces it when it pays over MPP. Both happen inside
 * `withOwnFetch`, so the rest of the process keeps its fetch.
 */
export function payWithPayKit(
  url: string,
  payer: Payer & { readonly protocol: 'mpp' | 'x402' },
  init?: RequestInit,
): Promise<PaidResponse> {
  return count(payer, (fetch) =>
    withOwnFetch(fetch, async () => {
      const { createPayKitClient } = await import('@solana/pay-kit/client')
      const { signer, rpcUrl, protocol } = payer
      const client = await createPayKitClient({ signer, rpcUrl, accept: [protocol] })
      return client.fetch(url, init, protocol)
    }),
  )
}

const nodeFetch = globalThis.fetch
const own = new AsyncLocalStorage<typeof globalThis.fetch>()
const ownFetch: typeof globalThis.fetch = (input, init) => (own.getStore() ?? nodeFetch)(input, init)
let running = 0

/** Runs `call` with another global fetch, which code outside of the call does not see. */
async function withOwnFetch<T>(fetch: typeof globalThis.fetch, call: () => Promise<T>): Promise<T> {
  running += 1
  // The setter ignores the package's replacement.
  if (running === 1)
    Object.defineProperty(globalThis, 'fetch', { configurable: true, get: () => ownFetch, set: () => undefined })
  try {
    return await own.run(fetch, call)
  } finally {
    running -= 1
    if (running === 0)
      Object.defineProperty(globalThis, 'fetch', { configurable: true, writable: true, value: nodeFetch })
  }
}

async function count(payer: Payer, pay: (fetch: typeof globalThis.fetch) => Promise<Response>): Promise<PaidResponse> {
  const credentials: string[] = []
  const send = payer.fetch ?? nodeFetch
  const response = await pay((input, init) => {
    const headers = init?.headers ?? (typeof input === 'object' && 'headers' in input ? input.headers : {})
    const credential = findCredential(new Headers(headers))
    if (credential !== undefined) credentials.push(credential)
    return own.exit(() => send(input, init))
  })
  return { response, credentials }
}

function findCredential(headers: Headers): string | undefined {
  const authorization = headers.get('authorization') ?? undefined
  return (
    headers.get('payment-signature') ??
    headers.get('x-payment') ??
    headers.get('payment-authorization') ??
    (authorization?.startsWith('Payment ') ? authorization : undefined)
  )
}
