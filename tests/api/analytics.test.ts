/** The service's own addresses over real payments: what was paid is what is told, and to those it is for. */
import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as analyticsAnswers from '../../src/api/analytics/answers.ts'
import * as publicAnswers from '../../src/api/public/answers.ts'
import * as screenAnswers from '../../src/api/screens/answers.ts'
import { decodeAddress, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { isReceiptGenuine } from '../../src/core/protocol/receipt.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { memo, proofOf } from '../harness/localnet-fixture.ts'
import { eventually } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { type House, openHouse } from './api-fixture.ts'

let shop: ShopFixture
let house: House
let owner: string
const spent: string[] = []

beforeAll(async () => {
  shop = await createShopFixture()
  owner = shop.world.recipient.address
  house = await openHouse(shop, { ledger: join(shop.directory, 'payments.sqlite') })
  for (let index = 0; index < 3; index += 1) {
    const { tx, proof } = await house.pay(shop.payer)
    spent.push(tx)
    const response = await house.claim(proof)
    expect([response.status, await response.text()]).toEqual([200, 'the secret'])
  }
  // The server hears of the end of an answer when its client has it already.
  await eventually(
    async () =>
      (await (await house.get('/api/analytics')).json()) as { readonly funnel: { readonly delivered: number } },
    ({ funnel }) => funnel.delivered === 3,
  )
})
afterAll(async () => {
  await house.close()
  await shop.close()
})

const privates = [
  ...['/analytics', '/api/analytics', '/api/analytics/series', '/analytics/stream', '/analytics/x'],
  ...['/api/analytics/overview', '/api/status', '/api/refusals', '/api/service', '/api/receipt?id=a'],
  ...['/api/analytics/endpoint?endpoint=/data', '/api/analytics/payer?payer=a'],
  ...['/analytics/payers', '/analytics/problems'],
]

async function json(response: Promise<Response> | Response) {
  const answer = await response
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

describe('GET /api/analytics', () => {
  it('is the documented summary of the payments', async () => {
    const { status, body } = await json(house.get('/api/analytics'))
    expect(status).toBe(200)
    expect(analyticsAnswers.summary.parse(body)).toEqual(body)
    expect(body).toMatchObject({
      totalRevenue: '0.03',
      currencyBreakdown: { NATIVE: '0', USDC: '0.03', SOL: '0' },
      topEndpoints: [{ path: '/data', calls: 3, payments: 3, revenue: '0.03' }],
      revenueToken: 'USDC',
      payments: 3,
      funnel: { challenged: 3, paid: 3, delivered: 3 },
      pending: 0,
      unclaimed: 0,
    })
  })

  it('is told in the report token that was asked for, which its ledger remembers', async () => {
    const ledger = join(shop.directory, 'in-sol.sqlite')
    const inSol = await openHouse(shop, { ledger, reportToken: 'SOL', price: '0.15' })
    const { proof } = await inSol.pay(shop.payer)
    await (await inSol.claim(proof)).text()
    expect((await json(inSol.get('/api/analytics'))).body).toMatchObject({
      totalRevenue: '0.001',
      revenueToken: 'SOL',
      currencyBreakdown: { USDC: '0.15' },
    })
    await inSol.close()
    await expect(openHouse(shop, { ledger })).rejects.toThrow('keeps its reports in SOL, not in USDC')
  })

  it('has the period before beside one that has two ends', async () => {
    expect((await json(house.get('/api/analytics'))).body).not.toHaveProperty('previous')
    const hour = 3_600_000
    const now = Date.now()
    const { body } = await json(house.get(`/api/analytics?from=${now + 10 * hour}&to=${now + 34 * hour}`))
    expect(analyticsAnswers.summary.parse(body)).toMatchObject({
      payments: 0,
      previous: { totalRevenue: '0.03', payments: 3, funnel: { challenged: 3, paid: 3, delivered: 3 } },
    })
  })

  it('is empty for another time, and says for which', async () => {
    const { body } = await json(house.get('/api/analytics?from=2020-01-01T00:30:00Z&to=2020-01-02'))
    expect(body).toMatchObject({ totalRevenue: '0', payments: 0, from: '2020-01-01T00:00:00.000Z' })
  })
})

describe('GET /api/analytics/overview', () => {
  it('has everything that the home screen shows, in the documented form', async () => {
    const hour = 3_600_000
    const start = Math.floor(Date.now() / hour) * hour
    const path = `/api/analytics/overview?from=${start - hour}&to=${start + hour}&before=${start - 48 * hour}`
    const { status, body } = await json(house.get(path))
    expect(status).toBe(200)
    const { summary, step, points, before, tokens, records, setup } = screenAnswers.overview.parse(body)
    expect(summary).toMatchObject({ payments: 3, totalRevenue: '0.03', funnel: { paid: 3, delivered: 3 } })
    expect(step).toBe('hour')
    // Hours without payments are left out.
    expect(points.map(({ payments, revenue }) => [payments, revenue])).toEqual([[3, '0.03']])
    const ends = [start - 48 * hour, start - 46 * hour].map((at) => new Date(at).toISOString())
    expect([before?.from, before?.to, before?.points]).toEqual([...ends, []])
    // The only accepted token.
    expect(tokens).toMatchObject([{ token: 'USDC', payments: 3, share: '1' }])
    expect(records).toHaveLength(3)
    expect(setup).toEqual({ hasPayments: true, hasOwners: false, hasWebhooks: false, isLive: false, frontPage: null })
  })

  it('sums a long period by days, and has no points for all time', async () => {
    const long = screenAnswers.overview.parse(
      (await json(house.get('/api/analytics/overview?from=2026-01-01&to=2027-01-01'))).body,
    )
    expect([long.step, long.points.every(({ at }) => at.endsWith('T00:00:00.000Z'))]).toEqual(['day', true])
    const all = screenAnswers.overview.parse((await json(house.get('/api/analytics/overview'))).body)
    expect([all.summary.payments, all.points, all.before]).toEqual([3, [], null])
  })
})

describe('GET /api/status', () => {
  it('has no alerts and no problems while everything is sold and delivered', async () => {
    const { body } = await json(house.get('/api/status'))
    const { alerts, problems } = screenAnswers.status.parse(body)
    expect(alerts).toEqual([])
    expect(Object.values(problems).reduce((sum, count) => sum + count, 0)).toBe(0)
  })
})

describe('GET /analytics', () => {
  it('lists payments in the documented form, with their totals', async () => {
    const { body } = await json(house.get('/analytics'))
    const { records = [], next, tokens, usage } = analyticsAnswers.analytics.parse(body)
    expect([records.length, next]).toEqual([3, null])
    expect(records[0]).toMatchObject({
      token: 'USDC',
      amount: '0.01',
      worth: '0.01',
      endpoint: '/data',
      status: 'Verified',
      verification: 'confirmed',
      delivery: 'all',
      recipient: owner,
    })
    expect(tokens?.find(({ token }) => token === 'USDC')).toMatchObject({ payments: 3, share: '1' })
    expect(usage).toMatchObject([{ endpoint: '/data', calls: 3, challenged: 3, delivered: 3 }])
  })

  it('goes page by page, and takes filters', async () => {
    const first = await json(house.get('/analytics?limit=2&order=oldest'))
    const second = await json(house.get(`/analytics?limit=2&order=oldest&cursor=${first.body.next}`))
    const ids = [...first.body.records, ...second.body.records].map(({ id }: { id: string }) => id)
    expect([new Set(ids).size, second.body.next]).toEqual([3, null])
    expect((await json(house.get('/analytics?status=Expired'))).body.records).toEqual([])
    expect((await json(house.get('/analytics?token=SOL&status=confirmed'))).body.records).toEqual([])
    expect((await json(house.get('/analytics?endpoint=/data&view=records'))).body.records).toHaveLength(3)
  })

  it('refuses a cursor that it did not give, and all else that is wrong, at once', async () => {
    const { status, headers, body } = await json(house.get('/analytics?cursor=AAAA&limit=9999&orderr=x'))
    expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json'])
    expect(body.problems).toHaveLength(3)
  })

  it('T134, T135: hides payers and requestIds behind keyed names, and names no transaction', async () => {
    const text = await (await house.get('/analytics')).text()
    const { records } = JSON.parse(text)
    const payer = decodeAddress(shop.payer.address) ?? new Uint8Array()
    for (const secret of [shop.payer.address, ...spent]) expect(text).not.toContain(secret)
    for (const form of [payer, shop.payer.address]) {
      const hash = createHash('sha256').update(form).digest()
      for (const encoding of ['hex', 'base64url'] as const)
        expect(text).not.toContain(hash.toString(encoding).slice(0, 22))
    }
    expect(new Set(records.map((record: { payer: string }) => record.payer)).size).toBe(1)
  })
})

describe('GET /analytics/{id}', () => {
  it('shows the transaction only to a signed-in owner', async () => {
    const { body } = await json(house.get('/analytics?order=oldest'))
    const [{ id }] = body.records
    const seen = await json(house.visit(`/analytics/${id}`, owner))
    const { id: named, tx } = analyticsAnswers.detail.parse(seen.body)
    expect([named, spent.includes(tx ?? '')]).toEqual([id, true])
    expect((await json(house.get(`/analytics/${id}`))).body).not.toHaveProperty('tx')
    expect((await house.visit(`/analytics/${id}`)).status).toBe(401)
  })

  it('has a signed receipt for a signed-in owner only', async () => {
    const { body } = await json(house.get('/analytics?order=oldest'))
    const [{ id }] = body.records
    const receipt = analyticsAnswers.receipt.parse((await json(house.visit(`/api/receipt?id=${id}`, owner))).body)
    expect(receipt).toMatchObject({ resource: '/data', token: 'USDC', amount: '0.01' })
    expect(spent).toContain(receipt.reference)
    const { identityKey } = (await json(house.get('/.well-known/paystile'))).body
    const key = decodeAddress(identityKey) ?? new Uint8Array()
    expect(isReceiptGenuine(receipt, key, createVerifier())).toBe(true)
    expect(isReceiptGenuine({ ...receipt, amount: '1' }, key, createVerifier())).toBe(false)
    expect((await house.get(`/api/receipt?id=${id}`)).status).toBe(401)
    expect((await house.visit(`/api/receipt?id=${id}`, shop.payer.address)).status).toBe(403)
    expect((await house.visit('/api/receipt?id=unknown', owner)).status).toBe(404)
  })

  it('and an export use the same rule for transactions', async () => {
    const exports = {
      hasLink: () => false,
      handle: async (_request: Request, wallet: string) => Response.json({ wallet }),
      handleLinks: async () => new Response(),
    }
    const other = await openHouse(shop, {}, { exports })
    expect(await (await other.visit('/api/analytics/export', owner)).json()).toEqual({ wallet: owner })
    expect(await (await other.get('/api/analytics/export')).json()).toEqual({ wallet: '' })
    expect((await other.visit('/api/analytics/export')).status).toBe(401)
    await other.close()
  })

  it('has the five checks, the request, and every step with its time', async () => {
    const { body } = await json(house.get('/analytics?order=oldest&limit=1'))
    const detail = analyticsAnswers.detail.parse((await json(house.get(`/analytics/${body.records[0].id}`))).body)
    expect(detail).toMatchObject({
      required: '0.01',
      checks: { exists: 'passed', recipient: 'passed', amount: 'passed', memo: 'passed', unused: 'passed' },
      allowance: { unit: 'request', amount: '1' },
      remaining: '0',
    })
    const events = detail.timeline.map(({ event }) => event).filter((event) => event !== 'finalized')
    expect(events).toEqual(['paid', 'registered', 'delivered'])
    expect(detail.timeline.every(({ at }) => at !== null)).toBe(true)
    expect(Date.parse(detail.usableUntil ?? '')).toBeGreaterThan(Date.parse(detail.timestamp))
  })

  it('is 404 for an id that is none', async () => {
    expect(await json(house.get('/analytics/unknown'))).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await house.get('/analytics/a/b')).status).toBe(404)
  })
})

