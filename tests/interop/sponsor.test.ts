/** The operator's side of sponsoring: notices of a sponsor that pays no more fees. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { SponsorNotice } from '../../src/core/ports/sponsor.ts'
import { eventually } from '../harness/shop.ts'
import type { AttackFixture } from './attack-fixture.ts'
import { createAttackFixture, holdCredential, isOfferingX402, present } from './attack-fixture.ts'

let fixture: AttackFixture
beforeAll(async () => {
  fixture = await createAttackFixture()
})
afterAll(() => fixture.close())

async function readNotices({ events }: Ledger): Promise<readonly SponsorNotice[]> {
  const list = await events.list({ most: 10 })
  return list
    .filter(({ kind }) => kind === 'sponsor.low')
    .map(({ tx }) => JSON.parse(new TextDecoder().decode(tx)) as SponsorNotice)
}

describe('sponsor.low', () => {
  it('reports a balance below the floor once, although two servers notice it', async () => {
    const business = fixture.business()
    const ledger = await business.connect()
    await ledger.events.start()
    const servers = [1, 2].map(() => business.open({ ledger, sponsor: { floor: '2' } }))
    const [one, other] = await Promise.all(servers)
    for (const shop of [one, other]) expect(isOfferingX402(await fetch(`${shop?.url}/data`))).toBe(false)
    await eventually(
      () => readNotices(ledger),
      (found) => found.length > 0,
    )
    const sponsor = business.sponsor.address
    expect(await readNotices(ledger)).toEqual([{ sponsor, reason: 'balance', balance: '1', limit: '2' }])
    expect(await one?.metrics()).toContain('paystile_sponsor_low 1')
  })

  it.each([
    ['day', { perDay: '0.00001' }, '0.00001'],
    ['lost', { lostPerDay: '0.00001' }, '0.00001'],
  ] as const)('reports the limit of the %s', async (reason, limits, limit) => {
    const business = fixture.business()
    const ledger = await business.connect()
    await ledger.events.start()
    const { url } = await business.open({ ledger, sponsor: limits })
    const credential = await holdCredential(`${url}/data`, await fixture.payer())
    expect((await present(`${url}/data`, credential)).status).toBe(503)
    await eventually(
      () => readNotices(ledger),
      (found) => found.length > 0,
    )
    const sponsor = business.sponsor.address
    expect(await readNotices(ledger)).toEqual([{ sponsor, reason, balance: '1', limit }])
    expect(await business.paid()).toBe(0n)
  })
})

describe('the key of the sponsor', () => {
  it('is refused at start if it is the key of another purpose', async () => {
    const business = fixture.business()
    await business.open()
    const key = business.sponsor as unknown as string
    await expect(business.open({ accountKey: key })).rejects.toThrow('sponsor.key: is the wallet of accountKey')
    const { address: recipient } = business.sponsor
    await expect(business.open({ recipient })).rejects.toThrow('sponsor.key: is the wallet of recipient')
    await fixture.world.localnet.fund(recipient, { USDC: 0n })
    const splits = [{ recipient, share: 10 }]
    await expect(business.open({ splits })).rejects.toThrow('sponsor.key: is the wallet of splits')
  })
})
