import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '../../core/money/tokens.ts'
import { ledgerEventKinds } from '../../core/ports/outbox.ts'
import { formatProblem, parseOptions } from '../../paywall/config/problems.ts'
import { readWebhooks, webhooksOption } from './webhooks.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const url = 'https://example.com/hook'

function read(option: unknown, network: Network = 'mainnet', env: Readonly<Record<string, string>> = {}) {
  const reading = parseOptions(z.strictObject({ webhooks: webhooksOption.optional() }), { webhooks: option })
  if (reading.kind === 'problems') return { webhooks: [], problems: reading.problems.map(formatProblem) }
  const problems: string[] = []
  const webhooks = readWebhooks(reading.options.webhooks, network, env, problems)
  return { webhooks, problems }
}

it('receives all events by default, and must not be in a private network', () => {
  const { webhooks, problems } = read([{ url, secret }])
  expect(problems).toEqual([])
  expect(webhooks).toMatchObject([{ url, secrets: [secret], events: ledgerEventKinds, allowPrivate: false }])
})

it('is signed with each of several secrets while one is being replaced', () => {
  const { webhooks } = read([{ url, secret: `${secret}  ${secret.replace('M', 'N')}` }])
  expect(webhooks[0]?.secrets).toEqual([secret, secret.replace('M', 'N')])
})

it('comes from the environment, or only its secret does', () => {
  const env = { PAYSTILE_WEBHOOK_URL: url, PAYSTILE_WEBHOOK_SECRET: secret }
  expect(read(undefined, 'mainnet', env).webhooks).toMatchObject([{ url, secrets: [secret] }])
  expect(read([{ url: `${url}2` }], 'mainnet', env).webhooks).toMatchObject([{ url: `${url}2`, secrets: [secret] }])
  expect(read(undefined)).toEqual({ webhooks: [], problems: [] })
})

it.each(['example.com/hook', 'ftp://example.com', '/hook'])('refuses %s as PAYSTILE_WEBHOOK_URL', (text) => {
  const { problems } = read(undefined, 'mainnet', { PAYSTILE_WEBHOOK_URL: text, PAYSTILE_WEBHOOK_SECRET: secret })
  expect(problems).toEqual(['webhooks.0.url: must be an address such as https://example.com/hook'])
})

it.each<[string, unknown, Network, RegExp]>([
  ['no list', { url, secret }, 'mainnet', /^webhooks: must be a list/],
  ['no address', [{ secret }], 'mainnet', /^webhooks\.0\.url: is missing/],
  ['another scheme', [{ url: 'file:///etc/passwd', secret }], 'localnet', /url: must be an address/],
  ['plain http', [{ url: 'http://example.com', secret }], 'mainnet', /url: must be https/],
  ['a password', [{ url: 'https://me:pw@example.com', secret }], 'mainnet', /url: must not contain a password/],
  ['this machine', [{ url: 'http://127.0.0.1:9000', secret }], 'mainnet', /url: is on this machine/],
  ['no secret', [{ url }], 'mainnet', /secret: is missing; create one/],
  ['a weak secret', [{ url, secret: 'whsec_c2hvcnQ=' }], 'mainnet', /secret: must be whsec_/],
  ['an unknown event', [{ url, secret, events: ['payment.lost'] }], 'mainnet', /events\.0: must be one of payment\./],
  ['no events', [{ url, secret, events: [] }], 'mainnet', /events: must be a list/],
  ['a misspelt option', [{ url, secret, event: [] }], 'mainnet', /event: is not an option; did you mean events\?/],
  ['an address twice', [url, url].map((one) => ({ url: one, secret })), 'mainnet', /an address appears twice/],
])('refuses %s', (_name, option, network, why) => {
  const { problems } = read(option, network)
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(why)
  expect(problems.join()).not.toMatch(/MfKQ9|c2hvcnQ|me:pw/)
})

it.each<[unknown, Network]>([
  [[{ url: 'http://127.0.0.1:9000', secret }], 'localnet'],
  [[{ url: 'http://localhost:9000', secret, allowPrivate: true }], 'mainnet'],
  [[{ url: 'http://example.com', secret }], 'devnet'],
])('takes %j on %s', (option, network) => {
  expect(read(option, network).problems).toEqual([])
})
