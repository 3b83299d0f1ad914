/** The rules by which payments were shared out, and who was verified for a host when. The same in every store. */
import { describe, expect, it } from 'vitest'
import { useDesk } from './grants-fixture.ts'
import { rewardsOf } from './payables-fixture.ts'
import { stores } from './stores.ts'

describe.each(stores)('the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const rewards = () => rewardsOf(desk.ledger)

  it('keeps the text of rules under their name, once', async () => {
    await rewards().keepRules('a\0', '{"a":"\0\ud800"}')
    await rewards().keepRules('a\0', 'other')
    expect([await rewards().rules('a\0'), await rewards().rules('b')]).toEqual(['{"a":"\0\ud800"}', undefined])
  })

  it('stores the wallet that is verified for a host, and the end of the verification', async () => {
    const [host, other] = ['api.example', 'b.example']
    const first = { host, wallet: 'wallet-1', from: 100, until: 200 }
    const held = { ...first, isRevoked: false }
    await rewards().verify(first)
    await rewards().verify({ host: other, wallet: 'wallet-3', from: 50, until: 500 })
    expect(await rewards().verifications(host)).toEqual([held])
    await rewards().verify({ ...first, from: 150, until: 400, wallet: 'wallet-2' })
    const second = { host, wallet: 'wallet-2', from: 150, until: 400, isRevoked: false }
    expect(await rewards().verifications(host)).toEqual([{ ...held, until: 150 }, second])
    expect(await rewards().revoke(host, 160)).toBe(true)
    expect(await rewards().revoke(host, 160)).toBe(false)
    expect(await rewards().revoke('nobody', 160)).toBe(false)
    const ended = [
      { ...held, until: 150 },
      { ...second, until: 160, isRevoked: true },
    ]
    expect(await rewards().verifications(host)).toEqual(ended)
    await rewards().verify({ ...first, from: 300, until: 400 })
    expect(await rewards().verifications(host)).toEqual([...ended, { ...held, from: 300, until: 400 }])
    expect((await rewards().verifications()).map(({ from }) => from)).toEqual([50, 100, 150, 300])
  })

  it('accepts the times of a clock that follows another one, which counts parts of milliseconds', async () => {
    await rewards().verify({ host: 'a', wallet: 'w', from: 100.5, until: 200.5 })
    await rewards().verify({ host: 'a', wallet: 'x', from: 150.5, until: 300.5 })
    expect(await rewards().revoke('a', 160.5)).toBe(true)
    expect((await rewards().verifications('a')).map(({ from, until }) => [from, until])).toEqual([
      [100, 150],
      [150, 160],
    ])
  })

  it('drops verifications that would have begun after the new one', async () => {
    const given = { host: 'a', wallet: 'w', until: 900 }
    await rewards().verify({ ...given, from: 100 })
    await rewards().verify({ ...given, from: 300 })
    await rewards().verify({ ...given, from: 200, wallet: 'x' })
    const times = (await rewards().verifications('a')).map(({ wallet, from, until }) => [wallet, from, until])
    expect(times).toEqual([
      ['w', 100, 200],
      ['x', 200, 900],
    ])
    expect(await rewards().revoke('a', 150)).toBe(true)
    expect((await rewards().verifications('a')).map(({ until, isRevoked }) => [until, isRevoked])).toEqual([
      [150, true],
      [200, true],
    ])
  })
})
