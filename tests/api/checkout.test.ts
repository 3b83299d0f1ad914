/** People at a sold address, as far as HTTP goes: the page, its ticket, and paying once whatever happens. */
import { join } from 'node:path'
import { address, type KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CheckoutFacts, CheckoutReceipt, CheckoutView } from '../../src/core/checkout/messages.ts'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import { deriveReference } from '../../src/core/payment/solana-pay.ts'
import { formatRefund, formatRefundLockKey } from '../../src/core/payouts/refunds.ts'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { isReceiptGenuine, parseReceipt } from '../../src/core/protocol/receipt.ts'
import { createIdentity, createVerifier } from '../../src/host/keys/ed25519.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters } from '../harness/adapters.ts'
import { payFromPhone, signDraft } from '../harness/purchase.ts'
import { codeOf, eventually } from '../harness/shop.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { createShopFixture } from '../harness/shop-fixture.ts'
import { createVisitor, plainName } from '../harness/visitor.ts'
import { openHouse } from './api-fixture.ts'

let shop: ShopFixture
beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())

const open = (options = {}) => shop.open({ watch: true, ...options })

const payFrom = (payer: KeyPairSigner, facts: CheckoutFacts, units?: bigint) =>
  payFromPhone(shop.world, payer, facts, units)

/** What the seller has, in base units of USDC. */
async function revenue(): Promise<bigint> {
  const { world } = shop
  const account = await world.tokenAccount(world.recipient.address, world.usdc)
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
    account,
    { commitment: 'confirmed' },
  ])
  return BigInt(value.amount)
}

