import { expect, it } from 'vitest'
import type { CatalogEntry } from '../../paywall/runtime/catalog.ts'
import { offer } from './answers.ts'
import { formatOffer } from './discovery.ts'

const entry: CatalogEntry = {
  methods: ['GET'],
  path: '/report',
  price: '0.02',
  token: 'USDC',
  per: { unit: 'request', amount: 1 },
  reopen: { unit: 'second', amount: 600n },
  acceptedMints: ['USDC'],
  mints: {},
  recipient: 'recipient',
  description: undefined,
  scope: 'report',
  hasPage: true,
  isPaused: () => false,
}

it('an offer has the time for which a browser can open its purchase again, unless it has no page', () => {
  expect(offer.parse(formatOffer(entry)).reopenSeconds).toBe(600)
  expect(offer.parse(formatOffer({ ...entry, hasPage: false }))).not.toHaveProperty('reopenSeconds')
  expect(offer.parse(formatOffer({ ...entry, reopen: undefined }))).not.toHaveProperty('reopenSeconds')
})
