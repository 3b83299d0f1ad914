/** Splits of one payment: every part must reach its own wallet, in the same token and by the same payer. */
import { address, type Instruction, type KeyPairSigner } from '@solana/kit'
import { getApproveInstruction } from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import { judgeRefund, type RefundCase } from '../../src/core/payouts/refunds.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { type AttackedShop, type AttackFixture, createAttackFixture } from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo } from '../harness/localnet-fixture.ts'
import { auxiliary, move, moveBetween } from '../harness/mint.ts'
import { eventually } from '../harness/shop.ts'

let fixture: AttackFixture
let world: LocalnetFixture
let shop: AttackedShop
let payer: KeyPairSigner
let [partner, author]: KeyPairSigner[] = []
let recipient: string

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  recipient = world.recipient.address
  ;[payer, partner, author] = [await world.person(), await world.person(), await world.person()]
  shop = await fixture.open(shared())
})
afterAll(() => fixture.close())

/** Of 10,000 units: 8,500 for the recipient, 1,000 for the partner, 500 for the author. */
const due = { own: 8_500n, partner: 1_000n, author: 500n }
const secret = `1:${'s'.repeat(32)}`
const shared = (): Partial<ProviderOptions> => ({
  secret,
  splits: [
    { recipient: partner?.address ?? '', share: 10 },
    { recipient: author?.address ?? '', amount: '0.0005' },
  ],
})

interface Sent {
  readonly own?: bigint
  readonly partner?: bigint
  readonly author?: bigint
}

async function send(sent: Sent, from = payer): Promise<readonly Instruction[]> {
  const wallets = { own: recipient, partner: partner?.address ?? '', author: author?.address ?? '' }
  const names = ['own', 'partner', 'author'] as const
  const known = names.filter((name) => sent[name] !== undefined)
  return Promise.all(known.map((name) => move(world, world.usdc, from, wallets[name], sent[name] ?? 0n)))
}

const usdcOf = async (wallet: string) => {
  const account = await world.tokenAccount(wallet, world.usdc)
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
    account,
    { commitment: 'confirmed' },
  ])
  return BigInt(value.amount)
}

it('states all parts in the challenge, and no link that could pay only one of them', async () => {
  const challenge = await shop.challenge()
  expect(challenge).toMatchObject({
    recipient,
    amount: '0.01',
    amounts: { USDC: '0.01' },
    splits: [
      { recipient: partner?.address, amounts: { USDC: '0.001' } },
      { recipient: author?.address, amounts: { USDC: '0.0005' } },
    ],
    proof: ['splits'],
  })
  expect(challenge.payUrl).toBeUndefined()
  expect(challenge.instructions).toContain(
    `Pay 0.0085 USDC to ${recipient} and 0.001 USDC to ${partner?.address} and 0.0005 USDC to ${author?.address}, in one transaction`,
  )
})

it('T182: serves a payment of all parts once, and books the recipient’s part as revenue', async () => {
  const attempt = await fixture.commit(shop, payer, await send(due))
  const { headers } = await shop.serves(attempt)
  expect(parseReceipt(headers.get('payment-receipt') ?? '')).toMatchObject({ amount: '0.01', token: 'USDC' })
  await shop.refuses('payment_replay', attempt)
  const [payment] = await fixture.ledger.books.listPayments({ order: 'latest', most: 1 })
  expect(payment).toMatchObject({
    recipient,
    units: 8_500n,
    splits: [
      { recipient: partner?.address, units: 1_000n },
      { recipient: author?.address, units: 500n },
    ],
  })
  expect((await fixture.ledger.books.sums({})).map(({ received }) => received)).toEqual([8_500n])
})