describe('the page', () => {
  it('is shown only to people in a browser', async () => {
    const { url } = await open()
    const kinds: readonly (readonly [Record<string, string>, string])[] = [
      [{ Accept: 'text/html,*/*;q=0.8' }, 'text/html; charset=utf-8'],
      [{ Accept: 'text/html', 'Sec-Fetch-Dest': 'document' }, 'text/html; charset=utf-8'],
      [{ Accept: 'text/html', 'Sec-Fetch-Dest': 'empty' }, 'application/json'],
      [{ Accept: 'text/html', 'Sec-Purpose': 'prefetch;prerender' }, 'application/json'],
      [{ Accept: 'text/html', Purpose: 'prefetch' }, 'application/json'],
      [{ Accept: '*/*' }, 'application/json'],
      [{ Accept: 'application/json' }, 'application/json'],
    ]
    for (const [headers, type] of kinds) {
      const response = await fetch(`${url}/data`, { headers })
      expect([response.status, response.headers.get('content-type')], JSON.stringify(headers)).toEqual([402, type])
      expect(response.headers.get('cache-control')).toBe('no-store')
    }
    const posted = await fetch(`${url}/data`, { method: 'POST', headers: { Accept: 'text/html' } })
    expect(posted.headers.get('content-type')).toBe('application/json')
  })

  it('is not sent to a program that sends a proof, although it accepts pages', async () => {
    const { url } = await open()
    const headers = { Accept: 'text/html', 'Payment-Proof': 'tx=x' }
    const refused = await fetch(`${url}/data`, { headers })
    expect([refused.status, refused.headers.get('content-type')]).toEqual([403, 'application/problem+json'])
  })

  it('has a version, which every answer to its script states', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const { version, requestId } = (await visitor.go()).facts()
    expect(version).toMatch(/^[\w-]{8}$/)
    const headers = { 'Payment-Checkout': `view; requestId=${requestId}; token=USDC` }
    const answer = await fetch(`${url}/data`, { headers })
    expect(answer.headers.get('payment-checkout')).toBe(version)
  })

  it('is not there where the provider does not want it', async () => {
    const { url } = await open({ checkout: false })
    const response = await fetch(`${url}/data`, { headers: { Accept: 'text/html' } })
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.getSetCookie()).toEqual([])
  })

  it('runs only its own script and forbids frames', async () => {
    const { url } = await open()
    const page = await createVisitor(url).go()
    const policy = page.headers.get('content-security-policy') ?? ''
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1]
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    const scripts = [...page.text.matchAll(/<script(?![^>]*application\/json)[^>]*>/g)].map(([tag]) => tag)
    expect(scripts.length).toBeGreaterThan(0)
    for (const tag of scripts) expect(tag).toContain(`nonce="${nonce}"`)
    expect((await createVisitor(url).go()).headers.get('content-security-policy')).not.toContain(nonce)
  })

  it.each([
    ['gzip, deflate, br', 'gzip'],
    ['identity', null],
  ])(
    'is the same document for a browser that accepts %s, and a half or less of it if compressed',
    async (accept, encoding) => {
      const { url } = await open()
      const headers = { Accept: 'text/html', 'Accept-Encoding': accept }
      const page = await fetch(`${url}/data`, { headers })
      expect([page.status, page.headers.get('content-encoding')]).toEqual([402, encoding])
      expect(page.headers.get('vary')).toMatch(/Accept-Language, Accept-Encoding$/)
      const text = await page.text()
      const length = Number(page.headers.get('content-length'))
      if (encoding === null) expect(length).toBe(text.length)
      else expect(length).toBeLessThan(text.length / 2)
      const { nonce = '' } =
        /script-src 'nonce-(?<nonce>[^']+)'/.exec(page.headers.get('content-security-policy') ?? '')?.groups ?? {}
      expect(text).toContain(`<script nonce="${nonce}">`)
      const [cookie = ''] = page.headers.getSetCookie()
      const secret = /\.([\w-]{32})(?:[~;])/.exec(cookie)?.[1]
      // The sizes of compressed pages can tell nothing of a secret that they do not contain.
      expect(secret).toMatch(/^[\w-]{32}$/)
      expect(text).not.toContain(secret)
    },
  )

  it.each(adapters)('is compressed with %s, unless the framework does it itself', async (name, serve) => {
    const { url } = await shop.open({ watch: false }, serve)
    const page = await fetch(`${url}/data`, { headers: { Accept: 'text/html', 'Accept-Encoding': 'gzip' } })
    expect(page.headers.get('content-encoding')).toBe(name === 'Next' ? null : 'gzip')
    expect(await page.text()).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/)
    expect(page.headers.getSetCookie()).toHaveLength(1)
  })

  it('is in the language of the browser, as are the answers to its script', async () => {
    const { url } = await open({ acceptedMints: ['USDC', 'SOL'] })
    const page = await createVisitor(url).go('/data', { 'Accept-Language': 'de-AT,de;q=0.9,en;q=0.5' })
    expect([page.headers.get('content-language'), page.facts().locale]).toEqual(['de', 'de-AT'])
    expect(page.facts().buys).toBe('eine Anfrage')
    const header = `status; requestId=${page.facts().requestId}`
    const refused = await fetch(`${url}/data`, {
      headers: { Accept: 'application/json', 'Payment-Checkout': header, 'Accept-Language': 'de' },
    })
    expect(((await refused.json()) as { detail: string }).detail).toMatch(/^Dieser Browser hat das Cookie/)
  })

  it('shows the exact amounts, with the approximate value of tokens that have a rate', async () => {
    const { url } = await open({
      price: '1234.5',
      acceptedMints: ['USDC', 'SOL', 'NATIVE'],
      rates: { SOL: '150', NATIVE: '0.1' },
    })
    const { tokens } = (await createVisitor(url).go()).facts()
    expect(tokens.map(({ token, dollars }) => [token, dollars])).toEqual([
      ['USDC', undefined],
      ['NATIVE', '1234.5'],
      ['SOL', '1234.5'],
    ])
    expect(tokens.map(({ amount }) => amount.includes(','))).toEqual([false, false, false])
  })

  it('names the seller and the item to wallets', async () => {
    const { url } = await open({ description: 'The moon, now', seller: { name: 'Moon Almanac' } })
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const { uri } = await visitor.order<{ readonly uri: string }>({ kind: 'view', requestId, token: 'USDC' })
    const params = new URLSearchParams(uri.split('?')[1])
    expect([params.get('label'), params.get('message')]).toEqual(['Moon Almanac', 'The moon, now'])
  })

  it('keeps its secret where no script reads it, for this address alone', async () => {
    const { url } = await open()
    const [cookie = ''] = (await createVisitor(url).go('/data?a=1')).headers.getSetCookie()
    expect(cookie).toMatch(/; Path=\/data; Max-Age=\d+; HttpOnly; SameSite=Lax$/)
  })

  it.each<[string, ProviderOptions['publicUrl'], number, string, boolean]>([
    ['publicUrl is https', 'https://shop.example', 0, '', true],
    ['publicUrl is http, whatever a proxy says', 'http://shop.example', 1, 'https', false],
    ['a trusted proxy says https', undefined, 1, 'https', true],
    ['the outer one of two does', undefined, 2, 'https, http', true],
    ['the client says so before a trusted proxy', undefined, 1, 'https, http', false],
    ['nobody trusted says so', undefined, 0, 'https', false],
  ])(
    'T178: its cookie is one that no neighbour can set on https: %s',
    async (_name, publicUrl, trustProxy, proto, isSecure) => {
      const { url } = await open({ trustProxy, ...(publicUrl && { publicUrl }) })
      const visitor = createVisitor(url)
      const via = { 'X-Forwarded-Proto': proto }
      const page = await visitor.go('/data?a=1', via)
      const [cookie = ''] = page.headers.getSetCookie()
      expect(cookie).toMatch(
        isSecure ? /^__Host-.*; Path=\/; .*; Secure$/ : /^paystile_.*; Path=\/data; .*SameSite=Lax$/,
      )
      expect((await visitor.go('/data?a=1', via)).facts().requestId).toBe(page.facts().requestId)
      // The ticket under the other name, as a neighbour could plant it.
      const [[name = '', value = ''] = []] = [...visitor.cookies]
      const planted = { ...via, Cookie: `${isSecure ? name.replace('__Host-', '') : `__Host-${name}`}=${value}` }
      expect((await createVisitor(url).go('/data?a=1', planted)).facts().requestId).not.toBe(page.facts().requestId)
    },
  )

  it('shows the same price again until it has expired, and each address its own', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const first = (await visitor.go('/data?a=1')).facts()
    const other = (await visitor.go('/data?a=2')).facts()
    expect(other.requestId).not.toBe(first.requestId)
    expect((await visitor.go('/data?a=1')).facts().requestId).toBe(first.requestId)
    expect((await visitor.go('/data?a=2')).facts().requestId).toBe(other.requestId)
    expect((await createVisitor(url).go('/data?a=1')).facts().requestId).not.toBe(first.requestId)
  })
})

