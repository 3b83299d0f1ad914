/**
 * 1E, 1C: what happens to payments when keys, recipients, routes and prices change under them, when two replicas share a
 * ledger, and when somebody only asks whether a payment is good.
 */
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CheckOptions, checkPayment, verifyPayment } from '../../src/compose/check-payment.ts'
import { ConfigurationError } from '../../src/core/errors/configuration-error.ts'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { readConfig } from '../../src/paywall/config/config.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { Content } from '../harness/adapters.ts'
import { type LocalnetFixture, memo, newSigner, proofOf } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import {
  createShopFixture,
  expectRefused,
  expectServed,
  type ShopFixture,
  serveNode,
  txOf,
} from '../harness/shop-fixture.ts'

const [a, b] = ['a'.repeat(32), 'b'.repeat(32)]
let fixture: ShopFixture
let world: LocalnetFixture
let payer: KeyPairSigner
let files = 0
/** The handler's answer; undefined is the secret. */
let content: Content | undefined

beforeAll(async () => {
  fixture = await createShopFixture()
  ;({ world, payer } = fixture)
})
afterAll(() => fixture.close())

function newLedger(): string {
  files += 1
  return join(fixture.directory, `ledger-${files}.sqlite`)
}
const open = (options: Partial<ProviderOptions>) =>
  fixture.open(options, serveNode, () => content ?? { body: 'the secret' })

/** A service that is stopped and started again with other options. */
async function restart(shop: Shop, options: Partial<ProviderOptions>): Promise<Shop> {
  await shop.close()
  return open(options)
}

async function pay(shop: Shop, challenge?: Challenge): Promise<string> {
  const asked = challenge ?? (await shop.challenge())
  return proofOf(await world.pay(asked, payer), asked, payer)
}

describe('T65: a key is replaced', () => {
  it('while its challenges are open, and they are honoured', async () => {
    const ledger = newLedger()
    const before = await open({ secret: `1:${a}`, ledger })
    const [open1, open2] = [await before.challenge(), await before.challenge()]
    const paid = await pay(before)
    const after = await restart(before, { secret: `2:${b},1:${a}`, ledger })
    await expectServed(after.claim(paid))
    await expectServed(after.claim(await pay(after, open1)))
    const sealedWith = ({ requestId }: Challenge) => Buffer.from(requestId, 'base64url')[1]
    expect([sealedWith(open1), sealedWith(await after.challenge())]).toEqual([1, 2])
    await expectServed(after.claim(await pay(after)))
    const back = await restart(after, { secret: `1:${a},2:${b}`, ledger })
    await expectServed(back.claim(await pay(back, open2)))
  })

  it('and retired: payments in the ledger are served, and others are unknown', async () => {
    const ledger = newLedger()
    const before = await open({ secret: `1:${a}`, ledger })
    const [registered, unseen] = [await pay(before), await pay(before)]
    content = { status: 503, body: 'not now' }
    expect((await before.claim(registered)).status).toBe(503)
    content = undefined
    const after = await restart(before, { secret: `root:${a},2:${b}`, ledger })
    await expectRefused(after.claim(unseen), 'unknown_request')
    await expectRefused(after.claim(registered, '/other'), 'binding_mismatch')
    await expectRefused(after.claim(registered.replace(payer.address, world.recipient.address)), 'payer_mismatch')
    await expectRefused(after.claim(unseen.replace(txOf(unseen), txOf(registered))), 'unknown_request')
    await expectServed(after.claim(registered))
    const back = await restart(after, { secret: `2:${b},1:${a}`, ledger })
    await expectServed(back.claim(unseen))
  })

  it('but the root under a ledger is not', async () => {
    const ledger = newLedger()
    const before = await open({ secret: `1:${a}`, ledger })
    await before.close()
    await expect(open({ secret: `2:${b}`, ledger })).rejects.toThrow(/secret/)
  })
})

