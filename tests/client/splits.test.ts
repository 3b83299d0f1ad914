/** The client pays all parts of a split price in one transaction, and limits their sum. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import type { PaymentOffer } from '../../src/client/options.ts'
import type { KnownCode } from '../../src/core/money/tokens.ts'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { buy, type ClientFixture, createClientFixture, expectError, hasProof } from './client-fixture.ts'

let fixture: ClientFixture
let [partner, author]: string[] = []
let shop: Shop

beforeAll(async () => {
  fixture = await createClientFixture()
  for (const wallet of await Promise.all([newSigner(), newSigner()])) {
    await fixture.world.localnet.fund(wallet.address, { SOL: 10_000_000n, USDC: 0n, NATIVE: 0n })
    ;[partner, author] = [wallet.address, partner]
  }
  shop = await fixture.open({ splits: splits(), acceptedMints: ['USDC', 'SOL', 'NATIVE'], waitSeconds: 5 })
})
afterAll(() => fixture.close())

const splits = () => [
  { recipient: partner ?? '', share: 10 },
  { recipient: author ?? '', share: '0.5' },
]

const transfersOf = async (tx: string) => {
  const { transaction, meta } = await fixture.world.rpc<{
    transaction: { message: { instructions: readonly unknown[] } }
    meta: { err: unknown }
  }>('getTransaction', [tx, { encoding: 'jsonParsed', commitment: 'confirmed', maxSupportedTransactionVersion: 1 }])
  expect(meta.err).toBeNull()
  return JSON.stringify(transaction.message.instructions).split('"transfer').length - 1
}

describe('a purchase from a route with splits', () => {
  it.each(['USDC', 'SOL', 'NATIVE'] as const)('pays every part in %s, in one transaction', async (token: KnownCode) => {
    const offers: PaymentOffer[] = []
    const approve = (offer: PaymentOffer) => {
      offers.push(offer)
      return true
    }
    const { text, events } = await buy(`${shop.url}/data`, fixture.options({ tokens: [token], approve }))
    expect(text).toBe('the secret')
    const [sent] = events.flatMap((event) => (event.kind === 'sent' ? [event.tx] : []))
    expect(await transfersOf(sent ?? '')).toBe(3)
    const [offer] = offers
    expect(offer?.splits?.map(({ recipient }) => recipient)).toEqual([partner, author])
    expect(Number(offer?.splits?.[0]?.amount)).toBeCloseTo(Number(offer?.amount) / 10)
  })

  it('gets a receipt for the whole price', async () => {
    const response = await fetchWith402(`${shop.url}/data`, fixture.options({ tokens: ['USDC'] }))
    expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject({ token: 'USDC', amount: '0.01' })
  })

  it('is limited by the whole price', async () => {
    const options = fixture.options({ tokens: ['USDC'], maxPrice: { USDC: '0.009999' } })
    await expectError(fetchWith402(`${shop.url}/data`, options), 'price_too_high')
  })

  it('needs permission for every wallet that receives a part', async () => {
    const some = [fixture.world.recipient.address, partner ?? '']
    const url = `${shop.url}/data`
    await expectError(fetchWith402(url, fixture.options({ recipients: some })), 'recipient_not_allowed')
    const all = fixture.options({ recipients: [...some, author ?? ''] })
    expect(await (await fetchWith402(url, all)).text()).toBe('the secret')
  })

  it('is declined by a wallet that would receive a part', async () => {
    const own = await fixture.open({ splits: [{ recipient: fixture.payer.address, share: 10 }], waitSeconds: 5 })
    await expectError(fetchWith402(`${own.url}/data`, fixture.options()), 'declined')
  })
})

describe('a challenge of a hostile server', () => {
  const challengeWith = async (
    change: (challenge: Record<string, unknown>) => void,
    tokens: readonly KnownCode[] = ['USDC'],
  ) => {
    const url = await fixture.front(shop.url, (request, response, pass) => {
      if (hasProof(request)) return false
      pass((answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const challenge = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
          delete challenge['resource']
          change(challenge)
          response.writeHead(402, { 'content-type': 'application/json' }).end(JSON.stringify(challenge))
        })
      })
      return true
    })
    return fetchWith402(`${url}/data`, fixture.options({ tokens }))
  }

  it.each([
    ['splits that leave nothing for the recipient', { USDC: '0.01' }],
    ['a part with too many decimals', { USDC: '0.0000001' }],
    ['an empty part', { USDC: '0' }],
  ])('with %s is not paid', async (_name, amounts) => {
    const change = (challenge: Record<string, unknown>) => {
      challenge['splits'] = [{ recipient: partner, amounts }]
    }
    await expectError(challengeWith(change), 'declined')
  })

  it.each(['USDC', 'SOL'] as const)('with a wallet that cannot receive %s is not paid', async (token) => {
    const { address: recipient } = await newSigner()
    const change = (challenge: Record<string, unknown>) => {
      challenge['splits'] = [{ recipient, amounts: { USDC: '0.001', SOL: '0.00001' } }]
    }
    await expectError(challengeWith(change, [token]), 'insufficient_funds')
  })

  it('that hides the splits is not paid', async () => {
    const hide = (challenge: Record<string, unknown>) => {
      delete challenge['splits']
    }
    await expectError(challengeWith(hide), 'declined')
  })

  it.each([
    [{}],
    [[]],
    [[{ recipient: 1, amounts: {} }]],
    [[{ recipient: 'x' }]],
    [[{ recipient: 'x', amounts: { usdc: 1 } }]],
  ])('with the malformed splits %j is no challenge', async (malformed) => {
    const response = await challengeWith((challenge) => {
      challenge['splits'] = malformed
    })
    expect(response.status).toBe(402)
  })
})