describe('GET /analytics/payers', () => {
  it('lists payers with amounts, first and last payment, in both orders', async () => {
    for (const order of ['revenue', 'latest']) {
      const { body } = await json(house.get(`/analytics/payers?order=${order}`))
      const { payers, next } = analyticsAnswers.payers.parse(body)
      expect(next).toBeNull()
      expect(payers).toMatchObject([{ received: { NATIVE: '0', SOL: '0' } }])
      const { body: list } = await json(house.get(`/analytics?view=records&payer=${payers[0]?.payer}`))
      expect(payers[0]?.payments).toBe(list.records.length)
      expect(payers[0]?.last).toBe(list.records[0].timestamp)
    }
  })

  it('suggests a shorter period if it is too long, and refuses a cursor of the other order', async () => {
    const long = await json(house.get('/analytics/payers?from=2020-01-01&to=2026-01-01'))
    expect([long.status, long.body.detail]).toEqual([400, expect.stringContaining('at most 366 days')])
    expect((await house.get('/analytics/payers?order=latest&cursor=12~payer-1')).status).toBe(400)
    expect((await house.get('/analytics/payers?cursor=12~payer-1')).status).toBe(200)
    expect((await house.get('/analytics/payers?cursor=forged')).status).toBe(400)
  })
})

describe('GET /api/analytics/series', () => {
  it('has a point for every hour', async () => {
    const { body } = await json(house.get('/api/analytics/series'))
    const { points } = analyticsAnswers.series.parse(body)
    expect([points.length, points.reduce((sum, { payments }) => sum + payments, 0)]).toEqual([24, 3])
  })

  it('suggests a smaller request if there are too many results', async () => {
    const { status, body } = await json(house.get('/api/analytics/series?from=2020-01-01&to=2026-01-01'))
    expect([status, body.code]).toEqual([400, 'query_invalid'])
    expect(body.detail).toContain('step=day')
  })
})

