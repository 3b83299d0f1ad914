/** A whole service with webhooks: a sale on a real chain reaches the receiver, in the words of feed and exports. */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPaystileRoutes } from '../../src/adapters/routes.ts'
import { paymentColumns } from '../../src/api/analytics/format.ts'
import { readRoutesConfig } from '../../src/api/options.ts'
import { ConfigurationError } from '../../src/core/errors/configuration-error.ts'
import { readPlan } from '../../src/gateway/config/plan.ts'
import { readYaml } from '../../src/gateway/config/plan-text.ts'
import { createReceiver, type Receiver } from '../harness/events.ts'
import { createShopFixture, type ShopFixture, txOf } from '../harness/shop-fixture.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
let fixture: ShopFixture
let receiver: Receiver

beforeAll(async () => {
  fixture = await createShopFixture()
  receiver = await createReceiver()
})
afterAll(async () => {
  await receiver.close()
  await fixture.close()
})

interface Told {
  readonly type: string
  readonly data: Readonly<Record<string, string>>
}

it('tells of a payment when it is accepted, and when it is final', async () => {
  const ledger = join(fixture.directory, 'told.sqlite')
  const { world, log } = fixture
  const routes = createPaystileRoutes({
    network: 'localnet',
    rpc: world.localnet.rpcUrl,
    ledger,
    watch: false,
    log,
    webhooks: [{ url: `${receiver.url}/hook`, secret }],
  })
  fixture.defer(() => routes.close())
  const shop = await fixture.open({ ledger, endpoint: '/data' })
  const told = () =>
    receiver.received.map(({ body, headers }) => {
      return new Verifier(secret).verify(body, headers as Record<string, string>) as Told
    })
  const bought = async () => {
    const proof = await shop.buy(fixture.payer)
    expect((await shop.claim(proof)).status).toBe(200)
    return txOf(proof)
  }
  // Whoever listens hears of what comes from then on, so it is bought again until somebody does.
  await expect
    .poll(
      async () => {
        if (told().length === 0) await bought()
        return told().map(({ type }) => type)
      },
      { timeout: 10_000, interval: 500 },
    )
    .toContain('payment.confirmed')
  const [first] = told()
  expect(Object.keys(first?.data ?? {})).toEqual([...paymentColumns])
  expect(first?.data).toMatchObject({ endpoint: '/data', token: 'USDC', amount: '0.01', verification: 'confirmed' })
  expect(JSON.stringify(told())).not.toContain(fixture.payer.address)
  await expect
    .poll(() => told().map(({ type }) => type), { timeout: 20_000, interval: 200 })
    .toContain('payment.finalized')
  expect(first?.data).toMatchObject({ worth: '0.01', revenueToken: 'USDC' })
  const db = new DatabaseSync(ledger)
  db.exec("UPDATE meta SET value = 'SOL' WHERE key = 'reportToken'")
  db.close()
  const later = await bought()
  const rebuilt = () => told().find(({ data }) => data['tx'] === later)?.data['revenueToken']
  await expect.poll(rebuilt, { timeout: 10_000, interval: 100 }).toBe('SOL')
})

it('does not start with webhooks that cannot be', () => {
  const url = 'http://169.254.169.254/hook'
  const read = () => readRoutesConfig({ network: 'localnet', webhooks: [{ url, secret: 'whsec_short' }] }, {})
  expect(read).toThrow(ConfigurationError)
  expect(read).toThrow(/webhooks\.0\.secret: must be whsec_/)
  expect(read).not.toThrow(/whsec_short/)
})

it('comes to the service from the gateway’s file, with its secret from the environment', () => {
  const file = (webhook: string) =>
    `network: localnet
token: USDC
recipient: ${fixture.world.recipient.address}
upstream: http://127.0.0.1:3000
webhooks:
  - ${webhook}
routes:
  - { path: /data, price: 0.01 }
`
  const env = { HOOK_SECRET: secret, WEAK: 'whsec_weak' }
  const read = (webhook: string) => readPlan(readYaml(file(webhook), 'paystile.yaml', env).value, env)
  const url = 'https://shop.example.com/hook'
  expect(read(`{ url: '${url}', secret: '\${HOOK_SECRET}', events: [payment.finalized] }`)).toMatchObject({
    kind: 'plan',
    plan: { service: { webhooks: [{ url, secret, events: ['payment.finalized'] }] } },
  })
  const weak = read(`{ url: '${url}', secret: '\${WEAK}' }`)
  expect(JSON.stringify(weak)).toMatch(/webhooks.*must be whsec_ and 24 to 64 bytes/)
  expect(JSON.stringify(weak)).not.toContain('whsec_weak')
  expect(JSON.stringify(read(`{ url: '${url}', secret: '\${HOOK_SECRET}', events: [payment.lost] }`))).toContain(
    'events',
  )
})
