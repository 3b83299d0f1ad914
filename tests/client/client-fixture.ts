/** What the client's tests share: a shop, a funded wallet, what the shop has really received, and servers that misbehave. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { PaymentError, type PaymentErrorCode } from '../../src/client/errors.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import type { ClientEvent, ClientOptions } from '../../src/client/options.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { LocalnetOptions } from '../../src/localnet/index.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

export interface ClientFixture extends ShopFixture {
  /** Options under which a payment goes through: this chain, this wallet, a journal of its own. */
  options(more?: Partial<ClientOptions>): ClientOptions
  /** How many payments of the usual price the shop's recipient has received since the last question. */
  received(): Promise<number>
  /** A server that answers as it is told. */
  host(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string>
  /** Stands before a shop and lets requests through, except where `meddle` takes one over by returning true. */
  front(shopUrl: string, meddle: Meddle): Promise<string>
}

/** `pass` hands the request on; what comes back is answered as it is unless it is caught. */
export type Meddle = (
  request: IncomingMessage,
  response: ServerResponse,
  pass: (caught?: (answer: IncomingMessage) => void) => void,
) => boolean

const price = 10_000n

export async function createClientFixture(localnet?: LocalnetOptions): Promise<ClientFixture> {
  const shop = await createShopFixture(localnet)
  const { world } = shop
  const account = await world.tokenAccount(world.recipient.address, world.usdc)
  let before = 0n

  const host: ClientFixture['host'] = async (answer) => {
    const server = createServer(answer)
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    shop.defer(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  return {
    ...shop,
    host,
    options: (more = {}) => ({
      wallet: shop.payer,
      rpc: world.localnet.rpcUrl,
      journal: createMemoryJournal(),
      // As long as a test may take, because many purchases at once are slow on a busy machine.
      timeoutMs: 50_000,
      ...more,
    }),
    received: async () => {
      const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
        account,
        { commitment: 'confirmed' },
      ])
      const gained = BigInt(value.amount) - before
      before = BigInt(value.amount)
      return Number(gained / price)
    },
    front: (shopUrl, meddle) =>
      host((request, response) => {
        const pass = (caught?: (answer: IncomingMessage) => void) => {
          const { method, headers, url = '/' } = request
          const onward = httpRequest(`${shopUrl}${url}`, { method: method ?? 'GET', headers }, (answer) => {
            if (caught) return caught(answer)
            response.writeHead(answer.statusCode ?? 500, answer.headers)
            answer.pipe(response)
          })
          // A client that goes away is gone for the shop, too.
          if (!caught) response.once('close', () => onward.destroy())
          onward.on('error', () => response.destroy())
          request.pipe(onward)
        }
        if (!meddle(request, response, pass)) pass()
      }),
  }
}

export const hasProof = (request: IncomingMessage) => request.headers['payment-proof'] !== undefined

/** The error of a purchase that must not work out. */
export async function expectError(
  attempt: Promise<unknown>,
  code: PaymentErrorCode,
  words: RegExp = /./,
): Promise<PaymentError> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(PaymentError)
  const known = error as PaymentError
  expect([known.code, known.message]).toEqual([code, expect.stringMatching(words)])
  // One sentence, for a person to read.
  expect(known.message).toMatch(/^([A-Z0-9]|http).*[.]$/)
  return known
}

/** Pays as told, and collects what is told meanwhile. */
export async function buy(url: string, options: ClientOptions): Promise<{ text: string; events: ClientEvent[] }> {
  const events: ClientEvent[] = []
  const response = await fetchWith402(url, { ...options, onEvent: (event) => events.push(event) })
  expect(response.status).toBe(200)
  return { text: await response.text(), events }
}

/** A challenge as a hostile server would write it. */
export function challengeFor(fixture: ClientFixture, url: string, more: Partial<Challenge> = {}): string {
  const { usdc, recipient, localnet } = fixture.world
  return JSON.stringify({
    status: 402,
    requestId: `rid_${crypto.randomUUID()}`,
    recipient: recipient.address,
    amount: '0.01',
    currency: 'USDC',
    acceptedMints: ['USDC'],
    instructions: 'Pay.',
    amounts: { USDC: '0.01' },
    mints: { USDC: usdc },
    network: 'localnet',
    genesis: localnet.genesisHash,
    resource: url,
    expiresAt: new Date(Date.now() + 300_000).toISOString(),
    proof: [],
    ...more,
  })
}