describe('a payment from a phone', () => {
  it('is noticed by its memo, and a reload shows the resource once', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    expect(await visitor.status(facts.requestId)).toEqual({ state: 'waiting' })
    await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    const shown = await visitor.go()
    expect([shown.status, shown.text]).toEqual([200, 'the secret'])
    const again = (await visitor.go()).facts()
    expect(again.requestId).not.toBe(facts.requestId)
    expect([again.isAgain, again.texts.againText]).toEqual([true, expect.stringContaining('has been used')])
  })

  it('has a signed receipt for the browser that paid, and for no other client, before and after the delivery', async () => {
    const secret = `1:${'cd'.repeat(32)}`
    const keyring = readKeyring(secret)
    if (keyring.kind !== 'keyring') throw new Error('no keyring')
    const { publicKey } = createIdentity(keyring.keyring.identitySeed)
    const { url } = await open({ secret })
    const visitor = createVisitor(url)
    const target = '/data?place=Oslo'
    const facts = (await visitor.go(target)).facts()
    const order = { kind: 'receipt', requestId: facts.requestId } as const
    const ask = (who = visitor, path = target) => who.order<CheckoutReceipt & { readonly code?: string }>(order, path)
    expect((await ask()).code).toBe('tx_not_found')
    const tx = await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid', target)
    const told = await ask()
    const receipt = parseReceipt(told.receipt)
    expect(receipt && isReceiptGenuine(receipt, publicKey, createVerifier())).toBe(true)
    expect(receipt).toMatchObject({ reference: tx, requestId: facts.requestId, resource: `${url}${target}` })
    expect([told.tx, told.amount, told.token, receipt?.amount]).toEqual([tx, '0.01', 'USDC', '0.01'])
    expect((await ask(createVisitor(url))).code).toBe('claim_required')
    expect((await ask(visitor, '/data?place=Rome')).code).toBe('claim_required')
    expect((await visitor.go(target)).text).toBe('the secret')
    const again = (await visitor.go(target)).facts()
    expect([again.bought, again.isAgain]).toEqual([facts.requestId, true])
    expect((await ask()).receipt).toBe(told.receipt)
  })

  it('keeps its receipt in the browser although prices that are not paid expire', async () => {
    const { url } = await open({ challengeTtlSeconds: 120 })
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const tx = await payFrom(shop.payer, (await visitor.go()).facts())
    await visitor.until(requestId, 'paid')
    expect((await visitor.go()).text).toBe('the secret')
    for (let visit = 0; visit < 3; visit += 1) {
      const fresh = (await visitor.go()).facts()
      const receipt = await visitor.order<CheckoutReceipt>({ kind: 'receipt', requestId })
      expect([fresh.bought, receipt.tx]).toEqual([requestId, tx])
      shop.world.localnet.advance(121)
      await visitor.until(fresh.requestId, 'expired')
    }
  })

  it('is worth nothing to a client that saw it on chain', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    const tx = await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    const proof = `tx=${tx}; requestId=${facts.requestId}; payer=${shop.payer.address}`
    const copied = await fetch(`${url}/data`, { headers: { 'Payment-Proof': proof } })
    expect(await codeOf(copied)).toBe('403 claim_required')
    const [name = ''] = visitor.cookies.keys()
    const forged = { Cookie: `${name}=${facts.requestId}.${'A'.repeat(32)}` }
    const page = await createVisitor(url).go('/data', forged)
    expect(page.status).toBe(402)
    expect(page.facts().requestId).not.toBe(facts.requestId)
    expect((await visitor.go()).text).toBe('the secret')
  })

  it('of too little is told as such, and the rest of the way stays open', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    const tx = await payFrom(shop.payer, facts, 4_000n)
    const short = await visitor.until(facts.requestId, 'short')
    expect(short).toEqual({ state: 'short', tx, token: 'USDC', received: '0.004', required: '0.01' })
    expect((await visitor.go()).facts().standing).toEqual(short)
    await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    expect((await visitor.go()).text).toBe('the secret')
  })

  it('with the reference but without the memo belongs to no request', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    const { world, payer } = shop
    const transfer = await world.transfer(payer, facts.recipient, 'USDC', 10_000n)
    const mention = { address: address(deriveReference(facts.requestId)), role: 0 as const }
    await world.send([{ ...transfer, accounts: [...(transfer.accounts ?? []), mention] }], payer)
    const another = createVisitor(url)
    const other = (await another.go()).facts()
    await payFrom(payer, other)
    await another.until(other.requestId, 'paid')
    expect(await visitor.status(facts.requestId)).toEqual({ state: 'waiting' })
  })

  it('that came too late is told once, and then there is a new price', async () => {
    const { url } = await open({ challengeTtlSeconds: 120 })
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    shop.world.localnet.advance(200)
    await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'late')
    const told = (await visitor.go()).facts()
    expect([told.requestId, told.standing.state]).toEqual([facts.requestId, 'late'])
    const fresh = (await visitor.go()).facts()
    expect([fresh.requestId === facts.requestId, fresh.standing.state]).toEqual([false, 'waiting'])
  })

  it('that was refunded is not called ready, and then there is a new price', async () => {
    const house = await openHouse(shop, { watch: true })
    const visitor = createVisitor(house.url)
    const facts = (await visitor.go()).facts()
    const tx = await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    const bytes = decodeSignature(tx) ?? new Uint8Array()
    const about = formatRefund({ payment: tx, token: 'USDC', units: 10_000n, reason: 'unclaimed' })
    const refund = {
      id: 'r1',
      kind: 'refund',
      lockKey: formatRefundLockKey(tx),
      about,
      lines: [],
      voids: bytes,
    } as const
    const planning = await house.service.ledger.outgoing.plan({ ...refund, refunds: { tx: bytes, units: 10_000n } })
    expect([planning.kind, (await visitor.status(facts.requestId)).state]).toEqual(['planned', 'used'])
    const fresh = (await visitor.go()).facts()
    expect([fresh.requestId === facts.requestId, fresh.standing.state, fresh.isAgain]).toEqual([false, 'waiting', true])
    expect(fresh.texts.againText).toContain('was refunded')
    await house.close()
  })

  it('that was made in time is found although the price has been replaced since', async () => {
    const { url } = await open({ challengeTtlSeconds: 120 })
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    shop.world.localnet.advance(121)
    // A browser that had shown a new price before the payment was seen.
    const [name = ''] = visitor.cookies.keys()
    const old = visitor.cookies.get(name)
    const late = createVisitor(url)
    await late.go()
    const page = await late.go('/data', { Cookie: `${name}=${late.cookies.get(name)}~${old}` })
    expect([page.status, page.text]).toEqual([200, 'the secret'])
  })
})

