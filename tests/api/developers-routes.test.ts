/** The addresses of developers, as they stand in the table of a service. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as developersAnswers from '../../src/api/developers/answers.ts'
import { openDevelopers } from '../../src/compose/developers.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { formatDeveloperText } from '../../src/core/payouts/developers.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { openHouse } from './api-fixture.ts'
import { genesis, type Host, openHost, origin, setUpDevelopers } from './developer-fixture.ts'
import { createPerson } from './people.ts'

const developer = createPerson()
let shop: ShopFixture
let host: Host

beforeAll(async () => {
  shop = await createShopFixture()
  host = await openHost({ wallet: developer.address, service: origin })
  shop.defer(host.close)
})
afterAll(() => shop.close())

it('are there, in OpenAPI too, and answer as it says', async () => {
  const fixture = setUpDevelopers([host.name])
  const house = await openHouse(shop, {}, { developers: fixture.developers })
  const post = (path: string, body: object) =>
    house.visit(path, undefined, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const registered = await post('/developers', fixture.bodyFor('register', developer, host.name))
  expect(developersAnswers.developer.parse(await registered.json())).toMatchObject({
    host: host.name,
    wallet: developer.address,
  })
  const list = developersAnswers.developers.parse(await (await house.visit('/developers')).json())
  expect(list).toMatchObject({ service: origin, genesis, developers: [{ host: host.name }] })
  expect(list.hosts).toBeUndefined()
  expect(developersAnswers.developers.parse(await (await house.get('/developers')).json()).hosts).toEqual([host.name])
  expect((await house.visit('/developers', undefined, { method: 'DELETE' })).status).toBe(405)
  fixture.clock.pass(1)
  expect((await post('/developers/revoke', { host: host.name })).status).toBe(401)
  const revoked = await post('/developers/revoke', fixture.bodyFor('revoke', developer, host.name))
  expect(developersAnswers.developerRevoked.parse(await revoked.json())).toMatchObject({ revoked: true })
  const { paths } = (await (await house.get('/openapi.json')).json()) as { paths: Record<string, object> }
  expect(Object.keys(paths['/developers'] ?? {})).toEqual(['get', 'post'])
  expect(JSON.stringify(paths['/developers/revoke'])).toContain('signedMessage')
  await house.close()
  await fixture.close()
})

it('are joined to the ledger, the clock and the chain of a service', async () => {
  const house = await openHouse(shop)
  const opened = openDevelopers(house.service, {
    hosts: () => [host.name],
    publicUrl: origin,
    origins: [],
    trustProxy: 0,
  })
  if (!opened) throw new Error('the ledger keeps no rewards')
  const { clock, ledger } = house.service
  const message = {
    ...({ purpose: 'register', host: host.name, wallet: developer.address, origin } as const),
    ...{ genesis: shop.world.localnet.genesisHash, issuedAt: clock.now() },
  }
  const body = {
    ...{ host: host.name, wallet: developer.address, issuedAt: new Date(message.issuedAt).toISOString() },
    signature: encodeBase58(developer.sign(formatDeveloperText(message))),
  }
  const request = new Request(`${origin}/developers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await opened.developers.register(request, { isLoopback: false })
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ wallet: developer.address })])
  expect(await ledger.rewards?.verifications(host.name)).toEqual([
    expect.objectContaining({ wallet: developer.address, isRevoked: false }),
  ])
  const before = host.asked.length
  const checks = opened.startChecks()
  await checks.run()
  expect(host.asked.length).toBe(before + 1)
  await checks.stop()
  await opened.close()
  await house.close()
})

it('do not exist if no developer can be verified, and nothing else does', async () => {
  const house = await openHouse(shop)
  expect((await house.visit('/developers')).status).toBe(404)
  await house.close()
})
