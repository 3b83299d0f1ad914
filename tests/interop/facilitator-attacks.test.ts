/** Attacks on our facilitator, repetitions, and crashes in the middle of a settlement: one payment, one fee, one sale. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkPayment } from '../../src/compose/check-payment.ts'
import { shortMemo } from '../../src/core/payment/memo.ts'
import { postgresServer } from '../harness/database.ts'
import { cells, isLong, itInFull } from '../harness/length.ts'
import { createMint, extensions, mintTo } from '../harness/mint.ts'
import { codeOf, eventually } from '../harness/shop.ts'
import { blindPreflight, createMortalLedger, feeLamports, priceUnits, recordFailures } from './attack-fixture.ts'
import { type Payer, payWithX402 } from './clients.ts'
import type {
  FacilitatorFixture,
  FacilitatorReplica,
  FacilitatorRequest,
  MadePayment,
  Operator,
} from './facilitator-fixture.ts'
import {
  call,
  changeExtra,
  changeRequirements,
  createFacilitatorFixture,
  holdPayment,
  makePayment,
} from './facilitator-fixture.ts'
import { connectFacilitator } from './servers.ts'

let fixture: FacilitatorFixture
beforeAll(async () => {
  fixture = await createFacilitatorFixture()
})
afterAll(() => fixture.close())

const inFile = async () => undefined
const inDatabase = () => postgresServer().place()
const ledgers = [
  ['SQLite', inFile],
  ['PostgreSQL', inDatabase],
] as const

async function open(ledger?: string) {
  const operator = await fixture.operator(ledger)
  const replica = await operator.open()
  return { operator, replica }
}

/** A payment of a new wallet that no server has seen. */
async function hold(operator: Operator, replica: FacilitatorReplica, units?: bigint) {
  const payer = await fixture.newPayer(units)
  const server = await fixture.sell(replica, operator)
  return { payer, request: await holdPayment(server, payer) }
}

const settled = { success: true, transaction: expect.stringMatching(/^\w{80,}$/) }
const duplicate = { success: false, errorReason: 'duplicate_settlement' }

describe.each(ledgers)('the same payment at two replicas on %s', (name, place) => {
  // In the short form, each of the two on one ledger.
  const itOn = (ledger: string) => (isLong || name === ledger ? it : itInFull)
  itOn('SQLite')('gets the same answer for the same Idempotency-Key, at once and later, and lands once', async () => {
    const { operator, replica } = await open(await place())
    const other = await operator.open()
    const { payer, request } = await hold(operator, replica)
    const settle = (one: FacilitatorReplica) => call(one, 'settle', request, { 'Idempotency-Key': 'sale-1' })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => settle(index % 2 ? other : replica)))
    answers.push(await settle(other))
    const [first] = answers
    expect(first?.body).toMatchObject({ ...settled, payer: payer.signer.address })
    for (const { status, body } of answers) expect([status, body]).toEqual([200, first?.body])
    expect(await fixture.usdc(operator.recipient)).toBe(priceUnits)
    expect(await operator.paid()).toBe(feeLamports)
  })

  itOn('PostgreSQL')('is reported as a success once without a key, and lands once', async () => {
    const { operator, replica } = await open(await place())
    const other = await operator.open()
    const { request } = await hold(operator, replica)
    const calls = Array.from({ length: 20 }, (_, index) => call(index % 2 ? other : replica, 'settle', request))
    const answers = await Promise.all(calls)
    const [success, ...none] = answers.filter(({ body }) => body['success'])
    expect([success?.body, none]).toEqual([expect.objectContaining(settled), []])
    const { transaction } = success?.body ?? {}
    for (const { body } of answers) if (!body['success']) expect(body).toMatchObject({ ...duplicate, transaction })
    const keyed = await call(other, 'settle', request, { 'Idempotency-Key': 'another' })
    expect(keyed.body).toMatchObject({ ...duplicate, transaction })
    expect(await fixture.usdc(operator.recipient)).toBe(priceUnits)
    expect(await operator.paid()).toBe(feeLamports)
  })
})

