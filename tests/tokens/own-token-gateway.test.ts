/** A gateway sells for a token of the provider's own, from its file to the exports. */

import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import { checkPayment } from '../../src/compose/check-payment.ts'
import { localnetMints, type Mint } from '../../src/core/money/tokens.ts'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { readPlanFile } from '../../src/gateway/config/file.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import { createShopFixture, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

let shop: ShopFixture
let upstream: string
const EURC = localnetMints['EURC'] as Mint
const secret = `1:${'s'.repeat(43)}`

beforeAll(async () => {
  shop = await createShopFixture()
  const server = createServer((_request, response) => response.end('the secret'))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  shop.defer(() => server.close())
  upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => shop.close())

it('a YAML file sells for EURC, and analytics, CSV and verification name the token and its amount', async () => {
  const { world, payer, directory } = shop
  const { localnet } = world
  const ledger = `sqlite:${join(directory, 'gateway.sqlite')}`
  const file = join(directory, 'paystile.yaml')
  writeFileSync(
    file,
    `network: localnet
rpc: ${localnet.rpcUrl}
ledger: ${ledger}
secret: ${secret}
recipient: ${world.recipient.address}
upstream: ${upstream}
listen: { port: 0 }
token: EURC
tokens:
  EURC:
    mint: ${EURC.address}
    decimals: 6
rates: { EURC: "1.25" }
routes:
  - path: /report
    price: 0.12
`,
  )
  const gateway = openGateway(await readPlanFile(file, {}))
  shop.defer(() => gateway.close())
  const url = await gateway.listen()
  expect(await gateway.readiness()).toMatchObject({ ready: true, offered: ['EURC'], withheld: {} })

  // The localnet's faucet gives the token.
  const headers = { 'content-type': 'application/json' }
  const order = {
    method: 'POST',
    headers,
    body: JSON.stringify({ address: payer.address, token: 'EURC', amount: '5' }),
  }
  expect((await fetch(`${localnet.rpcUrl}/faucet`, order)).status).toBe(200)

  const client = { wallet: payer, rpc: localnet.rpcUrl, journal: createMemoryJournal(), maxPrice: { EURC: 1 } }
  const response = await fetchWith402(`${url}/report`, { ...client, mints: { EURC } })
  const receipt = parseReceipt(response.headers.get('payment-receipt') ?? '')
  expect(receipt).toMatchObject({ token: 'EURC', amount: '0.12' })
  await expectServed(response)

  const json = async (path: string) => (await fetch(`${url}${path}`)).json()
  await expect.poll(async () => (await json('/api/analytics')).payments).toBe(1)
  expect((await json('/analytics')).records).toMatchObject([{ token: 'EURC', amount: '0.12', worth: '0.15' }])
  expect(await json('/.well-known/paystile')).toMatchObject({ tokens: { EURC } })
  const [head, row] = (await (await fetch(`${url}/api/analytics/export?format=csv`)).text()).split('\r\n')
  const columns = head?.replace(/^﻿/, '').split(',') ?? []
  const cells = row?.split(',') ?? []
  expect(Object.fromEntries(columns.map((name, index) => [name, cells[index]]))).toMatchObject({
    token: 'EURC',
    amount: '0.12',
  })

  const { reference: tx = '', requestId = '' } = receipt ?? {}
  const asked = {
    network: 'localnet',
    rpc: localnet.rpcUrl,
    recipient: world.recipient.address,
    amount: '0.12',
  } as const
  const told = { ...asked, mint: 'EURC', ledger, secret }
  expect(await checkPayment(tx, requestId, { ...told, mints: { EURC } })).toMatchObject({
    token: 'EURC',
    received: '0.12',
  })
  // The ledger's mint counts, whatever the caller believes.
  const wrong = { EURC: { ...EURC, address: world.native.address } }
  expect(await checkPayment(tx, requestId, { ...told, mints: wrong })).toMatchObject({
    token: 'EURC',
    received: '0.12',
  })
})
