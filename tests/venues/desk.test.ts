/** The desk: what it quotes, and takers that want it to sign something else. */
import { AccountRole, address, createNoopSigner, type Instruction } from '@solana/kit'
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget'
import { getTransferSolInstruction } from '@solana-program/system'
import { getApproveInstruction, getTransferCheckedInstruction } from '@solana-program/token'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Wallet } from '../../src/chain/keys/keypair.ts'
import { callOneByOne } from '../../src/chain/rpc/rpc.ts'
import { attachSignature, composeMessage, signUnchanged, unsigned } from '../../src/chain/send/message.ts'
import { readLifetime } from '../../src/chain/send/send.ts'
import { memoInstruction } from '../../src/chain/wallets/payment.ts'
import { composeExchange, type ExchangeDetails, type ExchangeTerms } from '../../src/chain/wallets/rfq-swap.ts'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { encodeBase64url } from '../../src/core/encoding/base64url.ts'
import { genesisHashes, type Mint } from '../../src/core/money/tokens.ts'
import { createDesk, type Desk } from '../../src/venues/desk.ts'
import { newWallet, openTrade, quiet, type Trade } from './venue-fixture.ts'

let trade: Trade
let usdc: Mint
let native: Mint
let desk: Desk
let taker: Wallet
beforeAll(async () => {
  trade = await openTrade()
  usdc = trade.world.usdc
  native = trade.world.native
})
afterAll(() => trade.close())
beforeEach(async () => {
  desk = openDesk()
  taker = await trade.taker()
})

const openDesk = (more: Partial<Parameters<typeof createDesk>[0]> = {}) => {
  const { rpc, genesis, mints, clock, deskWallet: wallet } = trade
  const rates = () => ({ NATIVE: '0.1', USDC: '1', SOL: '150' })
  return createDesk({ rpc, genesis, wallet, mints, rates, spreadBps: 30, clock, log: quiet, ...more })
}
const request = (more: object = {}) => ({
  genesis: trade.genesis,
  taker: taker.address,
  sell: native.address,
  buy: usdc.address,
  units: '10000000000',
  ...more,
})
const details = async (more: Partial<ExchangeDetails> = {}): Promise<ExchangeDetails> => {
  const lifetime = await readLifetime(trade.rpc)
  const usual = { memo: 'paystile:d', opens: false, computeUnits: 200_000, microLamports: 10_000n }
  return { blockhash: lifetime?.blockhash ?? '', ...usual, ...more }
}
const termsOf = (more: Partial<ExchangeTerms> = {}): ExchangeTerms => ({
  taker: taker.address,
  desk: trade.deskWallet.address,
  sell: { mint: native, units: 10_000_000_000n },
  buy: { mint: usdc, units: 997_000n },
  ...more,
})
const quoteOf = async (more: object = {}): Promise<string> => {
  const { status, body } = await desk.quote(request(more))
  expect(body).toMatchObject({ quote: expect.any(String) })
  expect(status).toBe(200)
  return String(body['quote'])
}
const sign = (quote: string, message: Uint8Array) => desk.sign({ quote, message: encodeBase64url(message) })