describe('a payment with a wallet in the browser', () => {
  it('is drafted for the wallet, sent after the signature, and shows the resource', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const before = await revenue()
    const signed = await signDraft(await visitor.prepare(requestId, shop.payer.address), shop.payer)
    expect(await visitor.submit(requestId, signed)).toMatchObject({ kind: 'sent' })
    await visitor.until(requestId, 'paid')
    expect((await visitor.go()).text).toBe('the secret')
    expect((await revenue()) - before).toBe(10_000n)
  })

  it('pays once, however many tabs sign and send', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const { payer, world } = shop
    const before = await revenue()
    const drafts: Uint8Array[] = []
    for (let tab = 0; tab < 4; tab += 1) {
      drafts.push(await signDraft(await visitor.prepare(requestId, payer.address), payer))
      world.localnet.advanceSlots(1)
    }
    const sendings = await Promise.all(drafts.map((draft) => visitor.submit(requestId, draft)))
    expect(sendings.filter(({ kind }) => kind === 'sent').length).toBeGreaterThan(0)
    await visitor.until(requestId, 'paid')
    expect(await visitor.prepare(requestId, payer.address)).toMatchObject({ kind: 'state', state: 'paid' })
    world.localnet.advanceSlots(300)
    expect(await visitor.status(requestId)).toMatchObject({ state: 'paid' })
    expect((await revenue()) - before).toBe(10_000n)
  })

  it('names the missing balance before any signature', async () => {
    const { url } = await open({ acceptedMints: ['USDC', 'SOL'], rates: { SOL: '100', USDC: '1' } })
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const { localnet } = shop.world
    const poor = await shop.world.person()
    await localnet.fund(poor.address, { USDC: 0n })
    const empty = 'J2Yw5ebd47FLtuJVpjSkcoRBuFEBNJZxs63jAFVTjBjV'
    expect(await visitor.prepare(requestId, empty)).toEqual({ kind: 'short', token: 'USDC', has: '0', needs: '0.01' })
    expect(await visitor.prepare(requestId, empty, 'SOL')).toMatchObject({ kind: 'short', token: 'SOL', has: '0' })
    await localnet.fund(empty, { USDC: 1_000_000n })
    const fee = await visitor.prepare(requestId, empty)
    expect(fee).toMatchObject({ kind: 'short', token: 'SOL', has: '0' })
  })

  it('takes nothing to the chain that is not a payment of this purchase', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const somebody = createVisitor(url)
    const other = (await somebody.go()).facts()
    const foreign = await signDraft(await somebody.prepare(other.requestId, shop.payer.address), shop.payer)
    const unsigned = await visitor.prepare(requestId, shop.payer.address)
    const bytes =
      unsigned.kind === 'transaction' ? new Uint8Array(Buffer.from(unsigned.transaction, 'base64')) : foreign
    for (const wrong of [foreign, bytes, new Uint8Array(200), Uint8Array.of(1)]) {
      expect((await visitor.submit(requestId, wrong)).kind).toBe('refused')
    }
    expect(await visitor.status(requestId)).toEqual({ state: 'waiting' })
  })

  it('is not sent any more when the phone has paid meanwhile', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    const signed = await signDraft(await visitor.prepare(facts.requestId, shop.payer.address), shop.payer)
    const before = await revenue()
    await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    expect(await visitor.submit(facts.requestId, signed)).toMatchObject({ kind: 'state', state: 'paid' })
    shop.world.localnet.advanceSlots(10)
    expect((await revenue()) - before).toBe(10_000n)
  })

  it('is not drafted any more when it could not land in time, nor for another route', async () => {
    const place = { ledger: join(shop.directory, 'routes.sqlite'), secret: `1:${'ef'.repeat(32)}` }
    const shared = { ...place, challengeTtlSeconds: 120 }
    const [one, other] = [await open({ ...shared, scope: 'one' }), await open({ ...shared, scope: 'other' })]
    const visitor = createVisitor(one.url)
    const { requestId, expiresAt, now } = (await visitor.go()).facts()
    expect(await createVisitor(other.url).status(requestId)).toMatchObject({ code: 'unknown_request' })
    expect(await visitor.prepare(requestId, shop.payer.address)).toMatchObject({ kind: 'transaction' })
    shop.world.localnet.advance(Math.floor((expiresAt - now) / 1000) - 3)
    // The service learns of the chain's time a little later.
    const drafted = await eventually(
      () => visitor.prepare(requestId, shop.payer.address),
      ({ kind }) => kind === 'state',
      100,
    )
    expect(drafted).toEqual({ kind: 'state', state: 'expired' })
    expect(await visitor.status(requestId)).toEqual({ state: 'waiting' })
  })

  it('does not send old signatures or durable-nonce transactions, and accepts another one', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const old = await signDraft(await visitor.prepare(requestId, shop.payer.address), shop.payer)
    shop.world.localnet.advanceSlots(400)
    expect((await visitor.submit(requestId, old)).kind).toBe('refused')
    const fresh = await signDraft(await visitor.prepare(requestId, shop.payer.address), shop.payer)
    expect((await visitor.submit(requestId, fresh)).kind).toBe('sent')
    // Saying it again, for an answer that was lost, changes nothing.
    expect((await visitor.submit(requestId, fresh)).kind).not.toBe('refused')
    await visitor.until(requestId, 'paid')
  })

  it('goes on where it was when the server was restarted in the middle', async () => {
    const options = { ledger: join(shop.directory, 'checkout.sqlite'), secret: `1:${'ab'.repeat(32)}` }
    const first = await open(options)
    const before = createVisitor(first.url)
    const { requestId } = (await before.go()).facts()
    const signed = await signDraft(await before.prepare(requestId, shop.payer.address), shop.payer)
    expect(await before.submit(requestId, signed)).toMatchObject({ kind: 'sent' })
    await first.stop()
    const second = await open(options)
    const after = createVisitor(second.url, before.cookies)
    await after.until(requestId, 'paid')
    const page = await after.go()
    expect([page.status, page.text]).toEqual([200, 'the secret'])
  })
})

