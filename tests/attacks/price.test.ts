/** Prices as providers write them: charged exactly as written, or refused before anything is sold. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/node.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { type AttackedShop, type AttackFixture, createAttackFixture } from '../harness/attacker-program.ts'

let fixture: AttackFixture

beforeAll(async () => {
  fixture = await createAttackFixture()
})
afterAll(() => fixture.close())

let shops = 0
const open = (options: Partial<ProviderOptions>): Promise<AttackedShop> => {
  shops += 1
  return fixture.open({ ...options, scope: `price-${shops}` })
}

/** What a provider would see: the exception of the line that puts the paywall up. */
function start(options: Readonly<Record<string, unknown>>): void {
  const { recipient, localnet } = fixture.world
  const base = { token: 'USDC', recipient: recipient.address, network: 'localnet', rpc: localnet.rpcUrl }
  const paid = create402Middleware({ ...base, ...options } as unknown as ProviderOptions)
  void paid.close()
}

describe('a price that cannot be charged is refused at the start', () => {
  const spellings = [
    '1e-7',
    '0x10',
    '1,5',
    '-1',
    'NaN',
    'Infinity',
    '',
    ' 12 ',
    '１',
    '1_0',
    '00.1',
    '+1',
    '.5',
    '1.',
    '1e3',
  ]
  it.each(spellings)('T47: the text "%s"', (price) => {
    expect(() => start({ price })).toThrow(/price/)
  })

  it.each([
    ['T49: finer than the mint goes', 1e-7],
    ['T49: finer than the mint goes, as text', '0.0000001'],
    ['T49: a fraction of a base unit beside whole ones', 0.0100001],
    ['T49: zero', 0],
    ['T49: zero, as text', '0.000000'],
    ['T49: minus zero', -0],
    ['T49: negative', -0.01],
    ['T49: not a number', Number.NaN],
    ['T49: infinite', Number.POSITIVE_INFINITY],
    ['T49: undefined', undefined],
    ['T49: null', null],
    ['T49: true', true],
    ['T49: a list', [0.01]],
    ['T49: an object that looks like a number', { valueOf: () => 0.01 }],
    ['T49: a bigint', 1n],
    ['T50: more than 64 bits hold', '18446744073709.551616'],
    ['T50: twenty digits', '12345678901234567890'],
    ['T50: a number beyond 2^53', 2 ** 80],
    ['T50: a number in exponents', 1e21],
  ])('%s', (_name, price) => {
    expect(() => start({ price })).toThrow(/price/)
  })

  it('T47: a rate that is no plain decimal', () => {
    for (const rate of ['0', '-1', '1e3', 'NaN', '', '1,5']) {
      expect(() => start({ price: 0.01, acceptedMints: ['USDC', 'SOL'], rates: { SOL: rate } })).toThrow(/rates.SOL/)
    }
  })
})

describe('a price that can be charged is charged as it was written', () => {
  it.each([
    ['T48: a number with an exponent', 1e-7, 'SOL', '0.0000001'],
    ['T48: a float that arithmetic would spoil', 0.07, 'USDC', '0.07'],
    ['T48: another one', 1.005, 'USDC', '1.005'],
    ['T48: one base unit', 0.000001, 'USDC', '0.000001'],
    ['T48: text with zeros behind', '0.0100', 'USDC', '0.01'],
    ['T48: one lamport', 1e-9, 'SOL', '0.000000001'],
    ['T50: beyond 2^53 base units, as text', '9007199254.740993', 'USDC', '9007199254.740993'],
    ['T50: all that 64 bits hold', '18446744073709.551615', 'USDC', '18446744073709.551615'],
  ] as const)('%s', async (_name, price, token, amount) => {
    const shop = await open({ price, token })
    const challenge = await shop.challenge()
    expect(challenge).toMatchObject({ amount, currency: token, amounts: { [token]: amount } })
    expect(challenge.instructions).toContain(`Pay ${amount} ${token}`)
    expect(challenge.payUrl).toContain(`amount=${amount}&`)
  })

  it('T48: 0.1 + 0.2 is finer than USDC goes, and said to be so', () => {
    expect(() => start({ price: 0.1 + 0.2 })).toThrow(/has more decimals than USDC/)
  })

  it.each([
    ['T48: 0.07 USDC', 0.07, 'USDC'],
    ['T48: one lamport', 1e-9, 'SOL'],
  ] as const)('%s can be paid as it is asked for', async (_name, price, token) => {
    const shop = await open({ price, token })
    await shop.sellsHonestly(await shop.challenge())
  })

  it('T50: a payment beyond 2^53 base units is judged to the last unit', async () => {
    const { world, honest } = fixture
    const price = 9_007_199_254_740_993n
    const shop = await open({ price: '9007199254.740993', finalizedFrom: '10000000000' })
    await world.localnet.fund(honest.address, { USDC: price + 1n })
    const short = await fixture.commit(shop, honest, [
      await world.transfer(honest, world.recipient.address, 'USDC', price - 1n),
    ])
    const { body } = await shop.refuses('underpaid', short)
    expect(body).toMatchObject({ required: '9007199254.740993', received: '9007199254.740992' })
    await world.localnet.fund(honest.address, { USDC: price })
    await shop.sellsHonestly(await shop.challenge())
  })
})
