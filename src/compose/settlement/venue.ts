/** Connects the configured venue, which exchanges a wallet's tokens. */
import type { Venue } from '../../core/payouts/venue.ts'
import type { VenueConfig } from '../../paywall/config/conversion.ts'
import { createJupiterVenue, type JupiterParts } from '../../venues/jupiter.ts'
import { createRfqVenue, type RfqParts } from '../../venues/rfq.ts'

export function createVenue(config: VenueConfig, context: Omit<RfqParts, 'url'> & Pick<JupiterParts, 'get'>): Venue {
  if (config.kind === 'rfq') return createRfqVenue({ ...context, url: config.url })
  return createJupiterVenue({ ...context, url: config.url, apiKey: config.apiKey })
}
