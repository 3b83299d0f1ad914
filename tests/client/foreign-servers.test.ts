/**
 * `fetchWith402` at servers of x402 and MPP that answer in every way that has cost other clients money: each call sends
 * one credential, and the amount stays reserved until the chain decides.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generateKeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWallet, type Wallet } from '../../src/chain/keys/keypair.ts'
import { openTransaction } from '../../src/chain/read/decode.ts'
import { fetchWith402, PaymentError } from '../../src/client/index.ts'
import { createMemoryJournal, type Journal } from '../../src/client/journal/journal.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { knownMints } from '../../src/core/money/tokens.ts'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'

const devnet = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'

let localnet: Localnet
let sponsor: Wallet
let recipient: string
let mint: string
beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 20 })
  sponsor = await createWallet(await generateKeyPairSigner())
  recipient = (await generateKeyPairSigner()).address
  mint = localnet.mints.USDC?.address ?? ''
  await localnet.fund(recipient, { USDC: 0n })
  await localnet.fund(sponsor.address, { SOL: 1_000_000_000n })
})
afterAll(() => localnet.close())

interface Shop {
  readonly url: string
  /** The credentials that arrived, in order. */
  readonly credentials: readonly string[]
  close(): void
}

/** The answer to the nth request with a credential. */
type Answer = (response: ServerResponse, transaction: string, count: number) => unknown

const entry = (more: object = {}) => ({
  ...{ scheme: 'exact', network: devnet, amount: '10000', asset: mint, payTo: recipient, maxTimeoutSeconds: 60 },
  extra: { feePayer: sponsor.address },
  ...more,
})
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

function challenge(accepts: readonly object[] = [entry()]): Readonly<Record<string, string>> {
  return { 'PAYMENT-REQUIRED': encode({ x402Version: 2, error: 'pay', resource: { url: 'x' }, accepts }) }
}