describe('T182: a payment is refused', () => {
  it.each([
    ['that pays the whole price to the recipient', { own: 10_000n }, '0.0085'],
    ['without one part', { own: 8_500n, partner: 1_000n }, '0.0095'],
    ['with one part paid twice and another missing', { own: 8_500n, partner: 2_000n }, '0.0095'],
    ['with one unit too little in a part', { ...due, author: 499n }, '0.009999'],
    ['with one unit too little for the recipient', { ...due, own: 8_499n }, '0.009999'],
    ['with exchanged parts', { own: 8_500n, partner: 500n, author: 1_000n }, '0.0095'],
    ['with the part of the recipient and another exchanged', { own: 1_000n, partner: 8_500n, author: 500n }, '0.0025'],
  ])('%s', async (_name, sent, received) => {
    const { body } = await shop.refuses('underpaid', await fixture.commit(shop, payer, await send(sent)))
    expect(body).toMatchObject({ token: 'USDC', required: '0.01', received })
  })

  it('and says which part is short', async () => {
    const { body } = await shop.refuses(
      'underpaid',
      await fixture.commit(shop, payer, await send({ ...due, author: 1n })),
    )
    expect(body['detail']).toBe(`The part of ${author?.address} is missing or too small.`)
  })

  it('with a part in another token', async () => {
    const wrong = await world.transfer(payer, partner?.address ?? '', 'NATIVE', 1_000n)
    const attempt = await fixture.commit(shop, payer, [...(await send({ own: 8_500n, author: 500n })), wrong])
    await shop.refuses('underpaid', attempt)
  })

  it('with a part at another account of its wallet', async () => {
    const other = await auxiliary(payer, partner?.address ?? '', world.usdc)
    const source = await world.tokenAccount(payer.address, world.usdc)
    const aside = moveBetween(world.usdc, source, other.address, 1_000n, payer)
    const attempt = await fixture.commit(shop, payer, [
      ...other.open,
      ...(await send({ own: 8_500n, author: 500n })),
      aside,
    ])
    await shop.refuses('underpaid', attempt)
  })

  it('with a part at an account of the payer', async () => {
    const own = await move(world, world.usdc, payer, payer.address, 1_000n)
    const attempt = await fixture.commit(shop, payer, [...(await send({ own: 8_500n, author: 500n })), own])
    await shop.refuses('underpaid', attempt)
  })

  it('with a part that another wallet sent', async () => {
    const friend = await world.person()
    const theirs = await send({ partner: 1_000n }, friend)
    const attempt = await fixture.commit(shop, payer, [...(await send({ own: 8_500n, author: 500n })), ...theirs])
    await shop.refuses('underpaid', attempt)
  })

  it('with a part that its wallet returns in the same transaction', async () => {
    const back = await move(world, world.usdc, partner as KeyPairSigner, payer.address, 1_000n)
    await shop.refuses('underpaid', await fixture.commit(shop, payer, [...(await send(due)), back]))
  })

  it('with a part that a delegate takes back', async () => {
    const source = await world.tokenAccount(partner?.address ?? '', world.usdc)
    const target = await world.tokenAccount(payer.address, world.usdc)
    const approve = getApproveInstruction(
      { source: address(source), delegate: payer.address, owner: partner as KeyPairSigner, amount: 1_000n },
      { programAddress: address(world.usdc.tokenProgram) },
    )
    // Another deposit hides the withdrawal in the balance.
    const friend = await world.person()
    const take = moveBetween(world.usdc, source, target, 1_000n, payer)
    const cover = await send({ partner: 1_000n }, friend)
    await shop.refuses('underpaid', await fixture.commit(shop, payer, [approve, ...(await send(due)), take, ...cover]))
  })

  it('of a wallet that receives a part itself', async () => {
    const self = partner as KeyPairSigner
    await shop.refuses('self_payment', await fixture.commit(shop, self, await send(due, self)))
  })

  it('that is not final, if the whole price needs finality', async () => {
    const dear = await fixture.open({ ...shared(), finalizedFrom: '0.009', scope: 'dear' })
    await dear.refuses('tx_not_final', await fixture.commit(dear, payer, await send(due)))
  })

  it('whose parts are spread over two transactions', async () => {
    const first = await fixture.commit(shop, payer, await send({ own: 8_500n }))
    const { requestId } = first.challenge
    const rest = [memo(requestId), ...(await send({ partner: 1_000n, author: 500n }))]
    const second = await fixture.commit(shop, payer, rest, { bare: true })
    await shop.refuses('underpaid', first)
    await shop.refuses('wrong_recipient', { ...second, challenge: first.challenge })
  })
})