describe('a quote', () => {
  it('is the rate less the spread, rounded down, and names everything that was asked for', async () => {
    const { status, body } = await desk.quote(request({ units: '10000000001' }))
    expect(status).toBe(200)
    expect(body).toEqual({
      ...request({ units: '10000000001' }),
      quote: expect.any(String),
      desk: trade.deskWallet.address,
      gives: '997000',
      seconds: 30,
    })
  })

  it.each<readonly [string, object, number]>([
    ['another chain', { genesis: genesisHashes.mainnet }, 400],
    ['no taker', { taker: undefined }, 400],
    ['a taker that is no address', { taker: 'me' }, 400],
    ['a token it does not know', { sell: '11111111111111111111111111111111' }, 400],
    ['the same token', { sell: 'SOL', buy: 'SOL' }, 400],
    ['nothing', { units: '0' }, 400],
    ['a number', { units: 5 }, 400],
    ['too little', { units: '1' }, 422],
    ['more than the taker holds', { units: '1000000000001' }, 422],
  ])('is refused for %s', async (_name, more, status) => {
    expect(await desk.quote(request(more))).toMatchObject({ status, body: { why: expect.any(String) } })
  })

  it.each([undefined, null, [], 'x', 7])('is refused for %j', async (body) => {
    expect(await desk.quote(body)).toMatchObject({ status: 400 })
  })

  it('is refused for the desk itself, and for a wallet that has nothing', async () => {
    expect(await desk.quote(request({ taker: trade.deskWallet.address }))).toMatchObject({ status: 400 })
    expect(await desk.quote(request({ taker: (await newWallet()).address }))).toMatchObject({ status: 422 })
  })

  it('is refused without a fresh rate', async () => {
    desk = openDesk({ rates: () => ({ USDC: '1' }) })
    expect(await desk.quote(request())).toMatchObject({ status: 503 })
  })

  it('is not given on mainnet at all', () => {
    expect(() => openDesk({ genesis: genesisHashes.mainnet ?? '' })).toThrow('not on mainnet')
  })

  it('reserves promised amounts until the quotes can no longer be used', async () => {
    const wallet = await newWallet()
    await trade.world.localnet.fund(wallet.address, { SOL: 1_000_000_000n, USDC: 1_500_000n, NATIVE: 0n })
    desk = openDesk({ wallet })
    const other = await trade.taker()
    await quoteOf()
    // The same taker again takes the place of its own quote.
    const id = await quoteOf()
    expect(await desk.quote(request({ taker: other.address }))).toEqual({
      status: 422,
      body: { why: "the desk's balance is too low" },
    })
    trade.clock.move(31_000)
    const later = await quoteOf({ taker: other.address })
    expect(later).not.toBe(id)
    expect(await sign(id, await composeExchange(termsOf({ desk: wallet.address }), await details()))).toMatchObject({
      status: 404,
    })
    // Signed, it is kept back until its block is too old.
    const terms = termsOf({ desk: wallet.address, taker: other.address })
    expect(await sign(later, await composeExchange(terms, await details()))).toMatchObject({ status: 200 })
    trade.clock.move(31_000)
    expect(await desk.quote(request())).toMatchObject({ status: 422 })
    trade.world.localnet.advanceSlots(150)
    expect(await desk.quote(request())).toMatchObject({ status: 422 })
    trade.world.localnet.advanceSlots(40)
    await quoteOf()
  })

  it('is not promised twice to two parallel takers', async () => {
    const wallet = await newWallet()
    await trade.world.localnet.fund(wallet.address, { SOL: 1_000_000_000n, USDC: 1_500_000n, NATIVE: 0n })
    desk = openDesk({ wallet })
    const takers = [taker, await trade.taker(), await trade.taker()]
    const answers = await Promise.all(takers.map(({ address: one }) => desk.quote(request({ taker: one }))))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422, 422])
  })

  it('is given to one taker eight times while signed transactions may land', async () => {
    for (let turn = 0; turn < 8; turn += 1) {
      const memo = `paystile:${turn}`
      expect(await sign(await quoteOf(), await composeExchange(termsOf(), await details({ memo })))).toMatchObject({
        status: 200,
      })
    }
    expect(await desk.quote(request())).toEqual({ status: 503, body: { why: 'too many quotes are open' } })
  })
})