describe('a ticket', () => {
  it('of one address opens no other, and stands beside the cookies of the application', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go('/data?a=1')).facts()
    await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid', '/data?a=1')
    const [value = ''] = visitor.cookies.values()
    const moved = await visitor.go('/data?a=2', { Cookie: `${plainName('/data?a=2')}=${value}` })
    expect([moved.status, moved.facts().requestId === facts.requestId]).toEqual([402, false])
    expect((await visitor.go('/data?a=1')).text).toBe('the secret')
  })

  it('is not used by requests other than visits: a script, a prefetch', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    for (const headers of [{ 'Sec-Fetch-Dest': 'empty' }, { 'Sec-Purpose': 'prefetch' }, { Accept: '*/*' }]) {
      expect((await visitor.go('/data', headers)).status).toBe(402)
    }
    expect((await visitor.go()).text).toBe('the secret')
  })
})

describe('a claimed transaction', () => {
  it('is believed only where the chain says the same', async () => {
    const { url } = await open({ watch: false })
    const visitor = createVisitor(url)
    const [mine, other] = [(await visitor.go('/data')).facts(), (await visitor.go('/other')).facts()]
    const tx = await payFrom(shop.payer, other)
    const said = (requestId: string, path?: string) => visitor.order({ kind: 'status', requestId, tx }, path)
    expect(await said(mine.requestId)).toEqual({ state: 'confirming', tx })
    expect(await visitor.status(mine.requestId)).toEqual({ state: 'waiting' })
    expect(await said(other.requestId, '/other')).toEqual({ state: 'paid', tx })
    expect(await visitor.status(other.requestId, '/other')).toEqual({ state: 'paid', tx })
    expect((await visitor.go('/other')).text).toBe('the secret')
  })
})