describe('GET /analytics/stream', () => {
  it('tells of a payment from its claim to its end', async () => {
    const stopping = new AbortController()
    const response = await fetch(`${house.url}/analytics/stream`, { signal: stopping.signal })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    const reader = response.body?.getReader()
    const decoder = new TextDecoder()
    const { tx, proof } = await house.pay(shop.payer)
    await (await house.claim(proof)).text()
    let text = ''
    while (!text.includes('"delivery":"all"')) text += decoder.decode((await reader?.read())?.value)
    expect(text).toContain('event: payment')
    expect(text).not.toContain(tx)
    stopping.abort()
  })

  it('T133: is not for strangers, and HEAD opens none', async () => {
    expect((await house.visit('/analytics/stream')).status).toBe(401)
    const head = () => new Request(`${house.url}/analytics/stream`, { method: 'HEAD', headers: { host: 'localhost' } })
    // A reader beside them: without one, each would begin to read the ledger.
    const stopping = new AbortController()
    expect((await fetch(`${house.url}/analytics/stream`, { signal: stopping.signal })).status).toBe(200)
    for (let times = 0; times < 2_000; times += 1) {
      expect((await house.routes.handle(head(), { isLoopback: true })).status).toBe(200)
      await new Promise(setImmediate)
    }
    stopping.abort()
  })
})

