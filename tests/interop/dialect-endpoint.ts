/** A paid endpoint without a paywall: it speaks one dialect, and shows the credentials that a client sends. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Incoming } from '../../src/core/http/http.ts'
import type { Refusal } from '../../src/core/payment/refusals.ts'
import type { ForeignDialect, Reading } from '../../src/dialects/dialect.ts'
import { incomingWith, offer, parts } from '../harness/foreign-fixture.ts'

export const url = 'http://a.example/'
/** A well-formed transaction signature. */
export const settledTx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'

export interface DialectEndpoint {
  readonly fetch: typeof globalThis.fetch
  /** The credentials as the dialect reads them, one for each paid request. */
  readonly readings: Reading[]
  readonly unpaid: Incoming[]
}

/** Answers an unpaid request with a challenge, and a paid one with 200 or with this refusal. */
export function createEndpoint(dialect: ForeignDialect, refusal?: Refusal, sold = offer): DialectEndpoint {
  const [writeHeaders, writeMembers] = [dialect.prepare(sold), dialect.prepareMembers?.(sold)]
  if (!writeHeaders && !writeMembers) throw new Error('the dialect cannot sell the offer')
  const challenge = { headers: writeHeaders?.(parts) ?? [], body: `{${writeMembers?.(parts) ?? ''}}` }
  const [readings, unpaid]: [Reading[], Incoming[]] = [[], []]
  const fetch: typeof globalThis.fetch = (input, init) => {
    const request = new Request(input, init)
    const incoming = incomingWith(Object.fromEntries(request.headers))
    const reading = dialect.read(incoming)
    if (!reading) unpaid.push(incoming)
    else readings.push(reading)
    return Promise.resolve(answer(reading))
  }
  const answer = (reading: Reading | undefined): Response => {
    if (!reading) return new Response(challenge.body, { status: 402, headers: toHeaders(challenge.headers) })
    if (!refusal) {
      const headers = dialect.paid({ tx: settledTx, payer: offer.recipient, requestId: parts.requestId })
      return new Response('paid', { headers: toHeaders(headers) })
    }
    const { status, headers } = dialect.refusal(refusal, { tx: settledTx })
    const fresh = dialect.isFresh(refusal) ? challenge : { headers: [], body: '{}' }
    return new Response(fresh.body, { status, headers: toHeaders([...headers, ...fresh.headers]) })
  }
  return { fetch, readings, unpaid }
}

function toHeaders(pairs: readonly (readonly [string, string])[]): Headers {
  return new Headers(pairs.map(([name, value]) => [name, value]))
}

export interface MintNode {
  readonly url: string
  close(): Promise<void>
}

/** A node that knows one account, a mint with six decimals, and accepts every transaction. */
export async function startMintNode(tokenProgram: string): Promise<MintNode> {
  const mint = Buffer.alloc(82)
  mint[44] = 6
  mint[45] = 1
  const account = { data: [mint.toString('base64'), 'base64'], executable: false, lamports: 1, owner: tokenProgram }
  const results: Readonly<Record<string, unknown>> = {
    getAccountInfo: { context: { slot: 1 }, value: { ...account, rentEpoch: 0, space: 82 } },
    sendTransaction: settledTx,
    getLatestBlockhash: {
      context: { slot: 1 },
      value: { blockhash: 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W', lastValidBlockHeight: 200 },
    },
    simulateTransaction: { context: { slot: 1 }, value: { err: null, logs: [], unitsConsumed: 1_000 } },
    getSignatureStatuses: { context: { slot: 1 }, value: [{ err: null, confirmationStatus: 'confirmed', slot: 1 }] },
  }
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on('end', () => {
      const { id, method } = JSON.parse(text) as { id: unknown; method: string }
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }))
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