async function open(answer: Answer, headers = challenge()): Promise<Shop> {
  const credentials: string[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const { 'payment-signature': signature, authorization } = request.headers
    const credential = signature ?? (authorization?.startsWith('Payment ') ? authorization : undefined)
    if (typeof credential !== 'string') return void response.writeHead(402, headers).end()
    credentials.push(credential)
    const text = Buffer.from(credential.replace(/^Payment /, ''), 'base64').toString()
    answer(response, JSON.parse(text).payload.transaction, credentials.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    url,
    credentials,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Completes the transaction and sends it, as a facilitator does. */
async function settle(transaction: string): Promise<void> {
  const bytes = await sponsor.signTransaction(new Uint8Array(Buffer.from(transaction, 'base64')))
  const wire = Buffer.from(bytes).toString('base64')
  await call('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
}

async function call(method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await fetch(localnet.rpcUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return ((await answer.json()) as { result?: unknown }).result
}

interface Buyer {
  readonly options: ClientOptions
  readonly journal: Journal
  spent(): Promise<bigint>
}

async function newBuyer(more: Partial<ClientOptions> = {}): Promise<Buyer> {
  const wallet = await generateKeyPairSigner()
  await localnet.fund(wallet.address, { USDC: 1_000_000n })
  const journal = createMemoryJournal()
  const options: ClientOptions = { wallet, network: 'localnet', rpc: localnet.rpcUrl, journal, ...more }
  const spent = async () => {
    const params = [wallet.address, { mint }, { encoding: 'jsonParsed', commitment: 'processed' }]
    const text = JSON.stringify(await call('getTokenAccountsByOwner', params))
    return 1_000_000n - BigInt(/"amount":"(\d+)"/.exec(text)?.[1] ?? 0)
  }
  return { options, journal, spent }
}

/** For a call that succeeds, on a busy machine too. */
const patient = (options: ClientOptions): ClientOptions => ({ ...options, timeoutMs: 50_000 })

async function failure(buying: Promise<unknown>): Promise<PaymentError> {
  const error = await buying.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(PaymentError)
  return error as PaymentError
}

describe('a server that', () => {
  it('refuses and sends nothing is not paid, and the next call buys anew', async () => {
    const shop = await open(async (response, transaction, count) => {
      if (count > 1) await settle(transaction)
      // After so many slots, its blockhash has expired.
      else localnet.advanceSlots(200)
      if (count > 1) response.end('ok')
      else response.writeHead(402, challenge()).end()
    })
    const { options, spent } = await newBuyer()
    const error = await failure(fetchWith402(shop.url, options))
    expect([error.code, error.facts.isOver, shop.credentials.length, await spent()]).toEqual([
      'payment_refused',
      true,
      1,
      0n,
    ])
    expect(await (await fetchWith402(shop.url, options)).text()).toBe('ok')
    expect([new Set(shop.credentials).size, await spent()]).toEqual([2, 10_000n])
    shop.close()
  })

  it.each([402, 403])('sends the payment and answers %s gets the same credential once more', async (status) => {
    const shop = await open(async (response, transaction, count) => {
      if (count === 1) await settle(transaction)
      if (count === 1) response.writeHead(status, challenge()).end()
      else response.end('ok')
    })
    const { options, spent } = await newBuyer()
    expect(await (await fetchWith402(shop.url, options)).text()).toBe('ok')
    expect([shop.credentials.length, new Set(shop.credentials).size, await spent()]).toEqual([2, 1, 10_000n])
    shop.close()
  })

  it('takes the payment and never delivers is named, and its payment is dropped', async () => {
    const shop = await open(async (response, transaction) => {
      await settle(transaction)
      response.writeHead(402, challenge()).end()
    })
    const { options, spent, journal } = await newBuyer()
    const error = await failure(fetchWith402(shop.url, options))
    expect([error.code, new Set(shop.credentials).size, await spent()]).toEqual(['paid_not_delivered', 1, 10_000n])
    expect(error.message).toMatch(/The client drops it/)
    expect(await journal.adopt('any')).toBeUndefined()
    shop.close()
  })

  it('refuses at first and sends the payment later is followed to the end', async () => {
    const shop = await open((response, transaction, count) => {
      if (count === 1) {
        setTimeout(() => void settle(transaction), 50)
        response.writeHead(402, challenge()).end()
      } else response.end('ok')
    })
    const { options, spent } = await newBuyer()
    expect(await (await fetchWith402(shop.url, options)).text()).toBe('ok')
    expect([new Set(shop.credentials).size, await spent()]).toEqual([1, 10_000n])
    shop.close()
  })

  it.each([
    ['answers 500', (response: ServerResponse) => response.writeHead(500).end()],
    ['answers 409', (response: ServerResponse) => response.writeHead(409).end()],
    ['breaks the connection', (response: ServerResponse) => response.destroy()],
  ])('%s after sending gets the same credential again', async (_name, fail) => {
    const shop = await open(async (response, transaction, count) => {
      if (count === 1) await settle(transaction)
      if (count < 3) fail(response)
      else response.end('ok')
    })
    const { options, spent } = await newBuyer()
    expect(await (await fetchWith402(shop.url, options)).text()).toBe('ok')
    expect([shop.credentials.length, new Set(shop.credentials).size, await spent()]).toEqual([3, 1, 10_000n])
    shop.close()
  })

  it('never answers in time leaves the amount reserved, and the next call continues', async () => {
    let isBack = false
    const shop = await open(async (response, transaction) => {
      if (!isBack) return void response.writeHead(503).end()
      await settle(transaction)
      response.end('ok')
    })
    const { options, spent } = await newBuyer({ timeoutMs: 400, budget: { perDay: { USDC: 0.01 } } })
    expect((await failure(fetchWith402(shop.url, options))).code).toBe('payment_unknown')
    // Another resource does not fit into the budget.
    expect((await failure(fetchWith402(`${shop.url}other`, options))).code).toBe('budget_exceeded')
    isBack = true
    expect(await (await fetchWith402(shop.url, patient(options))).text()).toBe('ok')
    expect([new Set(shop.credentials).size, await spent()]).toEqual([1, 10_000n])
    shop.close()
  })

  it.each([500, 409])(
    'answers %s to a settled payment for good is tried in two calls, and then paid anew',
    async (status) => {
      let [settled, refuses] = ['', true]
      const shop = await open(async (response, transaction) => {
        if (settled !== transaction) await settle(transaction)
        settled = transaction
        if (refuses) response.writeHead(status).end()
        else response.end('ok')
      })
      const { options, spent } = await newBuyer({ timeoutMs: 600 })
      const first = await failure(fetchWith402(shop.url, options))
      expect([first.code, first.message]).toEqual(['paid_not_delivered', expect.stringMatching(/Call again to use/)])
      const second = await failure(fetchWith402(shop.url, options))
      expect([second.code, second.facts.status]).toEqual(['paid_not_delivered', status])
      expect(second.message).toMatch(/The client drops it/)
      expect([new Set(shop.credentials).size, await spent()]).toEqual([1, 10_000n])
      refuses = false
      expect(await (await fetchWith402(shop.url, patient(options))).text()).toBe('ok')
      expect([new Set(shop.credentials).size, await spent()]).toEqual([2, 20_000n])
      shop.close()
    },
  )

  it.each([
    ['answers 503', (response: ServerResponse) => response.writeHead(503).end()],
    ['breaks every connection', (response: ServerResponse) => response.destroy()],
  ])('%s for two calls after a settled payment keeps it for the third', async (_name, fail) => {
    let isBack = false
    const shop = await open(async (response, transaction, count) => {
      if (count === 1) await settle(transaction)
      if (isBack) response.end('ok')
      else fail(response)
    })
    const { options, spent } = await newBuyer({ timeoutMs: 600 })
    for (let call = 0; call < 2; call += 1)
      expect((await failure(fetchWith402(shop.url, options))).message).toMatch(/Call again to use the same payment/)
    isBack = true
    expect(await (await fetchWith402(shop.url, patient(options))).text()).toBe('ok')
    expect([new Set(shop.credentials).size, await spent()]).toEqual([1, 10_000n])
    shop.close()
  })

  it('says that a settled payment is used up is believed after one more request', async () => {
    const shop = await open(async (response, transaction, count) => {
      if (count === 1) await settle(transaction)
      const problem = { code: 'payment_replay', detail: 'This payment has already been used.', retryable: false }
      response.writeHead(409, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem))
    })
    const { options, spent } = await newBuyer()
    const error = await failure(fetchWith402(shop.url, options))
    expect([error.code, error.facts.status]).toEqual(['paid_not_delivered', 409])
    expect(error.message).toMatch(/already been used.*The client drops it/)
    expect([shop.credentials.length, new Set(shop.credentials).size, await spent()]).toEqual([2, 1, 10_000n])
    shop.close()
  })

  it('answers 404 after the payment is settled keeps the answer and the count', async () => {
    const shop = await open(async (response, transaction) => {
      await settle(transaction)
      response.writeHead(404).end('none')
    })
    const { options, spent } = await newBuyer()
    const response = await fetchWith402(shop.url, options)
    expect([response.status, await response.text()]).toEqual([404, 'none'])
    expect([shop.credentials.length, await spent()]).toEqual([1, 10_000n])
    shop.close()
  })

  it('T231: answers 404 before it settles gets the same credential again, although the caller did not read the error', async () => {
    const shop = await open(async (response, transaction, count) => {
      if (count === 1) return void response.writeHead(404).end('not yet')
      await settle(transaction)
      response.end('ok')
    })
    const { options, spent } = await newBuyer()
    expect((await fetchWith402(shop.url, options)).status).toBe(404)
    expect(await (await fetchWith402(shop.url, options)).text()).toBe('ok')
    expect([shop.credentials.length, new Set(shop.credentials).size, await spent()]).toEqual([2, 1, 10_000n])
    shop.close()
  })

  it('answers 400 to a payment that can no longer land gets a new one with the call after that', async () => {
    let expired = ''
    const shop = await open(async (response, transaction) => {
      expired ||= transaction
      if (transaction === expired) return void response.writeHead(400).end('the transaction is too old')
      await settle(transaction)
      response.end('ok')
    })
    const { options, spent } = await newBuyer()
    const text = async () => (await fetchWith402(shop.url, options)).text()
    expect(await text()).toBe('the transaction is too old')
    localnet.advanceSlots(200)
    expect(await text()).toBe('the transaction is too old')
    expect(await text()).toBe('ok')
    expect([new Set(shop.credentials).size, await spent()]).toEqual([2, 10_000n])
    shop.close()
  })
})

describe('an offer is refused before anything is signed if', () => {
  it.each([
    ['the payer would pay the fee itself', 'payer', 'declined'],
    ['the recipient pays the fee', 'recipient', 'declined'],
    ['its mint is not known', 'mint', 'mint_not_allowed'],
    ['its price is over the limit', 'price', 'price_too_high'],
    ['its recipient is not allowed', 'recipients', 'recipient_not_allowed'],
    ['it is for another network', 'network', 'network_not_allowed'],
  ] as const)('%s', async (_name, fault, code) => {
    const { options, spent } = await newBuyer(fault === 'recipients' ? { recipients: [sponsor.address] } : {})
    const { address } = options.wallet as { address: string }
    const offers = {
      payer: entry({ extra: { feePayer: address } }),
      recipient: entry({ extra: { feePayer: recipient } }),
      mint: entry({ asset: sponsor.address }),
      price: entry({ amount: '1000001' }),
      recipients: entry(),
      network: entry({ network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', asset: knownMints.mainnet.USDC?.address }),
    }
    const shop = await open((response) => response.end('ok'), challenge([offers[fault]]))
    expect((await failure(fetchWith402(shop.url, options))).code).toBe(code)
    expect([shop.credentials.length, await spent()]).toEqual([0, 0n])
    shop.close()
  })

  it('an offer of a known token comes first where another is refused', async () => {
    const shop = await open(
      (response, transaction) => settle(transaction).then(() => response.end('ok')),
      challenge([entry({ asset: sponsor.address }), entry()]),
    )
    const { options, spent } = await newBuyer()
    expect(await (await fetchWith402(shop.url, options)).text()).toBe('ok')
    expect(await spent()).toBe(10_000n)
    shop.close()
  })
})

const request = (more: object = {}, details: object = {}) =>
  Buffer.from(
    JSON.stringify({
      ...{ amount: '10000', currency: mint, recipient, externalId: 'order-1', ...more },
      methodDetails: { network: 'localnet', feePayer: true, feePayerKey: sponsor.address, ...details },
    }),
  ).toString('base64url')
const header = (text: string, more = '') =>
  `Bearer realm="a, Payment b", Payment id="1", realm="shop", method="solana", intent="charge", request="${text}"${more}`

describe('an MPP challenge', () => {
  it('is paid beside other schemes, with its splits', async () => {
    const other = (await generateKeyPairSigner()).address
    await localnet.fund(other, { USDC: 0n })
    const splits = [{ recipient: other, amount: '4000', memo: 'part' }]
    const shop = await open((response, transaction) => settle(transaction).then(() => response.end('ok')), {
      'WWW-Authenticate': header(request({}, { splits })),
    })
    const { options, spent } = await newBuyer()
    expect(await (await fetchWith402(shop.url, options)).text()).toBe('ok')
    expect(await spent()).toBe(10_000n)
    const { options: strict } = await newBuyer({ recipients: [recipient] })
    expect((await failure(fetchWith402(shop.url, strict))).code).toBe('recipient_not_allowed')
    shop.close()
  })

  it('is not paid if a wallet of its splits has no account for the token', async () => {
    const other = (await generateKeyPairSigner()).address
    const shop = await open((response) => response.end('ok'), {
      'WWW-Authenticate': header(request({}, { splits: [{ recipient: other, amount: '4000' }] })),
    })
    const { options, spent } = await newBuyer()
    const { code, message } = await failure(fetchWith402(shop.url, options))
    expect([code, message]).toEqual([
      'insufficient_funds',
      expect.stringContaining(`${other}, which receives a part, cannot receive USDC yet`),
    ])
    expect([shop.credentials.length, await spent()]).toEqual([0, 0n])
    shop.close()
  })

  it.each([
    ['the wallet would keep less than the minimum balance', 2_000_000n, '1200000', 'needs 0.00209088'],
    ['it cannot open the empty wallet of its recipient', 9_000_000n, '800000', 'too little to open'],
  ])('in sponsored SOL is not signed if %s', async (_name, SOL, amount, why) => {
    const empty = (await generateKeyPairSigner()).address
    const shop = await open((response) => response.end('ok'), {
      'WWW-Authenticate': header(request({ currency: 'sol', amount, recipient: empty })),
    })
    const wallet = await generateKeyPairSigner()
    await localnet.fund(wallet.address, { SOL })
    const { options } = await newBuyer({ wallet })
    const { code, message } = await failure(fetchWith402(shop.url, options))
    expect([code, message]).toEqual(['insufficient_funds', expect.stringContaining(why)])
    expect(shop.credentials).toEqual([])
    shop.close()
  })

  it('is left out if it names a header that cannot exist', async () => {
    const shop = await open((response) => response.end('ok'), {
      'WWW-Authenticate': header(request(), ', header="a b"'),
    })
    const { options } = await newBuyer()
    expect([(await fetchWith402(shop.url, options)).status, shop.credentials]).toEqual([402, []])
    shop.close()
  })

  it.each([
    ['the request has its own Authorization', { headers: { authorization: 'Bearer x' } }, '', 'declined'],
    ['it expires too soon', {}, ', expires="2020-01-01T00:00:00Z"', 'challenge_expiring'],
  ])('is not paid if %s', async (_name, init, more, code) => {
    const shop = await open((response) => response.end('ok'), { 'WWW-Authenticate': header(request(), more) })
    const { options } = await newBuyer()
    expect((await failure(fetchWith402(shop.url, init, options))).code).toBe(code)
    expect(shop.credentials).toEqual([])
    shop.close()
  })
})

it.each([
  ['MPP without a memo', () => ({ 'WWW-Authenticate': header(request({ externalId: undefined })) })],
  ['MPP with the same memo', () => ({ 'WWW-Authenticate': header(request()) })],
  ['x402 without a memo', () => challenge()],
  ['x402 with the same memo', () => challenge([entry({ extra: { feePayer: sponsor.address, memo: 'shop' } })])],
])('T198: pays equal challenges of %s with different transactions under one blockhash', async (_name, headers) => {
  const shop = await open((response) => response.end('ok'), headers())
  const { options } = await newBuyer()
  for (const path of ['1', '2']) expect((await fetchWith402(`${shop.url}${path}`, options)).status).toBe(200)
  const [first, second] = shop.credentials.map((credential) => {
    const { payload } = JSON.parse(Buffer.from(credential.replace(/^Payment /, ''), 'base64').toString())
    return openTransaction(new Uint8Array(Buffer.from(payload.transaction, 'base64'))).instructions
  })
  expect(first).toHaveLength(second?.length ?? 0)
  expect(first).not.toEqual(second)
  shop.close()
})

it('uses only the protocols that the caller permits', async () => {
  const shop = await open((response) => response.end('ok'))
  const { options } = await newBuyer({ protocols: ['paystile', 'mpp'] })
  const response = await fetchWith402(shop.url, options)
  expect([response.status, shop.credentials.length]).toEqual([402, 0])
  await expect(fetchWith402(shop.url, { ...options, protocols: ['l402' as never] })).rejects.toThrow(
    /protocols must be a list of paystile, mpp, x402, x402-v1/,
  )
  shop.close()
})