describe('GET /analytics with a name to look for', () => {
  const found = async (query: string) => {
    const { body } = await json(house.get(`/analytics?view=records&${query}`))
    return analyticsAnswers.analytics.parse(body).records ?? []
  }

  it('finds a payment by its id, its transaction, its requestId or the hash of it, and all of a payer', async () => {
    const { tx, requestId, proof } = await house.pay(shop.payer)
    await (await house.claim(proof)).text()
    const [record] = await found(`q=${tx}`)
    expect(record?.requestId).toBe(house.service.pseudonyms.request(requestId))
    for (const name of [record?.id, requestId, record?.requestId])
      expect((await found(`q=${name}`)).map(({ id }) => id)).toEqual([record?.id])
    const idsOf = async (query: string) => (await found(query)).map(({ id }) => id)
    const own = await idsOf(`q=${record?.payer}`)
    expect([own.length > 3, own]).toEqual([true, await idsOf(`payer=${record?.payer}`)])
    expect(await found(`q=${record?.payer}&payer=somebody-else`)).toEqual([])
    expect(await found(`q=${tx}&status=Expired`)).toEqual([])
    expect(await found('q=nothing-of-ours')).toEqual([])
    expect(await found('state=reverted')).toEqual([])
    expect((await house.get('/analytics?q=%25')).status).toBe(400)
  })
})

describe('GET /api/service', () => {
  it('names routes, nodes, owners and versions, and no address of a node', async () => {
    const { body } = await json(house.get('/api/service'))
    expect(screenAnswers.servicePage.parse(body)).toMatchObject({
      routes: [{ isSelling: true, why: '' }],
      nodes: [{ name: 'node 1', isReachable: true, lag: 0 }],
      owners: { wallets: [owner], isSet: false },
      versions: { node: process.versions.node, ledger: 'sqlite' },
    })
    expect(JSON.stringify(body)).not.toContain(shop.world.localnet.rpcUrl)
  })
})

