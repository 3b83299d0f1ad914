import { expect, it } from 'vitest'
import type { Incoming } from '../../core/http/http.ts'
import type { OpenedRequest } from '../../core/protocol/request-id.ts'
import { createTags } from '../../core/protocol/tags.ts'
import type { Bind } from '../config/binding.ts'
import type { RouteConfig } from '../config/config.ts'
import type { RoutePricing } from './pricing.ts'
import { createTerms } from './terms.ts'

const incoming = {
  method: 'GET',
  target: '/data?q=1',
  path: '/data',
  query: 'q=1',
  rawHeaders: () => [],
  header: (name: string) => (name === 'x-tier' ? 'low' : undefined),
} as unknown as Incoming

it.each<[Bind, Bind | 'scope', boolean, boolean]>([
  ['request', 'request', true, true],
  ['request', 'path', true, true],
  ['request', 'scope', true, true],
  [{ headers: ['x-tier'] }, { headers: ['x-tier'] }, true, false],
  [{ headers: ['x-tier'] }, 'scope', true, true],
  ['request', 'request', false, false],
])('at a route bound to %j, a quote for %j with a fixed price (%j) is bound by its address: %j', async (...row) => {
  const [bind, quoted, isFixed, isByAddress] = row
  const tags = createTags(new Uint8Array(32))
  const config = { scope: 's', bind, retiredScopes: [], retiredBinds: [], retiredRecipients: [], splits: [] }
  const pricing = { fixedDeal: isFixed ? {} : undefined } as unknown as RoutePricing
  const terms = createTerms({ tags }, config as unknown as RouteConfig, pricing)
  const request = { bindingTag: terms.tag(quoted, incoming) } as OpenedRequest
  expect(await terms.check(incoming, request)).toEqual({ kind: 'bound', isByAddress })
})