describe('the delivery state', () => {
  it('is shown to the browser that paid, and not to clients that read the requestId on chain', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    const tx = await payFrom(shop.payer, facts)
    await visitor.until(facts.requestId, 'paid')
    const forger = createVisitor(url, new Map([[plainName('/data'), `${facts.requestId}.${'A'.repeat(32)}`]]))
    const strangers = [createVisitor(url), forger]
    const asked = () => Promise.all(strangers.map((stranger) => stranger.status(facts.requestId)))
    const before = await asked()
    expect(before).toEqual(strangers.map(() => ({ state: 'stranded', tx })))
    expect((await visitor.go()).text).toBe('the secret')
    expect(await visitor.until(facts.requestId, 'used')).toEqual({ state: 'used', tx })
    expect(await asked()).toEqual(before)
    for (const stranger of strangers)
      expect(await stranger.prepare(facts.requestId, shop.payer.address)).toMatchObject({ code: 'claim_required' })
  })
})

describe('a payment with test money', () => {
  it('is created for visitors on a local chain', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const before = await revenue()
    const order = () => visitor.order({ kind: 'test', requestId, token: 'USDC' })
    expect(await order()).toMatchObject({ kind: 'sent' })
    await visitor.until(requestId, 'paid')
    expect(await order()).toMatchObject({ kind: 'state', state: 'paid' })
    expect((await visitor.go()).text).toBe('the secret')
    expect((await revenue()) - before).toBe(10_000n)
  })
})