describe('T183: the splits of a quote', () => {
  /** With another list of nodes, it is a server that shares only the ledger and the secret. */
  const apart = (nodes: number): Partial<ProviderOptions> => ({
    rpc: Array.from({ length: nodes }, () => `${world.localnet.rpcUrl}/`),
    secret,
  })

  it('apply to its payment after the configuration has changed', async () => {
    const before = await fixture.open({ ...shared(), scope: 'changing' })
    const [paid, whole] = [
      await fixture.commit(before, payer, await send(due)),
      await fixture.commit(before, payer, await send({ own: 10_000n })),
    ]
    await before.close()
    const now = await fixture.open({ scope: 'changing', ...apart(1) })
    await now.refuses('underpaid', whole)
    await now.serves(paid)
  })

  it('are known at a server that started before they were configured', async () => {
    const old = await fixture.open({ scope: 'rolling', ...apart(2) })
    const splits = [{ recipient: author?.address ?? '', share: 5 }]
    const next = await fixture.open({ secret, splits, scope: 'rolling' })
    await old.serves(await fixture.commit(next, payer, await send({ own: 9_500n, author: 500n })))
  })

  it('stay payable at such a server while it cannot read the ledger', async () => {
    const { kv } = fixture.ledger
    let isDown = false
    const list: typeof kv.list = (prefix) => (isDown ? Promise.reject(new LedgerUnavailable('down')) : kv.list(prefix))
    const old = await fixture.open({ scope: 'outage', ledger: { ...fixture.ledger, kv: { ...kv, list } } })
    const next = await fixture.open({ splits: [{ recipient: author?.address ?? '', share: 4 }], scope: 'outage' })
    const attempt = await fixture.commit(next, payer, await send({ own: 9_600n, author: 400n }))
    isDown = true
    // A client keeps its payment after this refusal, and drops it after `unknown_request`.
    await old.refuses('ledger_unavailable', attempt)
    isDown = false
    await old.serves(attempt)
  })

  it('are known to all requests that arrive while such a server reads the ledger', async () => {
    const { kv } = fixture.ledger
    const list: typeof kv.list = async (prefix) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return kv.list(prefix)
    }
    const old = await fixture.open({ scope: 'crowd', ledger: { ...fixture.ledger, kv: { ...kv, list } } })
    const next = await fixture.open({ splits: [{ recipient: author?.address ?? '', share: 3 }], scope: 'crowd' })
    const pay = async () => fixture.commit(next, payer, await send({ own: 9_700n, author: 300n }))
    const attempts = [await pay(), await pay()]
    await Promise.all(attempts.map((attempt) => old.serves(attempt)))
  })

  it('T205: are known right after a made-up requestId', async () => {
    const old = await fixture.open({ scope: 'flooded', ...apart(4) })
    const foreign = await fixture.open({ scope: 'foreign', secret: `1:${'ab'.repeat(32)}` })
    await old.refuses('unknown_request', await fixture.commit(foreign, payer, await send({ own: 10_000n })))
    const splits = [{ recipient: author?.address ?? '', share: 6 }]
    const next = await fixture.open({ secret, splits, scope: 'flooded' })
    await old.serves(await fixture.commit(next, payer, await send({ own: 9_400n, author: 600n })))
  })

  it('T205: are known to the watcher of such a server', async () => {
    const old = await fixture.open({ scope: 'seeing', watch: true, ...apart(3) })
    const splits = [{ recipient: author?.address ?? '', share: 7 }]
    const next = await fixture.open({ secret, splits, scope: 'seeing' })
    const { tx, challenge } = await fixture.commit(next, payer, await send({ own: 9_300n, author: 700n }))
    const seen = await eventually(
      () => old.events.find((event) => event.kind === 'seen' && event.tx === tx),
      (event) => event !== undefined,
    )
    expect(seen).toMatchObject({ requestId: challenge.requestId })
    const history = await eventually(
      () => fixture.ledger.books.history(decodeSignature(tx) ?? new Uint8Array()),
      (found) => found?.isShown === true,
    )
    // Without its purpose, the payment would count as unmatched, and be refundable at once.
    expect(history).toMatchObject({ required: 9_300n, payment: { request: expect.stringMatching(/./) } })
  })

  it('are not needed for a quote that was issued without them', async () => {
    const before = await fixture.open({ secret, scope: 'later' })
    const paid = await fixture.commit(before, payer, await send({ own: 10_000n }))
    await before.close()
    await (await fixture.open({ ...shared(), scope: 'later' })).serves(paid)
  })

  it('cannot be replaced by those of another route', async () => {
    const cheap = await fixture.open({
      secret,
      splits: [{ recipient: partner?.address ?? '', share: 1 }],
      scope: 'cheap',
    })
    const attempt = await fixture.commit(cheap, payer, await send({ own: 9_900n, partner: 100n }))
    await shop.refuses('binding_mismatch', attempt)
    await cheap.serves(attempt)
  })
})