describe('GET /api/refusals', () => {
  it('lists refused proofs with their reasons, and the payers that they name as pseudonyms', async () => {
    const { tx, requestId } = await house.pay(shop.payer)
    const stranger = (await shop.world.person()).address
    const proof = `tx=${tx}; requestId=${requestId}; payer=${stranger}`
    expect((await house.claim(proof)).status).toBe(403)
    expect((await house.claim('<script>alert(1)</script>')).status).toBe(403)
    const { body } = await json(house.get('/api/refusals?endpoint=/data'))
    const { refusals } = screenAnswers.refusalLog.parse(body)
    const payer = house.service.pseudonyms.wallet(decodeAddress(stranger) ?? expect.fail())
    const codes = refusals.map((one) => one.code)
    expect(codes).toEqual(expect.arrayContaining(['payer_mismatch', 'proof_malformed']))
    expect(refusals.find((one) => one.payer === payer)).toMatchObject({
      reason: 'Another wallet made the payment.',
      isRetryable: false,
      endpoint: '/data',
      count: 1,
    })
    // Neither the header nor a wallet is kept.
    expect(JSON.stringify(body)).not.toMatch(/script|alert/)
    expect(JSON.stringify(body)).not.toContain(stranger)
    const one = await json(house.get('/api/refusals?code=proof_malformed'))
    expect(new Set(screenAnswers.refusalLog.parse(one.body).refusals.map(({ code }) => code))).toEqual(
      new Set(['proof_malformed']),
    )
    expect((await house.get('/api/refusals?code=nothing')).status).toBe(400)
  })
})

describe('an unclaimed payment', () => {
  it('is Pending as soon as it is seen on chain, and Verified with its proof', async () => {
    // A recipient of its own: what others were paid on this chain is seen, too.
    const recipient = (await shop.world.person()).address
    const watching = await openHouse(shop, { watch: true, recipient })
    const stopping = new AbortController()
    const stream = await fetch(`${watching.url}/analytics/stream`, { signal: stopping.signal })
    const reader = stream.body?.getReader()
    // Money that somebody sends without a requestId is no payment of the service's, and is not counted as one.
    await shop.world.send([await shop.world.transfer(shop.payer, recipient, 'USDC', 10_000n)], shop.payer)
    const { proof } = await watching.pay(shop.payer)
    const pending = await eventually(
      async () =>
        analyticsAnswers.analytics.parse((await json(watching.get('/analytics?status=Pending'))).body).records ?? [],
      (records) => records.length === 1,
    )
    expect(pending).toMatchObject([
      { verification: 'pending', state: 'unclaimed', endpoint: '/data', delivery: 'none' },
    ])
    expect((await json(watching.get('/api/analytics'))).body).toMatchObject({
      totalRevenue: '0',
      payments: 0,
      pending: 1,
      unclaimed: 1,
    })
    let text = ''
    const hear = async (status: string) => {
      while (!text.includes(`"status":"${status}"`)) text += new TextDecoder().decode((await reader?.read())?.value)
    }
    await hear('Pending')
    expect(await (await watching.claim(proof)).text()).toBe('the secret')
    await hear('Verified')
    expect((await json(watching.get('/api/analytics'))).body).toMatchObject({ totalRevenue: '0.01', pending: 0 })
    stopping.abort()
    await watching.close()
  })
})

describe('a claim whose transaction is not on chain', () => {
  it('is listed without an amount, and counts nowhere', async () => {
    const named = await openHouse(shop, { ledger: join(shop.directory, 'named.sqlite') })
    const invented = encodeBase58(new Uint8Array(64).fill(7))
    const refused = await named.claim(proofOf(invented, await named.challenge(), shop.payer))
    expect(await refused.json()).toMatchObject({ code: 'tx_not_found' })
    const { records, totals } = await eventually(
      async () => analyticsAnswers.analytics.parse((await json(named.get('/analytics?view=records,totals'))).body),
      (page) => page.records?.length === 1,
    )
    expect(records).toMatchObject([{ state: 'unclaimed', problem: 'not_on_chain', amount: '', worth: '' }])
    expect(totals).toMatchObject({ payments: 0, unaccepted: 0, notOnChain: 1, received: { USDC: '0' } })
    expect((await json(named.get('/api/analytics'))).body).toMatchObject({ payments: 0, pending: 0, unclaimed: 0 })
    const { body } = await json(named.get(`/analytics/${records?.[0]?.id}`))
    expect(analyticsAnswers.detail.parse(body)).toMatchObject({
      required: '0.01',
      amount: '',
      checks: { exists: 'unchecked' },
      timeline: [{ event: 'claimed', note: expect.stringContaining('no node has returned it') }],
      refundable: [],
      notRefundable: 'the transaction is not on chain yet',
    })
    await named.close()
  })
})

