/** The client of a desk: honest exchanges on a chain, and desks that lie. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Wallet } from '../../src/chain/keys/keypair.ts'
import { decodeTransaction } from '../../src/chain/read/decode.ts'
import { attachSignature, unsigned } from '../../src/chain/send/message.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { decodeBase64url } from '../../src/core/encoding/base64url.ts'
import type { Signing } from '../../src/core/payouts/outgoing-wallet.ts'
import type { Quoting, VenueQuote } from '../../src/core/payouts/venue.ts'
import { newWallet, openTrade, type Trade } from './venue-fixture.ts'

let trade: Trade
beforeAll(async () => {
  trade = await openTrade()
})
afterAll(() => trade.close())

const quoted = (quoting: Quoting): VenueQuote => {
  if (quoting.kind !== 'quoted') throw new Error(quoting.why)
  return quoting.quote
}
const signed = (signing: Signing) => {
  if (signing.kind !== 'signed') throw new Error(signing.why)
  return signing.signed
}

describe('an exchange', () => {
  it.each([
    ['NATIVE', 'USDC', 100_000_000_000n, 9_970_000n],
    ['SOL', 'USDC', 1_000_000_000n, 149_550_000n],
    ['USDC', 'SOL', 150_000_000n, 997_000_000n],
    ['USDC', 'NATIVE', 1_000_000n, 9_970_000_000n],
  ] as const)(
    'of %s for %s pays both sides what was quoted, and costs the taker the fee',
    async (sell, buy, units, gives) => {
      const wallet = await trade.taker()
      const venue = trade.venue(wallet)
      const quote = quoted(await venue.quote(trade.order(sell, buy, units)))
      expect([quote.units, quote.least]).toEqual([gives, gives])
      const before = [await trade.holds(wallet.address), await trade.holds(trade.deskWallet.address)] as const
      const bytes = signed(await venue.sign(quote, { memo: 'paystile:abc', minimum: gives }))
      expect(await trade.land(bytes)).toBeNull()
      const after = [await trade.holds(wallet.address), await trade.holds(trade.deskWallet.address)] as const
      const fee = 12_000n
      for (const token of ['SOL', 'USDC', 'NATIVE'] as const) {
        const moved = (token === buy ? gives : 0n) - (token === sell ? units : 0n)
        expect(after[0][token] - before[0][token], token).toBe(moved - (token === 'SOL' ? fee : 0n))
        expect(after[1][token] - before[1][token], token).toBe(-moved)
      }
      const { meta } = await trade.world.rpc<{ meta: { logMessages: readonly string[] } }>('getTransaction', [
        bytes.signature,
        { commitment: 'confirmed', maxSupportedTransactionVersion: 1 },
      ])
      expect(meta.logMessages.join()).toContain('paystile:abc')
    },
  )

  it('opens a missing account of the taker for the received token', async () => {
    const wallet = await newWallet()
    await trade.world.localnet.fund(wallet.address, { SOL: 2_000_000_000n })
    const venue = trade.venue(wallet)
    const quote = quoted(await venue.quote(trade.order('SOL', 'USDC', 1_000_000_000n)))
    expect(
      await trade.land(signed(await venue.sign(quote, { memo: 'paystile:open', minimum: quote.units }))),
    ).toBeNull()
    expect((await trade.holds(wallet.address)).USDC).toBe(149_550_000n)
  })

  it('is signed by the taker last: without its signature it cannot be sent', async () => {
    const wallet = await trade.taker()
    let seen: Uint8Array | undefined
    const shy: Wallet = {
      ...wallet,
      signTransaction: (transaction) => {
        seen = transaction
        return wallet.signTransaction(transaction)
      },
    }
    const venue = trade.venue(shy)
    const quote = quoted(await venue.quote(trade.order('USDC', 'NATIVE', 1_000_000n)))
    const bytes = signed(await venue.sign(quote, { memo: 'paystile:last', minimum: 1n }))
    const decoding = decodeTransaction(seen ?? new Uint8Array())
    const signatures = decoding.kind === 'transaction' ? decoding.transaction.signatures : []
    expect(signatures.map((one) => one.every((byte) => byte === 0))).toEqual([true, false])
    expect(bytes.lastValidBlockHeight).toBeGreaterThan(100)
    expect(bytes.slot).toBeGreaterThan(0)
  })

  it('is not signed when it would give less than the minimum, or would fail', async () => {
    const wallet = await trade.taker()
    const venue = trade.venue(wallet)
    const quote = quoted(await venue.quote(trade.order('NATIVE', 'USDC', 10_000_000_000n)))
    expect(await venue.sign(quote, { memo: 'paystile:less', minimum: quote.units + 1n })).toEqual({
      kind: 'impossible',
      why: 'it gives less than the minimum',
    })
    const again = quoted(await venue.quote(trade.order('NATIVE', 'USDC', 1_000_000_000_000n)))
    const spent = signed(await trade.venue(wallet).sign(again, { memo: 'paystile:spent', minimum: 1n }))
    const third = quoted(await venue.quote(trade.order('NATIVE', 'USDC', 1_000_000_000_000n)))
    expect(await trade.land(spent)).toBeNull()
    expect(await venue.sign(third, { memo: 'paystile:broke', minimum: 1n })).toMatchObject({
      kind: 'impossible',
      why: expect.stringContaining('it would fail'),
    })
  })

  it('is not signed with a wallet that signs something else', async () => {
    const wallet = await trade.taker()
    const meddling: Wallet = {
      ...wallet,
      signTransaction: async (transaction) => {
        const changed = (await wallet.signTransaction(transaction)).slice()
        const last = changed.length - 2
        changed[last] = (changed[last] ?? 0) ^ 1
        return changed
      },
    }
    const venue = trade.venue(meddling)
    const quote = quoted(await venue.quote(trade.order('NATIVE', 'USDC', 10_000_000_000n)))
    expect(await venue.sign(quote, { memo: 'paystile:meddle', minimum: 1n })).toMatchObject({ kind: 'impossible' })
  })

  it('waits for another quote when this one is about to run out', async () => {
    const wallet = await trade.taker()
    const venue = trade.venue(wallet)
    const quote = quoted(await venue.quote(trade.order('NATIVE', 'USDC', 10_000_000_000n)))
    trade.clock.move(28_500)
    expect(await venue.sign(quote, { memo: 'paystile:old', minimum: 1n })).toEqual({
      kind: 'unavailable',
      why: 'the quote has expired',
    })
  })
})

describe('T156: a hostile desk', () => {
  const listen = async (listener: RequestListener) => {
    const server = createServer(listener)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const bodyOf = async (request: AsyncIterable<unknown>) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
  }
  /** Answers as the real one does, but for what is put over it. */
  const liar = (lie: { readonly quote?: object; readonly sign?: (body: Record<string, unknown>) => unknown }) =>
    listen((request, response) => {
      void bodyOf(request).then(async (body) => {
        const isQuote = request.url === '/quote'
        const { status, body: honest } = isQuote ? await trade.desk.quote(body) : await trade.desk.sign(body)
        const answer = isQuote ? { ...honest, ...lie.quote } : ((await lie.sign?.(body)) ?? honest)
        response.writeHead(status).end(JSON.stringify(answer))
      })
    })
  const order = () => trade.order('NATIVE', 'USDC', 10_000_000_000n)

  it.each<readonly [string, object]>([
    ['another amount to sell', { units: '20000000000' }],
    ['another mint to sell', { sell: 'SOL' }],
    ['another mint to buy', { buy: 'SOL' }],
    ['another taker', { taker: '11111111111111111111111111111111' }],
    ['another chain', { genesis: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' }],
    ['no price', { gives: undefined }],
    ['a price of nothing', { gives: '0' }],
    ['a negative price', { gives: '-5' }],
    ['a price in words', { gives: 'much' }],
    ['a number', { gives: 997_000 }],
    ['more than the chain can count', { gives: '99999999999999999999' }],
    ['no address', { desk: 'me' }],
    ['no name for its quote', { quote: '' }],
    ['a path for its quote', { quote: '../sign' }],
    ['a quote that ran out', { seconds: 0 }],
    ['a quote for ever', { seconds: 1e9 }],
    ['no end', { seconds: 'soon' }],
  ])('that quotes %s is not believed', async (_name, quote) => {
    const wallet = await trade.taker()
    const venue = trade.venue(wallet, { url: await liar({ quote }) })
    expect(await venue.quote(order())).toEqual({
      kind: 'unavailable',
      why: "the desk's quote differs from the request",
    })
  })

  it('that is we ourselves is not believed', async () => {
    const wallet = await trade.taker()
    const venue = trade.venue(wallet, { url: await liar({ quote: { desk: wallet.address } }) })
    expect(await venue.quote(order())).toMatchObject({ kind: 'unavailable' })
  })

  it.each([
    ['the system program', '11111111111111111111111111111111'],
    ['the token program', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'],
    ['the memo program', 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'],
  ])('that names %s as itself gets no transaction', async (_name, desk) => {
    const wallet = await trade.taker()
    const venue = trade.venue(wallet, { url: await liar({ quote: { desk } }) })
    const quote = quoted(await venue.quote(trade.order('USDC', 'SOL', 150_000_000n)))
    const why = expect.stringMatching(/address of the desk|exactly what/)
    expect(await venue.sign(quote, { memo: 'paystile:x', minimum: 1n })).toEqual({ kind: 'unavailable', why })
  })

  it('that quotes more than it will give has not signed that', async () => {
    const wallet = await trade.taker()
    const venue = trade.venue(wallet, { url: await liar({ quote: { gives: '5000000000' } }) })
    const signing = await venue.sign(quoted(await venue.quote(order())), { memo: 'paystile:x', minimum: 1n })
    expect(signing).toMatchObject({ kind: 'unavailable', why: expect.stringContaining('differs from the quote') })
  })

  it.each<readonly [string, (body: Record<string, unknown>) => unknown]>([
    ['nothing', () => ({ signature: undefined })],
    ['a number', () => ({ signature: 7 })],
    ['text', () => ({ signature: 'signed' })],
    ['zeros', () => ({ signature: encodeBase58(new Uint8Array(64)) })],
    [
      'something else',
      async () => ({ signature: encodeBase58(await trade.deskWallet.signMessage(new Uint8Array(3))) }),
    ],
    [
      'the same transaction with another memo',
      async ({ message }) => {
        const bytes = decodeBase64url(String(message))?.slice() ?? new Uint8Array()
        const at = Buffer.from(bytes).indexOf('paystile:x')
        bytes[at + 9] = 'y'.charCodeAt(0)
        return { signature: encodeBase58(await trade.deskWallet.signMessage(bytes)) }
      },
    ],
  ])('that signs %s has not signed', async (_name, sign) => {
    const wallet = await trade.taker()
    const venue = trade.venue(wallet, { url: await liar({ sign }) })
    const signing = await venue.sign(quoted(await venue.quote(order())), { memo: 'paystile:x', minimum: 1n })
    expect(signing).toEqual({ kind: 'unavailable', why: 'the desk did not sign the quoted transaction' })
  })

  it.each<readonly [string, RequestListener, string]>([
    [
      'redirects',
      (_request, response) => void response.writeHead(307, { location: `${trade.url}/quote` }).end(),
      'the venue returned 307',
    ],
    ['answers no JSON', (_request, response) => void response.end('<html>'), 'the venue returned 200 without JSON'],
    ['answers a list', (_request, response) => void response.end('[]'), 'the venue returned 200 without JSON'],
    [
      'answers without end',
      (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
          if (!response.destroyed) response.once('drain', more)
        }
        more()
      },
      'the venue cannot be reached, or its response was too slow or too large',
    ],
    [
      'hangs up',
      (request) => void request.socket.destroy(),
      'the venue cannot be reached, or its response was too slow or too large',
    ],
    [
      'is tired',
      (_request, response) => void response.writeHead(429).end('{}'),
      'the venue returned 429: too many requests',
    ],
    ['is broken', (_request, response) => void response.writeHead(500).end('{"why":"x"}'), 'the venue returned 500'],
  ])('that %s is not available', async (_name, listener, why) => {
    const venue = trade.venue(await trade.taker(), { url: await listen(listener) })
    expect(await venue.quote(order())).toEqual({ kind: 'unavailable', why })
  })

  it('says no in its own words, and these are made fit for a log', async () => {
    const url = await listen(
      (_request, response) =>
        void response.writeHead(422).end(JSON.stringify({ why: `no\u001b[31m\n${'x'.repeat(500)}` })),
    )
    const refusal = await trade.venue(await trade.taker(), { url }).quote(order())
    expect(refusal).toMatchObject({ kind: 'refused', why: expect.stringMatching(/^the venue says: no [ -~]{1,200}$/) })
  })
})

it('takes a signature of the desk for no other message', async () => {
  const wallet = await trade.taker()
  const venue = trade.venue(wallet)
  const quote = quoted(await venue.quote(trade.order('NATIVE', 'USDC', 10_000_000_000n)))
  const bytes = signed(await venue.sign(quote, { memo: 'paystile:mine', minimum: 1n }))
  const decoding = decodeTransaction(bytes.wire)
  if (decoding.kind === 'malformed') throw new Error(decoding.why)
  const { message, signatures } = decoding.transaction
  const other = message.slice()
  const at = Buffer.from(other).indexOf('mine')
  other[at] = 'w'.charCodeAt(0)
  await expect(
    attachSignature(unsigned(other), trade.deskWallet.address, signatures[1] ?? new Uint8Array()),
  ).rejects.toThrow('did not sign')
})