describe('T66: the configuration changes while a challenge is open', () => {
  it.each<[string, Partial<ProviderOptions>, Partial<ProviderOptions>]>([
    ['the price goes up', { price: 0.01 }, { price: 5 }],
    ['the price is in another token', { price: 0.01 }, { price: 0.001, token: 'SOL' }],
    ['the token is no longer accepted', { acceptedMints: ['USDC', 'SOL'] }, { acceptedMints: ['SOL'] }],
    ['the challenge lives shorter', { challengeTtlSeconds: 3600 }, { challengeTtlSeconds: 120 }],
    ['a query no longer matters', { bind: 'request' }, { bind: 'path' }],
    ['a query matters again', { bind: 'path' }, { bind: 'request' }],
    ['only bound proofs are sold', {}, { proofBinding: 'required' }],
    ['the route has another name', { scope: 'old' }, { scope: 'new', retired: { scopes: ['old'] } }],
  ])('%s: the old quote is honoured', async (_name, old, changed) => {
    const ledger = newLedger()
    const before = await open({ ledger, ...old })
    const challenge = await before.challenge('/data?x=1')
    const after = await restart(before, { ledger, ...changed })
    await expectServed(after.claim(await pay(after, challenge), '/data?x=1'))
  })

  it('the recipient is replaced: payments to the former one count while it is named as retired', async () => {
    const ledger = newLedger()
    const next = await newSigner()
    await world.localnet.fund(next.address, { SOL: 1_000_000_000n, USDC: 0n })
    const before = await open({ ledger })
    const [challenge, forgotten] = [await before.challenge(), await before.challenge()]
    const retired = { recipients: [world.recipient.address] }
    const after = await restart(before, { ledger, recipient: next.address, retired })
    expect((await after.challenge()).recipient).toBe(next.address)
    await expectServed(after.claim(await pay(after)))
    await expectRefused(after.claim(await pay(after, { ...challenge, recipient: next.address })), 'wrong_recipient')
    await expectServed(after.claim(await pay(after, challenge)))
    const without = await restart(after, { ledger, recipient: next.address })
    const late = await pay(without, forgotten)
    await expectRefused(without.claim(late), 'unknown_request')
    await expectServed((await restart(without, { ledger })).claim(late))
  })

  it('T125: a route that this replica does not know yet is worth another try, and the replica that knows it serves', async () => {
    const secret = `1:${a}`
    const knowing = await open({ secret, scope: 'report', ledger: newLedger() })
    const behind = await open({ secret, scope: 'data', ledger: newLedger() })
    const proof = await knowing.buy(payer)
    await expectRefused(behind.claim(proof), 'route_unknown')
    await expectServed(knowing.claim(proof))
  })

  it('T84: after a restart, a proof of another route is recognised before the first visit of that route', async () => {
    const ledger = newLedger()
    const options = { ledger, scope: 'dear', price: 1, recipient: (await newSigner()).address }
    const [cheap, dear] = [await open({ ledger, scope: 'cheap' }), await open(options)]
    const proof = await pay(cheap)
    await cheap.close()
    const later = await restart(dear, options)
    const again = await open({ ledger, scope: 'cheap' })
    await expectRefused(later.claim(proof), 'binding_mismatch')
    await expectServed(again.claim(proof))
  })
})

describe("proofBinding: 'required'", () => {
  it('asks a client that announced nothing for its signature, and takes no copy', async () => {
    const strict = await open({ proofBinding: 'required' })
    const bare = await strict.challenge()
    expect(bare.proof).toEqual(['sig'])
    await expectRefused(strict.claim(await pay(strict, bare)), 'signature_required')
    for (const accept of ['', 'claim=', 'claim=short', `claim=${'!'.repeat(43)}`, 'SIG', 'sig, sig']) {
      expect((await strict.challenge('/data', { 'Payment-Accept': accept })).proof).toEqual(['sig'])
    }
    const hash = Buffer.from(new Uint8Array(32)).toString('base64url')
    expect((await strict.challenge('/data', { 'Payment-Accept': `claim=${hash}` })).proof).toEqual(['claim'])
  })
})

describe('T92: two replicas on one ledger', () => {
  /** Two spellings of one file: two services, as two processes would have. */
  async function replicas(): Promise<readonly [Shop, Shop]> {
    const file = newLedger()
    const secret = `1:${a}`
    return [await open({ secret, ledger: file }), await open({ secret, ledger: `sqlite:${file}` })]
  }

  it('one proof at both, ten times at once: one is served', async () => {
    const [one, two] = await replicas()
    const proof = await one.buy(payer)
    const claims = Array.from({ length: 10 }, (_, index) => (index % 2 ? one : two).claim(proof))
    const statuses = (await Promise.all(claims)).map((answer) => answer.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(9)
  })

  it('one transaction that names two requestIds, at two endpoints at once: one is served', async () => {
    const [one, two] = await replicas()
    for (let round = 0; round < 5; round += 1) {
      const [first, second] = [await one.challenge('/first'), await two.challenge('/second')]
      const transfer = await world.transfer(payer, world.recipient.address, 'USDC', 20_000n)
      const tx = await world.send([memo(first.requestId), memo(second.requestId), transfer], payer)
      const answers = await Promise.all([
        one.claim(proofOf(tx, first, payer), '/first'),
        two.claim(proofOf(tx, second, payer), '/second'),
      ])
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409])
      for (const answer of answers) await answer.text()
    }
  })
})

