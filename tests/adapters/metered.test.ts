/** Handlers that do odd things with a response that is measured: nobody pays for what did not come, and nothing breaks. */
import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/node.ts'
import type { ProviderOptions } from '../../src/server/options.ts'
import { listen } from '../harness/adapters.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createStand, type Stand } from '../harness/stand.ts'
import { proofOf } from '../harness/world.ts'

const secret = 'a-secret-of-the-client-0123456789'
const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
let stand: Stand
beforeAll(async () => {
  stand = await createStand()
})
afterAll(() => stand.close())

function open(options: Partial<ProviderOptions>, handler: (response: ServerResponse) => void): Promise<Shop> {
  return stand.open(options, async (all) => {
    const paid = create402Middleware(all)
    return listen(
      createServer((request, response) => paid(request, response, () => handler(response))),
      paid,
    )
  })
}

async function buy(shop: Shop): Promise<string> {
  const challenge = await shop.challenge('/data', { 'Payment-Accept': accept })
  return proofOf(await stand.world.pay(challenge, stand.payer), challenge, stand.payer, `; claim=${secret}`)
}

const ended = (shop: Shop, times: number) =>
  eventually(
    () => shop.events.flatMap((event) => (event.kind === 'ended' ? [event.consequence] : [])),
    ({ length }) => length >= times,
  )

const units: readonly (readonly [string, Partial<ProviderOptions>])[] = [
  ['a request', {}],
  ['a file', { per: 'megabyte', price: 1, size: 1_000 }],
  ['bytes', { per: 'megabyte', price: 1, prepay: 0.1 }],
]

describe.each(units)('%s', (_unit, options) => {
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
})