describe('a payment that the watcher sees', () => {
  let watching: AttackedShop
  beforeAll(async () => {
    watching = await fixture.open({ ...shared(), watch: true, scope: 'watching' })
  })

  it.each([
    ['without a part', { own: 8_500n, partner: 1_000n }, 9_000n],
    ['with a short part', { ...due, author: 1n }, 8_999n],
    ['with all parts', due, 8_500n],
    ['of the whole price to the recipient', { own: 10_000n }, 11_500n],
  ])('%s is known by its missing units', async (_name, sent: Sent, required) => {
    const { tx } = await fixture.commit(watching, payer, await send(sent))
    const bytes = decodeSignature(tx) ?? new Uint8Array()
    const history = await eventually(
      () => fixture.ledger.books.history(bytes),
      (found) => found?.isShown === true,
    )
    expect(history).toMatchObject({ required, payment: { units: sent.own } })
    const isShort = required > 8_500n
    const final = { ...history, required, payment: { ...history?.payment, state: 'unclaimed' } } as RefundCase
    const soon = (history?.payment.at ?? 0) + 1
    expect(judgeRefund(final, soon)).toMatchObject(
      isShort ? { kind: 'refundable', reason: 'underpaid', units: sent.own } : { kind: 'refused' },
    )
  })
})

it('T182: a part is never the payment, also if its wallet is a recipient elsewhere and is paid first', async () => {
  const [own, part] = [4_000n, 6_000n]
  const splits = [{ recipient: partner?.address ?? '', share: 60 }]
  const retired = { recipients: [partner?.address ?? ''] }
  const both = await fixture.open({ splits, retired, watch: true, scope: 'both' })
  const { tx } = await fixture.commit(both, payer, [...(await send({ partner: part })), ...(await send({ own }))])
  const history = await eventually(
    () => fixture.ledger.books.history(decodeSignature(tx) ?? new Uint8Array()),
    (found) => found?.isShown === true,
  )
  // A refund returns these units.
  expect(history?.payment).toMatchObject({ recipient, units: own })
})

it('pays every wallet exactly its part', async () => {
  const wallets = [recipient, partner?.address ?? '', author?.address ?? '']
  const before = await Promise.all(wallets.map(usdcOf))
  await shop.serves(await fixture.commit(shop, payer, await send(due)))
  const after = await Promise.all(wallets.map(usdcOf))
  expect(after.map((units, index) => units - (before[index] ?? 0n))).toEqual([8_500n, 1_000n, 500n])
})