describe('GET /analytics/problems', () => {
  it('lists payments that arrived and bought nothing, with the requested resource and the next step', async () => {
    const recipient = (await shop.world.person()).address
    const watching = await openHouse(shop, { watch: true, recipient })
    const { world, payer } = shop
    await world.send([await world.transfer(payer, recipient, 'USDC', 77n)], payer)
    const asked = await watching.challenge()
    await world.send([await world.transfer(payer, recipient, 'USDC', 9_000n), memo(asked.requestId)], payer)
    const { records, counts } = await eventually(
      async () => analyticsAnswers.problemList.parse((await json(watching.get('/analytics/problems'))).body),
      (list) => list.records.length === 2,
    )
    expect(counts).toMatchObject({ underpaid: 1, unmatched: 1, late: 0, reverted: 0 })
    const short = records.find(({ kind }) => kind === 'underpaid')
    expect(short).toMatchObject({ required: '0.01', received: '0.009', endpoint: '/data' })
    expect(records.find(({ kind }) => kind === 'unmatched')).toMatchObject({ requestId: '', received: '0.000077' })
    for (const record of records) expect(record).not.toHaveProperty('tx')
    const seen = analyticsAnswers.problemList.parse((await json(watching.visit('/analytics/problems', recipient))).body)
    expect(seen.records.every(({ tx = '' }) => tx.length > 80)).toBe(true)
    const only = await json(watching.get('/analytics/problems?kind=underpaid&limit=1'))
    expect([only.body.records.length, only.body.next]).toEqual([1, null])
    const { body } = await json(watching.get(`/analytics/${short?.id}`))
    expect(analyticsAnswers.detail.parse(body)).toMatchObject({
      required: '0.01',
      checks: { exists: 'passed', recipient: 'passed', amount: 'failed', memo: 'passed', unused: 'unchecked' },
      timeline: [{ event: 'paid' }, { event: 'seen' }],
      allowance: null,
      remaining: null,
    })
    await watching.close()
  })
})

describe('conversions of an owner', () => {
  it('is no payment, and can never be sent back', async () => {
    const { world, payer } = shop
    const recipient = await world.person()
    const watching = await openHouse(shop, { watch: true, recipient: recipient.address })
    const exchange = async (feePayer: typeof payer) =>
      world.send(
        [
          await world.transfer(payer, recipient.address, 'USDC', 500n),
          await world.transfer(recipient, payer.address, 'NATIVE', 5_000n),
        ],
        feePayer,
      )
    await exchange(recipient)
    await exchange(payer)
    // Whoever only pays the fee has exchanged nothing.
    await world.send([await world.transfer(payer, recipient.address, 'USDC', 77n)], recipient)
    await world.send([await world.transfer(payer, recipient.address, 'USDC', 78n)], payer)
    const { records } = await eventually(
      async () => analyticsAnswers.problemList.parse((await json(watching.get('/analytics/problems'))).body),
      (list) => list.records.filter(({ received }) => received.startsWith('0.00007')).length === 2,
    )
    expect(records.map(({ received }) => received).toSorted()).toEqual(['0.000077', '0.000078'])
    await watching.close()
  })
})

