/** Unmodified servers of x402 settle their clients' payments through our facilitator. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { feeLamports, priceUnits } from './attack-fixture.ts'
import { payWithX402, payWithX402V1 } from './clients.ts'
import { createFacilitatorFixture, type FacilitatorFixture } from './facilitator-fixture.ts'
import { connectFacilitator, serveExpress, serveHono, startFacilitatedV1Server } from './servers.ts'

let fixture: FacilitatorFixture
beforeAll(async () => {
  fixture = await createFacilitatorFixture()
})
afterAll(() => fixture.close())

describe('an unmodified server sells to an unmodified client', () => {
  const frameworks = [
    ['@x402/express', serveExpress],
    ['@x402/hono', serveHono],
  ] as const
  it.each(frameworks)('%s', async (_name, serve) => {
    const operator = await fixture.operator()
    const replica = await operator.open()
    const { recipient } = operator
    const server = await fixture.sell(replica, { recipient }, (url, seller) => serve(connectFacilitator(url), seller))
    const payer = await fixture.newPayer()
    const { response, credentials } = await payWithX402(server.url, payer)
    expect([response.status, await response.text()]).toEqual([200, 'paid'])
    expect(credentials).toHaveLength(1)
    const receipt = JSON.parse(Buffer.from(response.headers.get('payment-response') ?? '', 'base64').toString())
    expect(receipt).toMatchObject({ success: true, payer: payer.signer.address })
    expect(await fixture.usdc(recipient)).toBe(priceUnits)
    expect(await operator.paid()).toBe(feeLamports)
  })

  it('x402 version 1', async () => {
    const operator = await fixture.operator()
    const { recipient } = operator
    const server = await fixture.sell(await operator.open(), { recipient }, (url) =>
      startFacilitatedV1Server(url, { recipient }),
    )
    const { response } = await payWithX402V1(server.url, await fixture.newPayer())
    expect([response.status, await response.text()]).toEqual([200, 'paid'])
    expect(await fixture.usdc(recipient)).toBe(priceUnits)
    expect(await operator.paid()).toBe(feeLamports)
  })
})
