import { expect, it } from 'vitest'
import { readRoutesConfig } from '../../api/options.ts'
import { createPlan } from './plan.ts'

const recipient = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const secret = `1:${'s'.repeat(32)}`
const config = { recipient, secret, token: 'USDC', upstream: 'http://a', routes: [{ path: '/x', price: 1 }] } as const

it('is an option, or comes out of the environment', () => {
  const devnet = { ...config, network: 'devnet' } as const
  const keyOf = (more: object, environment: Record<string, string>) =>
    readRoutesConfig(createPlan({ ...devnet, ...more }, environment).service, environment).faucetKey
  expect(keyOf({}, {})).toBeUndefined()
  expect(keyOf({ faucetKey: 'a.json' }, { PAYSTILE_FAUCET_KEY: 'b.json' })).toBe('a.json')
  expect(keyOf({}, { PAYSTILE_FAUCET_KEY: 'b.json' })).toBe('b.json')
})

it('T163: is refused on mainnet, which is also the default network', () => {
  const mainnet = { ...config, rpc: 'http://a' }
  const problem = 'mainnet has no faucet; remove the option'
  expect(() => createPlan({ ...mainnet, network: 'mainnet', faucetKey: 'a.json' }, {})).toThrow(`faucetKey: ${problem}`)
  expect(() => createPlan({ ...mainnet, faucetKey: 'a.json' }, {})).toThrow(problem)
  expect(() => createPlan(mainnet, { PAYSTILE_FAUCET_KEY: 'a.json' })).toThrow(problem)
  expect(() => createPlan({ ...mainnet, faucetKey: 'a.json' }, { PAYSTILE_NETWORK: 'devnet' })).not.toThrow()
})