it('an unmodified server delivers once for a credential that its client sends 10 times at once', async () => {
  const { operator, replica } = await open()
  let waiting = 0
  // All copies pass the verification before the first one is settled.
  const onServed = () =>
    eventually(
      async () => waiting,
      (count) => count >= 10,
    )
  const server = await fixture.sell(replica, {
    recipient: operator.recipient,
    onServed: () => {
      waiting += 1
      return onServed()
    },
  })
  const payer = await fixture.newPayer()
  const copies: Promise<Response>[] = []
  const repeating: typeof fetch = (input, init) => {
    const request = new Request(input as Request, init)
    if (!request.headers.has('payment-signature')) return fetch(request)
    for (let copy = 0; copy < 10; copy += 1) copies.push(fetch(request.clone() as Request))
    return copies[0] as Promise<Response>
  }
  await payWithX402(server.url, { ...payer, fetch: repeating })
  const statuses = (await Promise.all(copies)).map(({ status }) => status)
  expect(waiting).toBe(10)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(await fixture.usdc(operator.recipient)).toBe(priceUnits)
})

it('one wallet buys five times at once', async () => {
  const { operator, replica } = await open()
  const other = await operator.open()
  const servers = [await fixture.sell(replica, operator), await fixture.sell(other, operator)]
  const payer = await fixture.newPayer()
  const purchases = [0, 1, 0, 1, 0].map((index) => payWithX402(servers[index]?.url ?? '', payer))
  const statuses = (await Promise.all(purchases)).map(({ response }) => response.status)
  expect(statuses).toEqual([200, 200, 200, 200, 200])
  expect(await operator.paid()).toBe(5n * feeLamports)
})

