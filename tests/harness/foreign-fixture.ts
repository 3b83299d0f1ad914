/** Offers, requests and a fee payer for the tests of other protocols. */
import type { Incoming } from '../../src/core/http/http.ts'
import { knownMints } from '../../src/core/money/tokens.ts'
import { oneRequest } from '../../src/core/payment/allowance.ts'
import type { ChallengeParts, Offer } from '../../src/core/protocol/challenge.ts'
import type { FeePayer } from '../../src/dialects/foreign.ts'

export const offer: Offer = {
  recipient: 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR',
  currency: 'USDC',
  price: 10_000n,
  acceptedMints: ['USDC'],
  amounts: { USDC: 10_000n },
  mints: knownMints.localnet,
  network: 'localnet',
  allowance: oneRequest,
}

export const bundle = { unit: 'request', amount: 10n } as const

export const parts: ChallengeParts = {
  requestId: 'AQAAac3dAHgBAgMEBQYHCAkKCwwBkE4BI0VniavN7wABAgMEBQYHCAkKCwwNDg8',
  resource: '"http://a.example/"',
  expiresAt: '2099-01-31T00:00:00Z',
  proof: 'bare',
}

/** A fee payer that a test can change. */
export function createSponsor(address = '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4') {
  const sponsor: FeePayer & { offering: boolean; blockhash: string | undefined } = {
    address,
    offering: true,
    blockhash: undefined,
    recent: () => (sponsor.blockhash === undefined ? undefined : { blockhash: sponsor.blockhash }),
    isOffering: () => sponsor.offering,
  }
  return sponsor
}

/** A request with these headers, whose names are in lower case. */
export function incomingWith(headers: Readonly<Record<string, string>>): Incoming {
  return {
    request: {},
    method: 'GET',
    target: '/',
    header: (name) => headers[name],
    rawHeaders: () => Object.entries(headers).flat(),
    origin: () => 'http://a.example',
    peer: () => undefined,
    body: () => Promise.resolve({ kind: 'gone' }),
  }
}
