/** The webhooks of a running service, as its owner reads and orders them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as answers from '../../src/api/analytics/answers.ts'
import type { WebhooksView } from '../../src/api/analytics/webhooks.ts'
import { ledgerEventKinds } from '../../src/core/ports/outbox.ts'
import { type DashboardService, openService } from '../pages/shop-fixture.ts'
import { openHouse } from './api-fixture.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
/** The messages that the receiver got, and the status that it returns. */
const got: { readonly id: string; readonly type: string; readonly signature: string }[] = []
let status = 500
const receiver = createServer((request, response) => {
  let body = ''
  request.on('data', (part) => {
    body += part
  })
  request.on('end', () => {
    const { 'webhook-id': id, 'webhook-signature': signature } = request.headers
    got.push({ id: String(id), type: JSON.parse(body).type, signature: String(signature) })
    response.writeHead(status).end()
  })
})
let service: DashboardService
let url: string
beforeAll(async () => {
  receiver.listen(0, '127.0.0.1')
  await new Promise((resolve) => receiver.once('listening', resolve))
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const webhooks = [{ url: `${url}/hook?key=hidden`, secret, events: ['payment.confirmed' as const] }]
  service = await openService({ routes: async () => ({ webhooks }) })
})
afterAll(async () => {
  await service?.close()
  receiver.closeAllConnections()
  receiver.close()
})

const order = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  const response = await fetch(`${service.url}/api/webhooks/${path}`, init)
  return { status: response.status, body: await response.json() }
}
const list = async (query = '') => {
  const text = await (await fetch(`${service.url}/api/webhooks${query}`)).text()
  return { text, ...answers.webhooks.parse(JSON.parse(text)) }
}

describe('webhooks', () => {
  it('list their receivers without the secret parts of their addresses, and messages that failed', async () => {
    await service.buy('/api/moon')
    const readFirst = async () => (await list()).deliveries[0]
    await expect.poll(readFirst, { interval: 50 }).toMatchObject({ state: 'waiting', why: 'it returned status 500' })
    const { receivers, deliveries, text } = await list()
    const address = expect.stringMatching(new RegExp(`^${url}/hook \\([\\w-]{8}\\)$`))
    expect(receivers).toMatchObject([{ address, events: ['payment.confirmed'] }])
    expect(deliveries).toMatchObject([{ type: 'payment.confirmed', address, attempts: 1 }])
    expect(text).not.toMatch(/hidden|whsec/)
    expect((await list('?state=delivered')).deliveries).toEqual([])
  })

  it('send a message again under the same id, on request', async () => {
    const [delivery] = (await list()).deliveries
    status = 204
    expect(await order('resend', { id: delivery?.id })).toEqual({ status: 202, body: { id: delivery?.id } })
    const readState = async () => (await list('?state=delivered')).deliveries.map(({ id }) => id)
    await expect.poll(readState, { interval: 50 }).toEqual([delivery?.id])
    const own = got.filter(({ id }) => id === delivery?.id)
    expect(own.length).toBeGreaterThanOrEqual(2)
    expect((await order('resend', { id: 'msg_unknown' })).status).toBe(404)
  })

  it('send a signed test message, and say whether it was accepted', async () => {
    const name = (await list()).receivers[0]?.name
    expect(await order('test', { receiver: name })).toEqual({
      ...{ status: 200, body: { isAccepted: true, status: 204, why: '' } },
    })
    expect(got.at(-1)).toMatchObject({ type: 'webhook.test', signature: expect.stringMatching(/^v1,/) })
    status = 503
    expect((await order('test', { receiver: name })).body).toMatchObject({ isAccepted: false, status: 503 })
    expect((await order('test', { receiver: 'nobody' })).status).toBe(404)
  })

  it('take no orders from other sites', async () => {
    const before = got.length
    const name = (await list()).receivers[0]?.name
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site }
      expect((await order('test', { receiver: name }, headers)).status).toBeGreaterThanOrEqual(400)
      expect((await order('resend', { id: 'x' }, headers)).status).toBeGreaterThanOrEqual(400)
    }
    expect(got.length).toBe(before)
  })

  it('show a message only to an owner who is signed in, because it names the transaction', async () => {
    const receivers = [{ name: 'one', url, secrets: [secret], events: ledgerEventKinds, allowPrivate: false }]
    const view: WebhooksView = {
      receivers,
      write: async ({ id, kind }) => ({ id, body: JSON.stringify({ type: kind, data: { tx: 'secret' } }) }),
      test: async () => ({ kind: 'failed', why: 'it does not respond' }),
    }
    const house = await openHouse(service.shop, {}, { webhooks: view })
    await house.service.ledger.events.start()
    const { proof } = await house.pay(service.shop.payer)
    await (await house.claim(proof)).text()
    const { deliveries } = answers.webhooks.parse(await (await house.get('/api/webhooks')).json())
    const path = `/api/webhooks/${deliveries[0]?.id}`
    const read = async (response: Response) => answers.delivery.parse(await response.json())
    expect((await read(await house.get(path))).body).toBeNull()
    const owned = await read(await house.visit(path, service.owner.address))
    expect(JSON.parse(owned.body ?? '')).toEqual({ type: 'payment.confirmed', data: { tx: 'secret' } })
    expect((await house.visit(path)).status).toBe(401)
    expect((await house.get('/api/webhooks/unknown')).status).toBe(404)
    await house.close()
  })
})