describe('the desk signs', () => {
  it('the quoted transaction, so that the taker can send it', async () => {
    const quote = await quoteOf()
    const message = await composeExchange(termsOf(), await details())
    const { status, body } = await sign(quote, message)
    expect(status).toBe(200)
    const half = await attachSignature(
      unsigned(message),
      trade.deskWallet.address,
      decodeSignature(String(body['signature'])) ?? new Uint8Array(),
    )
    const wire = await signUnchanged(half, taker)
    const signature = encodeBase58(wire.subarray(1, 65))
    expect(await trade.land({ wire, signature, lastValidBlockHeight: 0, slot: 0 })).toBeNull()
  })

  it('the same message again for an answer that was lost, also when both come at once', async () => {
    const quote = await quoteOf()
    const message = await composeExchange(termsOf(), await details())
    const answers = await Promise.all([sign(quote, message), sign(quote, message)])
    answers.push(await sign(quote, message))
    expect(new Set(answers.map(({ body }) => body['signature'])).size).toBe(1)
  })

  it('T156: one message for a quote, for the first request', async () => {
    const quote = await quoteOf()
    const messages = await Promise.all(
      ['a', 'b', 'c'].map(async (id) => composeExchange(termsOf(), await details({ memo: `paystile:${id}` }))),
    )
    const answers = await Promise.all(messages.map((message) => sign(quote, message)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
  })

  it('where the taker opens its own account', async () => {
    const message = await composeExchange(termsOf(), await details({ opens: true }))
    expect(await sign(await quoteOf(), message)).toMatchObject({ status: 200 })
  })
})

describe('T156: the desk does not sign', () => {
  const refused = async (message: Uint8Array, quote?: string) => {
    const answer = await sign(quote ?? (await quoteOf()), message)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.body).not.toHaveProperty('signature')
    return answer
  }
  const notQuoted = { status: 422, body: { why: 'the message differs from the quote' } }

  it.each<readonly [string, (terms: ExchangeTerms, stranger: string) => ExchangeTerms]>([
    ['a smaller payment to it', (terms) => ({ ...terms, sell: { ...terms.sell, units: terms.sell.units - 1n } })],
    ['a larger payment by it', (terms) => ({ ...terms, buy: { ...terms.buy, units: terms.buy.units + 1n } })],
    ['a payment in another token', (terms) => ({ ...terms, sell: { mint: undefined, units: terms.sell.units } })],
    ['a payment of another token', (terms) => ({ ...terms, buy: { mint: undefined, units: terms.buy.units } })],
    ['an exchange with somebody else', (terms, stranger) => ({ ...terms, taker: stranger })],
    ['an exchange by somebody else', (terms, stranger) => ({ ...terms, desk: stranger })],
    ['both sides turned', (terms) => ({ ...terms, sell: terms.buy, buy: terms.sell })],
  ])('%s', async (_name, change) => {
    const stranger = (await newWallet()).address
    const message = await composeExchange(change(termsOf(), stranger), await details())
    expect(await refused(message)).toEqual(notQuoted)
  })

  /** The instructions of an honest exchange, to be tampered with. */
  const honest = async (): Promise<readonly Instruction[]> => {
    const [from, to] = [createNoopSigner(address(taker.address)), createNoopSigner(address(trade.deskWallet.address))]
    const account = (owner: string, mint: Mint) => trade.world.tokenAccount(owner, mint)
    const transfer = async (mint: Mint, source: typeof from, target: typeof from, amount: bigint) =>
      getTransferCheckedInstruction(
        {
          source: await account(source.address, mint),
          mint: address(mint.address),
          destination: await account(target.address, mint),
          authority: source,
          amount,
          decimals: mint.decimals,
        },
        { programAddress: address(mint.tokenProgram) },
      )
    return [
      getSetComputeUnitLimitInstruction({ units: 200_000 }),
      getSetComputeUnitPriceInstruction({ microLamports: 10_000n }),
      await transfer(native, from, to, 10_000_000_000n),
      memoInstruction('paystile:d'),
      await transfer(usdc, to, from, 997_000n),
    ]
  }
  const composed = async (instructions: readonly Instruction[], feePayer = taker.address) => {
    const lifetime = await readLifetime(trade.rpc)
    return composeMessage(instructions, lifetime ?? { blockhash: '' }, feePayer)
  }

  it('but does sign the honest one, put together by hand', async () => {
    expect(await sign(await quoteOf(), await composed(await honest()))).toMatchObject({ status: 200 })
  })

  it('one instruction more, wherever it stands', async () => {
    const instructions = await honest()
    const source = createNoopSigner(address(trade.deskWallet.address))
    const theft = getTransferSolInstruction({ source, destination: address(taker.address), amount: 1n })
    const approval = getApproveInstruction({
      source: await trade.world.tokenAccount(trade.deskWallet.address, usdc),
      delegate: address(taker.address),
      owner: source,
      amount: 1n,
    })
    for (const extra of [theft, approval, memoInstruction('paystile:d'), memoInstruction('more')]) {
      for (let at = 0; at <= instructions.length; at += 1) {
        expect(await refused(await composed(instructions.toSpliced(at, 0, extra)))).toEqual(notQuoted)
      }
    }
  })

  it('one instruction less, or another order', async () => {
    const instructions = await honest()
    for (let at = 0; at < instructions.length; at += 1) {
      expect(await refused(await composed(instructions.toSpliced(at, 1)))).toEqual(notQuoted)
    }
    expect(await refused(await composed(instructions.toReversed()))).toEqual(notQuoted)
  })

  it('two quotes in one transaction', async () => {
    const instructions = await honest()
    expect(await refused(await composed([...instructions, ...instructions.slice(2)]))).toEqual(notQuoted)
  })

  it('a transaction with itself or a third party as the fee payer', async () => {
    const instructions = await honest()
    expect(await refused(await composed(instructions, trade.deskWallet.address))).toEqual(notQuoted)
    expect(await refused(await composed(instructions, (await newWallet()).address))).toEqual(notQuoted)
  })

  it('where its account may be written to, or stands among others, that need not', async () => {
    const instructions = await honest()
    const named = (role: AccountRole): Instruction => ({
      ...memoInstruction('paystile:d'),
      accounts: [{ address: address(trade.deskWallet.address), role }],
    })
    for (const role of [AccountRole.READONLY, AccountRole.READONLY_SIGNER, AccountRole.WRITABLE_SIGNER]) {
      expect(await refused(await composed(instructions.toSpliced(3, 1, named(role))))).toEqual(notQuoted)
    }
  })

  it('a destination that is not the owner’s usual account', async () => {
    const instructions = await honest()
    const leg = instructions[4]
    const [source, mint, , owner] = leg?.accounts ?? []
    const stranger = await trade.world.tokenAccount((await newWallet()).address, usdc)
    const changed = { ...leg, accounts: [source, mint, { address: stranger, role: AccountRole.WRITABLE }, owner] }
    expect(await refused(await composed(instructions.toSpliced(4, 1, changed as Instruction)))).toEqual(notQuoted)
  })

  it('any other bytes: cut, longer, of another version, or of nothing', async () => {
    const message = await composeExchange(termsOf(), await details())
    const variants = [
      message.slice(0, -1),
      Uint8Array.from([...message, 0]),
      message.slice(1),
      Uint8Array.from([0x81, ...message.slice(1)]),
      new Uint8Array(),
    ]
    for (const variant of variants) await refused(variant)
    for (let at = 0; at < message.length; at += 1) {
      const changed = message.slice()
      changed[at] = (changed[at] ?? 0) ^ 1
      const { status } = await sign(await quoteOf(), changed)
      // Compute budget, memo and block are the taker's to choose; the block then is none.
      if (status !== 200) continue
      expect(memoOrBudget(message, at), `byte ${at}`).toBe(true)
      desk = openDesk()
    }
  })

  function memoOrBudget(message: Uint8Array, at: number): boolean {
    const memo = Buffer.from(message).indexOf('paystile:d')
    const limit = Buffer.from(message).indexOf(Buffer.from([2, 0x40, 0x0d, 0x03, 0x00]))
    const price = Buffer.from(message).indexOf(Buffer.from([3, 0x10, 0x27, 0, 0, 0, 0, 0, 0]))
    const within = (from: number, length: number) => at >= from && at < from + length
    return within(memo + 9, 1) || within(limit + 1, 4) || within(price + 1, 8)
  }

  it.each(['', 'paystile:', 'other:abc', `paystile:${'x'.repeat(65)}`, 'paystile:a b', 'paystile:ä'])(
    'a memo like %j',
    async (memo) => {
      expect(await refused(await composeExchange(termsOf(), await details({ memo })))).toEqual(notQuoted)
    },
  )

  it('a transaction with an old block, with a block of another chain, or with a nonce', async () => {
    const block = { status: 422, body: { why: 'its blockhash is not a recent one of this chain' } }
    const old = await composeExchange(termsOf(), await details())
    trade.world.localnet.advanceSlots(200)
    expect(await refused(old)).toEqual(block)
    const foreign = await details({ blockhash: encodeBase58(new Uint8Array(32).fill(7)) })
    expect(await refused(await composeExchange(termsOf(), foreign))).toEqual(block)
  })

  it('when a node speaks for another chain', async () => {
    const call = async () => ({ kind: 'answered', result: genesisHashes.mainnet }) as const
    const other = { name: 'x', call, callWithGenesis: callOneByOne(call) }
    desk = openDesk({ rpc: { ...trade.rpc, nodes: [...trade.rpc.nodes, other] } })
    await refused(await composeExchange(termsOf(), await details()))
  })

  it('for a quote that ran out, was never given, or was replaced', async () => {
    const message = await composeExchange(termsOf(), await details())
    const gone = { status: 404, body: { why: 'the quote does not exist or has expired' } }
    const replaced = await quoteOf()
    const latest = await quoteOf()
    expect(await refused(message, replaced)).toEqual(gone)
    expect(await refused(message, crypto.randomUUID())).toEqual(gone)
    trade.clock.move(30_001)
    expect(await refused(message, latest)).toEqual(gone)
    expect(await desk.sign({ quote: 7, message: 'AAAA' })).toEqual(gone)
    expect(await desk.sign(null)).toEqual(gone)
  })

  it('a text that is not base64url, or too long', async () => {
    const quote = await quoteOf()
    expect(await desk.sign({ quote, message: '***' })).toMatchObject({ status: 400 })
    expect(await desk.sign({ quote, message: 'A'.repeat(4_000) })).toMatchObject({ status: 400 })
    expect(await desk.sign({ quote })).toMatchObject({ status: 400 })
  })
})

describe('over HTTP', () => {
  const ask = (path: string, init: RequestInit) => fetch(`${trade.url}${path}`, init)

  it('answers nothing but its two addresses', async () => {
    expect((await ask('/', { method: 'POST', body: '{}' })).status).toBe(404)
    expect((await ask('/quote', { method: 'GET' })).status).toBe(405)
    expect((await ask('/toString', { method: 'POST', body: '{}' })).status).toBe(404)
    expect((await ask('/quote', { method: 'POST', body: 'no JSON' })).status).toBe(400)
  })

  it('reads no long bodies', async () => {
    const outcome = await ask('/quote', { method: 'POST', body: 'x'.repeat(100_000) }).then(
      ({ status }) => status,
      () => 'hung up',
    )
    expect([413, 'hung up']).toContain(outcome)
  })
})
