/** Connects the configured venue, which exchanges a wallet's tokens. */
import type { Wallet } from '../../chain/keys/keypair.ts'
import type { Rpc } from '../../chain/rpc/rpc.ts'
import type { Venue } from '../../core/payouts/venue.ts'
import type { Post } from '../../core/ports/sheets.ts'
import type { Clock, Get } from '../../core/runtime.ts'
import type { VenueConfig } from '../../paywall/config/conversion.ts'
import { createJupiterVenue } from '../../venues/jupiter.ts'
import { createRfqVenue } from '../../venues/rfq.ts'

export interface VenueGround {
  readonly rpc: Rpc
  readonly genesis: string
  readonly wallet: Wallet
  readonly get: Get
  readonly post: Post
  readonly clock: Clock
}

export function createVenue(config: VenueConfig, context: VenueGround): Venue {
  if (config.kind === 'rfq') return createRfqVenue({ ...context, url: config.url })
  return createJupiterVenue({ ...context, url: config.url, apiKey: config.apiKey })
}