describe('T95: verifyPayment', () => {
  const recipientLike = '8g2uBvHYnLHwvy4xXZfaqHLBG2vFgSMVzSRcXdXzZSAi'
  const checked = { amount: 0.01, mint: 'USDC', network: 'localnet' } as const

  it('may be asked as often as one likes, and uses nothing up', async () => {
    const [ledger, secret] = [newLedger(), `1:${a}`]
    const shop = await open({ ledger, secret })
    const challenge = await shop.challenge()
    const tx = await world.pay(challenge, payer)
    const { requestId } = challenge
    const rpc = world.localnet.rpcUrl
    const options = { ...checked, recipient: world.recipient.address, rpc, ledger, secret, waitSeconds: 0 }
    for (let time = 0; time < 3; time += 1) expect(await verifyPayment(tx, requestId, options)).toBe(true)
    const wrong = [
      { recipient: payer.address },
      { amount: 0.02 },
      { mint: 'SOL' as const },
      { payer: world.recipient.address },
      { secret: `2:${b},1:${a}`, service: 'another' },
    ]
    for (const more of wrong) {
      expect(await verifyPayment(tx, requestId, { ...options, ledger: newLedger(), ...more })).toBe(false)
    }
    expect(await verifyPayment(txOf(await shop.buy(payer)), requestId, options)).toBe(false)
    expect(await verifyPayment(tx, 'another', options)).toBe(false)
    await expectServed(shop.claim(proofOf(tx, challenge, payer)))
    expect((await checkPayment(tx, requestId, options)).code).toBe('payment_replay')
    expect(await verifyPayment(tx, requestId, { ...options, ledger: newLedger() })).toBe(true)
  })

  it('trusts the amounts of a requestId only with the secret that sealed it', async () => {
    const secret = `1:${a}`
    const shop = await open({ ledger: newLedger(), secret })
    const challenge = await shop.challenge()
    const tx = await world.pay(challenge, payer)
    const [rpc, network] = [world.localnet.rpcUrl, 'localnet'] as const
    const check = (more: CheckOptions) =>
      checkPayment(tx, challenge.requestId, { rpc, network, waitSeconds: 0, ...more })
    await expect(check({})).rejects.toThrow('recipient, amount and mint: give them, or the secret')
    await expect(check({ payer: payer.address })).rejects.toThrow('recipient, amount and mint')
    expect(await check({ secret, payer: payer.address })).toMatchObject({
      valid: true,
      received: '0.01',
      token: 'USDC',
    })
    expect(await check({ secret, payer: world.recipient.address })).toMatchObject({
      valid: false,
      code: 'payer_mismatch',
    })
    expect(await check({ secret: `1:${b}` })).toMatchObject({ valid: false, code: 'unknown_request' })
  })

  it('says no when the chain cannot be read, and throws only over its options', async () => {
    const recipient = world.recipient.address
    const dead = { ...checked, recipient, rpc: 'http://127.0.0.1:1', waitSeconds: 0 }
    expect(await verifyPayment('1'.repeat(64), 'x', dead)).toBe(false)
    expect(await verifyPayment('nonsense', 'x', dead)).toBe(false)
    await expect(verifyPayment('x', 'x', { ...dead, recipient: 'nobody' })).rejects.toThrow(/recipient/)
    await expect(verifyPayment('x', 'x', undefined as never)).rejects.toThrow(/recipient: is missing/)
  })

  it.each([
    ['no token program', { NATIVE: { address: recipientLike, decimals: 6 } }, 'mints.NATIVE: must be { address,'],
    [
      'a program that is none',
      { USDC: { address: recipientLike, decimals: 6, tokenProgram: 'x' } },
      'mints.USDC: must',
    ],
    [
      'an address that is none',
      { USDC: { address: 'x', decimals: 6, tokenProgram: splTokenProgram } },
      'mints.USDC: must',
    ],
    ['no decimals', { USDC: { address: recipientLike, tokenProgram: splTokenProgram } }, 'mints.USDC: must'],
    ['a bare address', { NATIVE: recipientLike }, 'mints.NATIVE: must'],
    ['null', { NATIVE: null }, 'mints.NATIVE: must'],
    ['a token without a mint', { SOL: {} }, 'mints.SOL: is not a token that has a mint'],
    ['text', 'x', 'mints: must be mints by token code'],
  ])('names the problem of the mints: %s', async (_what, mints, why) => {
    const options = { ...checked, recipient: recipientLike, rpc: 'http://127.0.0.1:1', mints: mints as never }
    const check = verifyPayment('1'.repeat(64), 'x', { ...options, mint: 'NATIVE' })
    await expect(check).rejects.toThrow(why)
    await expect(check).rejects.toBeInstanceOf(ConfigurationError)
  })
})

it.each([{ network: 'mainnet' }, {}] as const)('T96: verifyOnChain: false is refused on mainnet: %o', (options) => {
  const base = { price: 1, token: 'USDC', recipient: world.recipient.address, rpc: 'https://node.example' } as const
  const given = { ...base, secret: `1:${a}`, verifyOnChain: false, ...options }
  expect(() => readConfig(given, {})).toThrow(/verifyOnChain/)
  expect(() => readConfig({ ...given, verifyOnChain: 0 as never }, {})).toThrow(/verifyOnChain/)
  expect(readConfig({ ...given, network: 'devnet' }, {}).route.verifyOnChain).toBe(false)
})