it('one balance that is signed eight times at once, at two servers, costs one fee', async () => {
  const { operator, replica } = await open()
  const other = await operator.open()
  const servers = [await fixture.sell(replica, operator), await fixture.sell(other, operator)]
  const payer = await fixture.newPayer(priceUnits)
  const purchases = [0, 1, 0, 1, 0, 1, 0, 1].map((index) => payWithX402(servers[index]?.url ?? '', payer))
  const statuses = (await Promise.all(purchases)).map(({ response }) => response.status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(await operator.paid()).toBe(feeLamports)
})

describe('/verify', () => {
  it('changes nothing, and refuses a payment after its success was reported', async () => {
    const operator = await fixture.operator()
    const ledger = await operator.connect()
    const replica = await operator.open({ ledger })
    const { payer, request } = await hold(operator, replica)
    for (let turn = 0; turn < 3; turn += 1)
      expect((await call(replica, 'verify', request)).body).toEqual({ isValid: true, payer: payer.signer.address })
    expect(await operator.paid()).toBe(0n)
    expect(await ledger.submissions.sums(0)).toEqual({ spent: 0n, lost: 0n, open: 0n })
    expect(replica.node.asked).not.toContain('sendTransaction')
    expect((await call(replica, 'settle', request)).body).toMatchObject(settled)
    expect((await call(replica, 'verify', request)).body).toMatchObject({
      isValid: false,
      invalidReason: 'duplicate_settlement',
    })
    expect(await ledger.submissions.sums(0)).toEqual({ spent: feeLamports, lost: 0n, open: 0n })
  })
})

const prefix = 'invalid_exact_svm'

it('T33: a token that takes a fee from the payment is refused, because the amount would not arrive', async () => {
  const { world } = fixture
  const payer = await fixture.newPayer()
  const issuer = await world.person()
  const mint = await createMint(world, issuer, { extensions: [extensions.transferFee(100, issuer.address)] })
  const operator = await fixture.operator()
  const { recipient, sponsor: feePayer } = operator
  await mintTo(world, mint, issuer, { [payer.signer.address]: 1_000_000n, [recipient]: 0n })
  const replica = await operator.open({ mints: { NATIVE: mint } })
  const request = await makePayment(fixture, payer, { feePayer, recipient, memos: [], units: [1_000_000n], mint })
  const reason = `${prefix}_payload_mint_mismatch`
  expect((await call(replica, 'verify', request)).body).toMatchObject({ isValid: false, invalidReason: reason })
  expect((await call(replica, 'settle', request)).body).toMatchObject({ success: false, errorReason: reason })
  expect(await operator.paid()).toBe(0n)
})

describe('a payment that is not the required one', () => {
  const rows: readonly (readonly [name: string, change: (request: FacilitatorRequest) => unknown, reason: string])[] = [
    [
      'an unlisted recipient',
      (request) => changeRequirements(request, { payTo: fixture.world.recipient.address }),
      `${prefix}_payload_recipient_mismatch`,
    ],
    [
      'a higher amount',
      (request) => changeRequirements(request, { amount: '10001' }),
      `${prefix}_payload_amount_mismatch`,
    ],
    [
      'a lower amount',
      (request) => changeRequirements(request, { amount: '9999' }),
      `${prefix}_payload_amount_mismatch`,
    ],
    [
      'another token',
      (request) => changeRequirements(request, { asset: fixture.world.native.address }),
      `${prefix}_payload_mint_mismatch`,
    ],
    [
      'an unknown token',
      (request) => changeRequirements(request, { asset: fixture.world.recipient.address }),
      `${prefix}_payload_mint_mismatch`,
    ],
    ['another memo', (request) => changeExtra(request, { memo: 'order 7' }), `${prefix}_payload_memo_mismatch`],
    [
      'another fee payer',
      (request) => changeExtra(request, { feePayer: fixture.world.recipient.address }),
      `${prefix}_verification_failed`,
    ],
    ['no fee payer', (request) => changeRequirements(request, { extra: null }), `${prefix}_verification_failed`],
    ['another scheme', (request) => changeRequirements(request, { scheme: 'upto' }), 'unsupported_scheme'],
    [
      'mainnet',
      (request) => changeRequirements(request, { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }),
      'network_mismatch',
    ],
  ]
  let shared: Awaited<ReturnType<typeof open>> & { readonly request: FacilitatorRequest }
  // Nothing happens to the payment of these tests, so they share it.
  beforeAll(async () => {
    const { operator, replica } = await open()
    shared = { operator, replica, ...(await hold(operator, replica)) }
  })
  it.each(rows)('is refused by both endpoints and costs nothing: %s', async (_name, change, reason) => {
    const { operator, replica, request } = shared
    const changed = change(request)
    const [verified, answered] = [await call(replica, 'verify', changed), await call(replica, 'settle', changed)]
    expect([verified.status, verified.body['isValid'], verified.body['invalidReason']]).toEqual([200, false, reason])
    expect([answered.status, answered.body['success'], answered.body['errorReason']]).toEqual([200, false, reason])
    expect(answered.body['transaction']).toBe('')
    expect(await operator.paid()).toBe(0n)
    expect(replica.node.asked).not.toContain('simulateTransaction')
  })

  const transactions: readonly (readonly [name: string, made: () => Partial<MadePayment>])[] = [
    ['pays another wallet', () => ({ recipient: fixture.world.recipient.address })],
    ['has a second transfer', () => ({ units: [priceUnits, 1n] })],
    ['has a second memo', () => ({ memos: ['one', 'two'] })],
    ['is below the margin of the sponsor', () => ({ units: [1n] })],
  ]
  it.each(transactions)('is refused if the transaction %s', async (_name, made) => {
    const { operator, replica } = await open()
    const usual = { feePayer: operator.sponsor, memos: ['a'], units: [priceUnits], recipient: operator.recipient }
    const payer = await fixture.newPayer()
    const request = await makePayment(fixture, payer, { ...usual, ...made() })
    const answer = await call(replica, 'settle', changeRequirements(request, { payTo: operator.recipient }))
    expect(answer.body).toMatchObject({ success: false, errorReason: expect.stringContaining(prefix), transaction: '' })
    expect(await operator.paid()).toBe(0n)
    const whole = await makePayment(fixture, payer, usual)
    expect((await call(replica, 'settle', whole)).body).toMatchObject(settled)
  })

  it('is refused if it pays an unlisted recipient as required', async () => {
    const { operator, replica } = await open()
    const recipient = fixture.world.recipient.address
    const before = await fixture.usdc(recipient)
    const made = { feePayer: operator.sponsor, recipient, memos: ['a'], units: [priceUnits] }
    const request = await makePayment(fixture, await fixture.newPayer(), made)
    const reason = `${prefix}_payload_recipient_mismatch`
    expect((await call(replica, 'verify', request)).body).toMatchObject({ isValid: false, invalidReason: reason })
    expect((await call(replica, 'settle', request)).body).toMatchObject({ success: false, errorReason: reason })
    expect([await operator.paid(), await fixture.usdc(recipient)]).toEqual([0n, before])
  })

  it('is refused if its payer pays the fee', async () => {
    const { operator, replica } = await open()
    const { sponsor: feePayer, recipient } = operator
    const payer = await fixture.newPayer()
    const made = { feePayer: payer.signer.address, recipient, memos: ['a'], units: [priceUnits] }
    const request = changeExtra(await makePayment(fixture, payer, made), { feePayer })
    const { body } = await call(replica, 'settle', request)
    expect(body).toMatchObject({ success: false, errorReason: `${prefix}_verification_failed`, transaction: '' })
    expect(body['errorMessage']).toContain('rule fee_payer.')
  })

  it('is refused if the recipient pays itself', async () => {
    const { operator, replica } = await open()
    const { recipient, sponsor: feePayer } = operator
    await fixture.world.localnet.fund(recipient, { USDC: priceUnits })
    const itself = { rpcUrl: '', signer: operator.owner as unknown as Payer['signer'] }
    const request = await makePayment(fixture, itself, { feePayer, recipient, memos: ['a'], units: [priceUnits] })
    const { body } = await call(replica, 'settle', request)
    expect(body).toMatchObject({ success: false, errorReason: `${prefix}_payload_recipient_mismatch`, transaction: '' })
  })

  it('is refused by an operator with another ledger after the sponsor has signed it', async () => {
    const { operator, replica } = await open()
    const other = await operator.open({ ledger: `sqlite:${join(fixture.directory, 'another.db')}` })
    const { request } = await hold(operator, replica)
    const { body } = await call(replica, 'settle', request)
    const { transaction } = await fixture.world.rpc<{ transaction: [string, string] }>('getTransaction', [
      body['transaction'],
      { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
    ])
    const paymentPayload = { ...request.paymentPayload, payload: { transaction: transaction[0] } }
    const answer = await call(other, 'settle', { ...request, paymentPayload })
    expect(answer.body['errorReason']).toBe(`${prefix}_verification_failed`)
    expect((await call(replica, 'settle', { ...request, paymentPayload })).body).toMatchObject(duplicate)
  })

  it('is refused if the client accepted another network or scheme', async () => {
    const { operator, replica } = await open()
    const { request } = await hold(operator, replica)
    const accept = (changes: object) => {
      const accepted = { ...request.paymentPayload.accepted, ...changes }
      return call(replica, 'verify', { ...request, paymentPayload: { ...request.paymentPayload, accepted } })
    }
    const mainnet = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
    expect((await accept({ network: mainnet })).body['invalidReason']).toBe('network_mismatch')
    expect((await accept({ scheme: 'upto' })).body['invalidReason']).toBe('unsupported_scheme')
  })

  it('is refused if its payer has no funds, and costs nothing', async () => {
    const { operator, replica } = await open()
    const { request } = await hold(operator, replica, 0n)
    const { body } = await call(replica, 'settle', request)
    expect(body).toMatchObject({ success: false, errorReason: `${prefix}_transaction_failed`, transaction: '' })
    expect(await operator.paid()).toBe(0n)
  })
})

describe('the limits of the sponsor', () => {
  const limits = [
    ['perDay, to the lamport', '0.000020002', 2],
    ['perDay, one lamport less', '0.000020001', 1],
  ] as const
  it.each(cells(limits, 2))('%s', async (_name, perDay, most) => {
    const operator = await fixture.operator()
    const replica = await operator.open({ sponsor: { perDay } })
    const answers: unknown[] = []
    for (let turn = 0; turn < 3; turn += 1) {
      const { request } = await hold(operator, replica)
      const { status, body } = await call(replica, 'settle', request)
      answers.push(body['success'] ? 'settled' : [status, body['errorReason'], body['transaction']])
    }
    const refused = [503, 'unexpected_settle_error', '']
    expect(answers).toEqual([...Array(most).fill('settled'), ...Array(3 - most).fill(refused)])
    expect(await operator.paid()).toBe(BigInt(most) * feeLamports)
  })

  it('lostPerDay bounds failures on chain, and each wallet has three', async () => {
    const operator = await fixture.operator()
    const ledger = await operator.connect()
    const replica = await operator.open({ ledger, sponsor: { lostPerDay: '0.000040004' } })
    blindPreflight(fixture, replica)
    const pay = async (payer: Awaited<ReturnType<typeof fixture.newPayer>>) => {
      const request = await makePayment(fixture, payer, {
        ...{ feePayer: operator.sponsor, recipient: operator.recipient },
        ...{ memos: [crypto.randomUUID()], units: [priceUnits] },
      })
      const { status, body } = await call(replica, 'settle', request)
      await recordFailures(ledger)
      return [status, body['errorReason']]
    }
    const failed = [200, `${prefix}_transaction_failed`]
    const [one, other] = [await fixture.newPayer(0n), await fixture.newPayer(0n)]
    for (let turn = 0; turn < 3; turn += 1) expect(await pay(one)).toEqual(failed)
    expect(await pay(one)).toEqual([429, 'rate_limited'])
    expect(await pay(other)).toEqual(failed)
    expect(await pay(other)).toEqual([503, 'unexpected_settle_error'])
    // Two signatures, and no priority fee.
    expect(await operator.paid()).toBe(40_000n)
  })

  it('ten failures refuse a seller, and no other one', async () => {
    const operator = await fixture.operator()
    const ledger = await operator.connect()
    const replica = await operator.open({ ledger })
    blindPreflight(fixture, replica)
    const pay = async (address: string, units = 0n) => {
      const made = { feePayer: operator.sponsor, recipient: operator.recipient, memos: ['a'], units: [priceUnits] }
      const request = await makePayment(fixture, await fixture.newPayer(units), made)
      return (await call(replica, 'settle', request, { 'X-Forwarded-For': address })).status
    }
    for (let turn = 0; turn < 10; turn += 1) expect(await pay('192.0.2.1')).toBe(200)
    await recordFailures(ledger)
    expect(await pay('192.0.2.1', priceUnits)).toBe(429)
    expect(await pay('192.0.2.2', priceUnits)).toBe(200)
    expect(await fixture.usdc(operator.recipient)).toBe(priceUnits)
  })

  it('a balance below the floor is known before the handler runs', async () => {
    const operator = await fixture.operator()
    const replica = await operator.open({ sponsor: { floor: '2' } })
    const { request } = await hold(operator, replica)
    const answer = await call(replica, 'verify', request)
    expect([answer.status, answer.body['invalidReason']]).toEqual([503, 'unexpected_verify_error'])
    expect(answer.headers.get('retry-after')).toBe('60')
    expect((await call(replica, 'settle', request)).status).toBe(503)
    expect(await operator.paid()).toBe(0n)
  })
})

describe('a facilitator that dies while it settles', () => {
  const points = [
    ['after the record and before the transaction is sent', 'after', 'submissions.open'],
    ['after the transaction is sent and before its success is reported', 'before', 'kv.put'],
  ] as const
  it.each(cells(points, 2, 1))('%s: another reports the success once, for one fee', async (_name, when, point) => {
    const operator = await fixture.operator()
    let dying: FacilitatorReplica | undefined
    const die = (name: string): void => {
      if (name !== point || !dying) return
      ledger.die()
      dying.node.behave(() => 'reset')
    }
    const ledger = createMortalLedger(
      await operator.connect(),
      (name) => when === 'before' && die(name),
      (name) => when === 'after' && die(name),
    )
    const replica = await operator.open({ ledger })
    const { payer, request } = await hold(operator, replica)
    dying = replica
    const { body } = await call(replica, 'settle', request)
    expect(body).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: settled.transaction })
    const next = await operator.open({ ledger: await operator.connect() })
    expect((await call(next, 'verify', request)).body).toEqual({ isValid: true, payer: payer.signer.address })
    const again = await call(next, 'settle', request)
    expect(again.body).toMatchObject({ ...settled, transaction: body['transaction'] })
    expect((await call(next, 'settle', request)).body).toMatchObject(duplicate)
    expect(await fixture.usdc(operator.recipient)).toBe(priceUnits)
    expect(await operator.paid()).toBe(feeLamports)
  })

  itInFull(
    'and never sent the transaction: once it can no longer land, its outcome is final, and nothing was paid',
    async () => {
      const operator = await fixture.operator()
      let dying: FacilitatorReplica | undefined
      const ledger = createMortalLedger(
        await operator.connect(),
        () => {},
        (name) => {
          if (name !== 'submissions.open' || !dying) return
          ledger.die()
          dying.node.behave(() => 'reset')
        },
      )
      const replica = await operator.open({ ledger })
      const { payer, request } = await hold(operator, replica)
      dying = replica
      await call(replica, 'settle', request)
      fixture.world.localnet.advanceSlots(500)
      const next = await operator.open({ ledger: await operator.connect() })
      const answer = await eventually(
        () => call(next, 'verify', request),
        ({ body }) => body['isValid'] === false,
      )
      expect(answer.body['invalidReason']).toBe('payment_expired')
      expect((await call(next, 'settle', request)).body['errorReason']).toBe('payment_expired')
      expect([await operator.paid(), await fixture.usdc(payer.signer.address)]).toEqual([0n, 1_000_000n])
    },
  )
})