describe('requests of the page', () => {
  it('is answered for requestIds of this route only, and bad words are told as such', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    expect(await visitor.status('AQEA')).toMatchObject({ code: 'unknown_request' })
    for (const header of [
      '',
      'status',
      'status; requestId',
      'dance; requestId=abc',
      `status; requestId=${'a'.repeat(9000)}`,
    ]) {
      const response = await fetch(`${url}/data`, { headers: { 'Payment-Checkout': header || ' ' } })
      expect([403, 431]).toContain(response.status)
    }
  })

  it('is answered to one client as often as a page asks, and then no more for a while', async () => {
    const { url } = await open()
    const visitor = createVisitor(url)
    const { requestId } = (await visitor.go()).facts()
    const many = <Value>(times: number, ask: () => Promise<Value>) => Promise.all(Array.from({ length: times }, ask))
    const answers = await many(250, () => visitor.status(requestId))
    const refused = answers.filter((answer) => 'code' in answer)
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(120)
    expect(refused[0]).toMatchObject({ code: 'rate_limited' })
    const pages = await many(150, () => visitor.go('/other'))
    const types = new Set(pages.map(({ headers }) => headers.get('content-type')))
    expect(types).toEqual(new Set(['text/html; charset=utf-8', 'application/json']))
  })

  it('gives a phone another link for another token', async () => {
    const { url } = await open({ acceptedMints: ['USDC', 'SOL'], rates: { SOL: '100', USDC: '1' } })
    const visitor = createVisitor(url)
    const facts = (await visitor.go()).facts()
    const view = await visitor.order<CheckoutView>({
      kind: 'view',
      requestId: facts.requestId,
      token: 'SOL',
    })
    expect(view.uri).toContain(`memo=${facts.requestId}`)
    expect(view.uri).not.toContain('spl-token')
    expect(view.qr?.path).toMatch(/^M4 4\.5m0 0h7/)
  })
})