describe('read access', () => {
  it.each(privates)('T136: %s is for owners: others are told how to sign in', async (path) => {
    const { status, headers, body } = await json(house.visit(path))
    expect([status, body.code, headers.get('www-authenticate')]).toEqual([401, 'sign_in_required', 'Bearer'])
    expect(headers.get('access-control-allow-origin')).toBe(null)
    const other = await json(house.visit(path, shop.payer.address))
    expect([other.status, other.body.code]).toEqual([403, 'not_owner'])
  })

  it('T136: a name that points here, or a proxy, closes it', async () => {
    const statusFor = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const asked = httpRequest(`${house.url}/api/analytics`, { headers }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        asked.on('error', reject)
        asked.end()
      })
    expect(await statusFor({ host: 'localhost' })).toBe(200)
    expect(await statusFor({ host: 'rebound.example' })).toBe(401)
    expect(await statusFor({ host: 'localhost', via: '1.1 tunnel' })).toBe(401)
    expect(await statusFor({ host: 'localhost', 'x-forwarded-host': 'localhost' })).toBe(401)
    expect(await statusFor({ host: 'localhost', origin: 'https://evil.example' })).toBe(401)
  })

  it('owners are those that are named, and then not the recipient', async () => {
    const named = await openHouse(shop, {}, { owners: [shop.payer.address] })
    expect((await named.visit('/api/analytics', shop.payer.address)).status).toBe(200)
    expect((await named.visit('/api/analytics', owner)).status).toBe(403)
    await named.close()
  })

  it.each(['/analytics', '/api/analytics', '/api/analytics/series', '/healthz', '/readyz'])(
    'T107, T112: nobody keeps a copy of %s, or takes it for a page',
    async (path) => {
      for (const response of [await house.get(path), await house.visit(path)]) {
        expect(response.headers.get('cache-control')).toBe('no-store')
        expect(response.headers.get('x-content-type-options')).toBe('nosniff')
        expect(response.headers.get('content-type')).toMatch(/^application\/(problem\+)?json$/)
      }
    },
  )

  it('T99: HEAD tells a stranger nothing about the answer', async () => {
    const head = await house.visit('/api/analytics', undefined, { method: 'HEAD' })
    const got = await house.visit('/api/analytics')
    expect([head.status, await head.text()]).toEqual([401, ''])
    expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
  })

  it('T112: requested names are not repeated', async () => {
    const response = await house.get('/analytics/%3Cscript%3Ealert(1)%3C/script%3E')
    expect([response.status, (await response.text()).includes('script')]).toEqual([404, false])
  })
})

