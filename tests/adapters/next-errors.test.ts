/** Where nothing has replaced the platform's `Response`, an answer that cannot be sent is noticed when it is made. */
import { expect, it, onTestFinished } from 'vitest'
import { create402Middleware } from '../../src/adapters/next.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { createLocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'

it('a Next handler with a response that cannot be sent uses up nothing', async () => {
  const home = useTemporaryHome()
  onTestFinished(home.remove)
  const world = await createLocalnetFixture()
  onTestFinished(world.close)
  const [payer, ends]: [Awaited<ReturnType<typeof world.person>>, string[]] = [await world.person(), []]
  const paid = create402Middleware({
    price: 0.01,
    token: 'USDC',
    recipient: world.recipient.address,
    network: 'localnet',
    rpc: world.localnet.rpcUrl,
    ledger: 'memory:',
    log: { info: () => {}, warn: () => {}, error: () => {} },
    onEvent: (event) => event.kind === 'ended' && ends.push(event.outcome),
  })
  onTestFinished(() => paid.close())
  await paid.ready()
  const route = paid(async () => Response.error())
  const challenge = (await (await route(new Request('http://shop/a'))).json()) as Challenge
  const headers = { 'payment-proof': proofOf(await world.pay(challenge, payer), challenge, payer) }
  expect((await route(new Request('http://shop/a', { headers }))).status).toBe(502)
  expect(ends).toEqual(['not_started'])
})
