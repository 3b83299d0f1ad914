/** Handlers that do odd things with a response that is measured: nobody pays for what did not come, and nothing breaks. */
import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/node.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { listen } from '../harness/adapters.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, type ShopFixture } from '../harness/shop-fixture.ts'

const secret = 'a-secret-of-the-client-0123456789'
const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

function open(options: Partial<ProviderOptions>, handler: (response: ServerResponse) => void): Promise<Shop> {
  return fixture.open(options, async (all) => {
    const paid = create402Middleware(all)
    return listen(
      createServer((request, response) => paid(request, response, () => handler(response))),
      paid,
    )
  })
}

async function buy(shop: Shop): Promise<string> {
  const challenge = await shop.challenge('/data', { 'Payment-Accept': accept })
  return proofOf(await fixture.world.pay(challenge, fixture.payer), challenge, fixture.payer, `; claim=${secret}`)
}

const ended = (shop: Shop, times: number) =>
  eventually(
    () => shop.events.flatMap((event) => (event.kind === 'ended' ? [event.outcome] : [])),
    ({ length }) => length >= times,
  )

const units: readonly (readonly [string, Partial<ProviderOptions>])[] = [
  ['a request', {}],
  ['a file', { per: 'megabyte', price: 1, size: 1_000 }],
  ['bytes', { per: 'megabyte', price: 1, prepay: 0.1 }],
]

describe.each(units)('%s', (unit, options) => {
  it.each<[string, unknown]>([
    ['a number', 123],
    ['nothing', undefined],
    ['an object', { hello: 'world' }],
  ])('survives a handler that writes %s, which Node refuses', async (_name, chunk) => {
    const errors: unknown[] = []
    let isBroken = true
    const shop = await open(options, (response) => {
      try {
        if (isBroken) response.write(chunk as string)
      } catch (error) {
        errors.push((error as NodeJS.ErrnoException).code)
      }
      if (isBroken) response.destroy()
      else response.end('whole')
    })
    const proof = await buy(shop)
    await expect(shop.claim(proof).then((response) => response.text())).rejects.toThrow()
    expect(errors).toEqual(['ERR_INVALID_ARG_TYPE'])
    await ended(shop, 1)
    isBroken = false
    expect(await (await shop.claim(proof)).text()).toBe('whole')
  })

  it('is not used up by a response that its handler ended before all it had announced', async () => {
    let isBroken = true
    const shop = await open(options, (response) => {
      response.writeHead(200, { 'Content-Length': 10, Connection: 'close' })
      response.write('the se')
      if (isBroken) response.end()
      else response.end('cret')
    })
    const proof = await buy(shop)
    await expect(shop.claim(proof).then((response) => response.text())).rejects.toThrow()
    expect(await ended(shop, 1)).toEqual([unit === 'bytes' ? 'delivered' : 'partial'])
    isBroken = false
    expect(await (await shop.claim(proof)).text()).toBe('the secret')
    if (unit !== 'bytes' && unit !== 'a file') await expectRefused(shop.claim(proof), 'payment_replay')
  })
})

it('T54: bytes survive a handler that continues after an error of Node', async () => {
  const shop = await open({ per: 'megabyte', price: 1, prepay: 0.1 }, (response) => {
    try {
      response.write(123 as unknown as string)
    } catch {}
    response.end()
  })
  const proof = await buy(shop)
  for (let time = 1; time <= 2; time += 1) {
    expect((await shop.claim(proof)).headers.get('payment-allowance')).toContain('remaining=100000;')
    await ended(shop, time)
  }
})

it('T54: bytes are not used up by writes after the end', async () => {
  const shop = await open({ per: 'megabyte', price: 1, prepay: 0.1 }, (response) => {
    response.on('error', () => {})
    response.write('a')
    response.end('b')
    response.write('c')
    response.end('d')
  })
  const proof = await buy(shop)
  expect(await (await shop.claim(proof)).text()).toBe('ab')
  await ended(shop, 1)
  expect((await shop.claim(proof)).headers.get('payment-allowance')).toContain('remaining=99998;')
})

it('T54: a cut response does not look complete to a client of HTTP/1.0, which reads until the connection ends', async () => {
  const shop = await open({ per: 'megabyte', price: 1, prepay: 0.002 }, (response) => {
    response.write('x'.repeat(1_500))
    response.end('x'.repeat(1_500))
  })
  const proof = await buy(shop)
  const { hostname, port } = new URL(shop.url)
  const end = await new Promise<{ readonly text: string; readonly error?: string }>((resolve) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET /data HTTP/1.0\r\nPayment-Proof: ${proof}\r\n\r\n`)
    })
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve({ text, ...(code && { error: code }) }))
    socket.on('close', () => resolve({ text }))
  })
  expect(end.text.split('\r\n\r\n')[1]).toBe('x'.repeat(2_000))
  expect(end.error).toBe('ECONNRESET')
})