describe('health', () => {
  it('is live and ready, and reports it to every client', async () => {
    expect(await json(house.visit('/healthz'))).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await json(house.visit('/readyz'))).toMatchObject({ status: 200, body: { ready: true, why: [] } })
  })

  it('T142: is not ready when the ledger does not answer; why, in full, only an owner is told', async () => {
    const broken = await openHouse(shop)
    const { ledger } = broken.service
    const peek = ledger.peek
    Object.assign(ledger, { peek: () => Promise.reject(new Error('connect ECONNREFUSED db.internal:5432')) })
    const told = await json(broken.visit('/readyz'))
    expect(told).toMatchObject({ status: 503, body: { ready: false, why: ['ledger_unavailable'] } })
    const seen = await json(broken.get('/readyz'))
    expect(seen.body.why).toEqual(['ledger_unavailable: connect ECONNREFUSED db.internal:5432'])
    expect((await broken.visit('/healthz')).status).toBe(200)
    Object.assign(ledger, { peek })
    await broken.close()
  })

  it('T142: internal errors appear in the log and not in the response', async () => {
    const broken = await openHouse(shop)
    const { books } = broken.service.ledger
    Object.assign(books ?? {}, { sums: () => Promise.reject(new Error('relation "sums" does not exist')) })
    const { status, body } = await json(broken.get('/api/analytics'))
    expect([status, body.code, JSON.stringify(body).includes('relation')]).toEqual([500, 'internal_error', false])
    expect(shop.logged.join()).toContain('relation')
    await broken.close()
  })

  it('metrics are for owners, for programs at this machine, and for all where that is said', async () => {
    const here = await house.get('/metrics')
    expect([here.status, here.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(await here.text()).toContain('paystile_proofs_total')
    expect((await house.visit('/metrics')).status).toBe(401)
    expect((await house.visit('/metrics', owner)).status).toBe(200)
    const open = await openHouse(shop, {}, { hasOpenMetrics: true })
    expect((await open.visit('/metrics')).status).toBe(200)
    await open.close()
  })
})

describe('discovery', () => {
  it('T105: names the service by its configuration, not by the request', async () => {
    const spoofed = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' }
    for (const path of ['/.well-known/paystile', '/llms.txt', '/openapi.json']) {
      const response = await house.get(path, spoofed)
      expect([response.status, (await response.text()).includes('evil.example')]).toEqual([200, false])
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  it('lists network, keys, recipients, tokens and paid resources', async () => {
    const { body } = await json(house.visit('/.well-known/paystile'))
    expect(publicAnswers.wellKnown.parse(body)).toEqual(body)
    expect(body).toMatchObject({
      version: 1,
      network: 'localnet',
      genesis: shop.world.localnet.genesisHash,
      recipients: [owner],
      tokens: { USDC: { decimals: 6 } },
      endpoints: [{ methods: ['GET'], path: '/data', price: '0.01', token: 'USDC', acceptedMints: ['USDC'] }],
    })
  })

  it('says in a page how to pay', async () => {
    const text = await (await house.visit('/llms.txt')).text()
    expect(text).toContain('for more than one request also needs sig= or claim=')
    expect(text).toContain('- GET /data: 0.01 USDC per request, paid in USDC. The secret, in full.')
    expect(text).toContain('Payment-Proof: tx=<signature>; requestId=<requestId>; payer=<address>')
  })

  it('names the time that a price buys as the checkout does', async () => {
    const hourly = await openHouse(shop, { per: { seconds: 600 } })
    const text = await (await hourly.visit('/llms.txt')).text()
    expect(text).toContain('- GET /data: 0.01 USDC per 10 minutes')
    await hourly.close()
  })

  it('describes every address of its own and every price in OpenAPI 3.1', async () => {
    const { body } = await json(house.visit('/openapi.json'))
    expect(body.openapi).toBe('3.1.0')
    expect(body.paths['/data'].get['x-payment-info']).toEqual({
      method: 'solana',
      intent: 'charge',
      currency: shop.world.usdc.address,
      amount: '10000',
      price: '0.01',
      token: 'USDC',
      per: { unit: 'request', amount: 1 },
      acceptedMints: ['USDC'],
      mints: { USDC: shop.world.usdc.address },
      network: 'localnet',
      recipient: owner,
    })
    const list = body.paths['/analytics'].get
    expect(list.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'from',
      'to',
      'endpoint',
      'token',
      'status',
      'state',
      'payer',
      'order',
      'q',
      'limit',
      'cursor',
      'view',
    ])
    const limit = list.parameters.find(({ name }: { name: string }) => name === 'limit')
    expect(limit).toMatchObject({ in: 'query', required: false })
    expect(limit.schema).toMatchObject({ type: 'integer', minimum: 1, maximum: 500 })
    const wanted = body.paths['/verify-payment'].post.requestBody.content['application/json'].schema
    expect([wanted.required, wanted.additionalProperties]).toEqual([['tx', 'requestId'], false])
    const nonce = body.paths['/sign-in/nonce'].post
    expect(nonce.requestBody.content['application/json'].schema.required).toEqual(['address'])
    const entering = body.paths['/sign-in'].post
    expect(entering.requestBody.content['application/json'].schema.required).toEqual([
      'address',
      'message',
      'signature',
    ])
    const { Session, SignedIn, SignInMessage, SignedOut } = body.components.schemas
    expect(Session.required).toEqual(['token', 'expiresAt', 'wallet', 'owner'])
    expect([SignedIn, SignInMessage, SignedOut]).not.toContain(undefined)
    const text = JSON.stringify(body)
    for (const [, name] of text.matchAll(/#\/components\/schemas\/(\w+)/g))
      expect(Object.keys(body.components.schemas)).toContain(name)
    expect(text).not.toContain('$defs')
  })
})

describe('methods', () => {
  it('says which an address takes', async () => {
    const response = await fetch(`${house.url}/api/analytics`, { method: 'POST' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    const options = await fetch(`${house.url}/api/analytics`, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
  })

  it('has nothing where a part is missing', async () => {
    for (const path of ['/faucet', '/dashboard', '/pay/x', '/webhooks', '/analytics/'])
      expect((await house.get(path)).status).toBe(404)
  })
})

it('T140: the log holds no session, no proof and no address of a payer', () => {
  expect(shop.logged.length).toBeGreaterThan(0)
  const text = shop.logged.join('\n')
  for (const secret of ['Payment-Proof', 'x-test-wallet', shop.payer.address]) expect(text).not.toContain(secret)
})
