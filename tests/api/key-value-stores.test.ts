/** Sessions and links on the shelves of real stores. */
import { describe, expect, it } from 'vitest'
import { createExports } from '../../src/api/exports/routes.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { useDesk } from '../ledger/grants-fixture.ts'
import { stores } from '../ledger/stores.ts'
import { base, owner, setUp } from './people.ts'

describe.each(stores)('the shelf of the %s ledger', (_name, open) => {
  const fixture = useDesk(open)
  const shelfOf = () => {
    if (!fixture.ledger.kv) throw new Error('this ledger has no shelf')
    return fixture.ledger.kv
  }

  it('keeps sessions until they end, and takes a message once', async () => {
    const { asks, messageFor, post } = setUp({ kv: shelfOf(), clock: fixture.clock, sessionSeconds: 3_600 })
    const { message } = await messageFor(owner)
    const body = { address: owner.address, message, signature: encodeBase58(owner.sign(message)) }
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('/sign-in', body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
    const accepted = answers.find(({ status }) => status === 200) ?? Response.json({})
    const { token } = (await accepted.json()) as { token: string }
    const authorization = `Bearer ${token}`
    expect(await asks({ authorization })).toMatchObject({ wallet: owner.address })
    expect(await (await post('/sign-out', {}, { authorization })).json()).toEqual({ signedOut: true })
    expect(await asks({ authorization })).toBeUndefined()
  })

  it('keeps links until they end or are revoked', async () => {
    const { books } = fixture.ledger
    if (!books) throw new Error('this ledger keeps no books')
    const exports = createExports({
      books,
      kv: shelfOf(),
      clock: fixture.clock,
      log: { info: () => {}, warn: () => {}, error: () => {} },
      key: new Uint8Array(32),
      decimalsOf: () => 6,
      isOwner: () => true,
    })
    const ask = (path: string, method = 'GET') => new Request(`${base}/api/analytics/${path}`, { method })
    const { url, id } = (await (await exports.handle(ask('export?format=sheets&token=SOL'), '')).json()) as Record<
      string,
      string
    >
    expect((await exports.handle(new Request(url ?? ''), '')).status).toBe(200)
    expect(await (await exports.handleLinks(ask('links'))).json()).toMatchObject({
      links: [{ id, query: 'token=SOL' }],
    })
    expect((await exports.handleLinks(ask(`links/${id}`, 'DELETE'))).status).toBe(200)
    expect((await exports.handle(new Request(url ?? ''), '')).status).toBe(403)
  })
})
