import { expect, it } from 'vitest'
import { readRoutesConfig } from '../../api/options.ts'
import { createPlan } from './plan.ts'

const recipient = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const secret = `1:${'s'.repeat(32)}`
const base = { network: 'devnet', secret, routes: [], sponsor: 'sponsor.json', facilitator: { payTo: [recipient] } }
const plan = (changes: object, environment: Record<string, string> = {}) =>
  createPlan({ ...base, ...changes } as Parameters<typeof createPlan>[0], environment)
const read = (changes: object, environment: Record<string, string> = {}) =>
  readRoutesConfig(plan(changes, environment).service, environment).facilitator

it('has the sponsor of the routes, with its limits', () => {
  const sponsor = { key: 'sponsor.json', limits: { perDay: 200_000_000n, failuresPerPayer: 3 } }
  expect(read({ sponsor: { key: 'sponsor.json', perDay: '0.2' } })).toMatchObject({ payTo: [recipient], sponsor })
  expect(read({ sponsor: { perDay: '0.2' } }, { PAYSTILE_SPONSOR_KEY: 'sponsor.json' })).toMatchObject({ sponsor })
})

it('is off by default, and then a gateway needs a route', () => {
  const route = { path: '/x', price: 1, upstream: 'http://a', recipient, token: 'USDC' }
  expect(read({ facilitator: undefined, routes: [route] })).toBeUndefined()
  expect(() => plan({ facilitator: undefined })).toThrow('routes: must have a route')
  expect(plan({}).hasApi).toBe(true)
  expect(plan({ routes: [{ path: '/x', free: true, upstream: 'http://a' }] }).hasApi).toBe(true)
})

it.each([
  ['no list', { facilitator: {} }, 'facilitator.payTo'],
  ['an empty list', { facilitator: { payTo: [] } }, 'facilitator.payTo: must name a wallet'],
  ['a text', { facilitator: { payTo: recipient } }, 'facilitator.payTo: must be a list of wallet addresses'],
  ['another address', { facilitator: { payTo: ['0x00'] } }, 'is not a Solana address'],
  ['nothing but true', { facilitator: true }, 'facilitator: must be { payTo: [addresses] }'],
  ['no sponsor', { sponsor: undefined }, 'facilitator: needs a wallet that pays the network fees'],
  ['a sponsor without a key', { sponsor: true }, 'sponsor.key: devnet needs the key'],
])('does not start with %s', (_name, changes, problem) => {
  expect(() => plan(changes)).toThrow(problem)
})

it('hides no route', () => {
  const route = {
    path: '/facilitator/settle',
    methods: ['POST'],
    price: 1,
    upstream: 'http://a',
    recipient,
    token: 'USDC',
  }
  expect(() => plan({ routes: [route] })).toThrow('/facilitator')
})