describe('a payment and the own routes of the operator', () => {
  it('buys nothing there after it was settled for another server, and is in no report', async () => {
    const operator = await fixture.operator()
    const ledger = await operator.connect()
    const { recipient, secret, sponsor } = operator
    const replica = await operator.open({ ledger, watch: true })
    const shop = await fixture.open({ ledger, recipient, secret, watch: true, waitSeconds: 5 })
    const { requestId } = (await (await fetch(`${shop.url}/data`)).json()) as { requestId: string }
    const payer = await fixture.newPayer()
    const request = await makePayment(fixture, payer, {
      ...{ feePayer: sponsor, recipient },
      ...{ memos: [shortMemo(requestId)], units: [priceUnits] },
    })
    const { body } = await call(replica, 'settle', request)
    expect(body).toMatchObject(settled)
    const proof = `tx=${body['transaction']}; requestId=${requestId}; payer=${payer.signer.address}`
    const response = await fetch(`${shop.url}/data`, { headers: { 'Payment-Proof': proof } })
    expect(await codeOf(response)).toBe('409 payment_replay')
    const giver = await fixture.world.person()
    const gift = await fixture.world.transfer(giver, recipient, 'USDC', 7n)
    await fixture.world.send([gift], giver)
    const unclaimed = await eventually(
      () => ledger.journal.unclaimed(10),
      (found) => found.length > 0,
    )
    expect(unclaimed.map(({ received }) => received)).toEqual([7n])
  })

  it('is used for whoever verifies it, after it was settled for another server', async () => {
    const operator = await fixture.operator()
    const ledger = await operator.connect()
    const { recipient, secret, sponsor } = operator
    const replica = await operator.open({ ledger })
    const shop = await fixture.open({ ledger, recipient, secret, waitSeconds: 5 })
    const { requestId } = (await (await fetch(`${shop.url}/data`)).json()) as { requestId: string }
    const payer = await fixture.newPayer()
    const made = { feePayer: sponsor, recipient, memos: [requestId], units: [priceUnits] }
    const { body } = await call(replica, 'settle', await makePayment(fixture, payer, made))
    expect(body).toMatchObject(settled)
    const txHash = String(body['transaction'])
    const { rpcUrl: rpc } = payer
    const verdict = await checkPayment(txHash, requestId, { network: 'localnet', rpc, secret, ledger })
    expect(verdict).toMatchObject({ valid: false, code: 'payment_replay', checks: { unused: 'failed' } })
  })

  it('is not settled for another server after it was submitted for a route', async () => {
    const operator = await fixture.operator()
    const ledger = await operator.connect()
    const { recipient, secret, key } = operator
    const shop = await fixture.open({ ledger, recipient, secret, sponsor: { key }, waitSeconds: 5 })
    const replica = await operator.open({ ledger })
    const payer = await fixture.newPayer()
    const { response, credentials } = await payWithX402(`${shop.url}/data`, payer)
    expect(response.status).toBe(200)
    const [credential = ''] = credentials
    const paymentPayload = JSON.parse(Buffer.from(credential, 'base64').toString())
    const request = { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
    expect((await call(replica, 'verify', request)).body['invalidReason']).toBe('duplicate_settlement')
    expect((await call(replica, 'settle', request)).body).toMatchObject(duplicate)
  })
})

describe('requests that cannot be read', () => {
  let shared: FacilitatorReplica
  beforeAll(async () => {
    shared = (await open()).replica
  })
  const json = { 'Content-Type': 'application/json' }
  it.each([
    ['no JSON', '{', json, 400],
    ['no object', '[]', json, 400],
    ['nothing required', '{}', json, 400],
    ['another media type', '{}', { 'Content-Type': 'text/plain' }, 415],
    ['a body that is too long', ' '.repeat(70_000), json, 413],
  ] as const)('get an answer in the format of x402: %s', async (_name, body, headers, status) => {
    const verified = await call(shared, 'verify', body, headers)
    expect([verified.status, verified.body]).toEqual([
      status,
      { isValid: false, invalidReason: 'invalid_payload', invalidMessage: expect.any(String) },
    ])
    const answered = await call(shared, 'settle', body, headers)
    expect([answered.status, answered.body]).toEqual([
      status,
      expect.objectContaining({ success: false, errorReason: 'invalid_payload', transaction: '' }),
    ])
  })

  it('are those with an empty or a long Idempotency-Key', async () => {
    const { operator, replica } = await open()
    const { request } = await hold(operator, replica)
    for (const key of ['', 'k'.repeat(256)]) {
      const { status, body } = await call(replica, 'settle', request, { 'Idempotency-Key': key })
      expect([status, body['errorReason']]).toEqual([400, 'invalid_payload'])
    }
    const answer = await call(replica, 'settle', request, { 'Idempotency-Key': 'k'.repeat(255) })
    expect(answer.body).toMatchObject(settled)
  })

  it('name the members that are missing or wrong', async () => {
    const { operator, replica } = await open()
    const { request } = await hold(operator, replica)
    const { paymentPayload } = request
    const wrong = { ...changeRequirements(request, { payTo: 'nobody', amount: '-1' }), paymentPayload }
    const { invalidMessage } = (await call(replica, 'verify', wrong)).body
    expect(invalidMessage).toContain('paymentRequirements.payTo')
    expect(invalidMessage).toContain('paymentRequirements.amount')
    const { paymentRequirements } = changeRequirements(request, { amount: undefined, maxAmountRequired: '10000' })
    const { status, body } = await call(replica, 'settle', { ...request, paymentRequirements })
    expect([status, body['errorMessage']]).toEqual([400, expect.stringContaining('amount is missing')])
  })
})

describe('the answers pass the schemas of @x402/core', () => {
  it('for what is supported, valid, settled and refused', async () => {
    const { operator, replica } = await open()
    const peer = connectFacilitator(replica.url)
    const { kinds, signers } = await peer.getSupported()
    expect(kinds[0]).toMatchObject({ x402Version: 2, scheme: 'exact', extra: { feePayer: operator.sponsor } })
    expect(signers).toEqual({ 'solana:*': [operator.sponsor] })
    const { payer, request } = await hold(operator, replica)
    const given = [request.paymentPayload, request.paymentRequirements] as unknown as Parameters<typeof peer.verify>
    expect(await peer.verify(...given)).toMatchObject({ isValid: true, payer: payer.signer.address })
    expect(await peer.settle(...given)).toMatchObject(settled)
    expect(await peer.settle(...given)).toMatchObject(duplicate)
    expect(await peer.verify(...given)).toMatchObject({ isValid: false })
  })
})

describe('the endpoints', () => {
  it('are not there unless the operator asks for them', async () => {
    const operator = await fixture.operator()
    const { url } = await operator.open({ facilitator: undefined })
    expect((await fetch(`${url}/supported`)).status).toBe(404)
    expect((await fetch(`${url}/settle`, { method: 'POST' })).status).toBe(404)
  })

  it('are in /openapi.json, with their bodies and answers', async () => {
    const { replica } = await open()
    const document = await (await fetch(new URL('/openapi.json', replica.url))).json()
    const { paths, components } = document as { paths: Record<string, object>; components: { schemas: object } }
    const own = Object.keys(paths).filter((path) => path.startsWith('/facilitator'))
    expect(own).toEqual(['/facilitator/supported', '/facilitator/verify', '/facilitator/settle'])
    expect(JSON.stringify(paths['/facilitator/settle'])).toContain('paymentRequirements')
    expect(components.schemas).toHaveProperty('FacilitatorSettlement')
  })

  it('settle nothing if the sponsor is a listed recipient', async () => {
    const operator = await fixture.operator()
    const { recipient, sponsor } = operator
    const replica = await operator.open({ facilitator: { payTo: [recipient, sponsor] } })
    expect((await fetch(`${replica.url}/supported`)).status).toBe(503)
    expect(replica.logged.join()).toContain('facilitator.unusable')
    const payer = await fixture.newPayer()
    const request = await makePayment(fixture, payer, {
      ...{ feePayer: sponsor, recipient, memos: [], units: [priceUnits] },
    })
    expect((await call(replica, 'settle', request)).status).toBe(503)
    expect(await operator.paid()).toBe(0n)
  })

  it('limit invalid payments by address and wallet, and count all calls', async () => {
    const operator = await fixture.operator()
    const replica = await operator.open({ metrics: 'open' })
    const { request } = await hold(operator, replica, 0n)
    const statuses = new Set<number>()
    for (let turn = 0; turn < 6; turn += 1)
      statuses.add((await call(replica, 'verify', request, { 'X-Forwarded-For': '192.0.2.7' })).status)
    expect([...statuses]).toEqual([200, 429])
    expect((await call(replica, 'verify', request, { 'X-Forwarded-For': '192.0.2.8' })).status).toBe(200)
    const metrics = await (await fetch(new URL('/metrics', replica.url))).text()
    expect(metrics).toContain('paystile_facilitator_total{endpoint="verify",outcome="tx_failed"} 6')
    expect(metrics).toContain('paystile_facilitator_total{endpoint="verify",outcome="rate_limited"} 1')
  })
})
