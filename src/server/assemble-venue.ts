/** Joins the venues: where a wallet's tokens are exchanged, by what a provider said. */
import type { Wallet } from '../chain/keypair.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Clock, Get } from '../core/ports.ts'
import type { Post } from '../core/sheets.ts'
import type { Venue } from '../core/venue.ts'
import { createJupiterVenue } from '../venues/jupiter.ts'
import { createRfqVenue } from '../venues/rfq.ts'
import type { VenueConfig } from './conversion-option.ts'

export interface VenueGround {
  readonly rpc: Rpc
  readonly genesis: string
  readonly wallet: Wallet
  readonly get: Get
  readonly post: Post
  readonly clock: Clock
}

export function createVenue(config: VenueConfig, ground: VenueGround): Venue {
  if (config.kind === 'rfq') return createRfqVenue({ ...ground, url: config.url })
  return createJupiterVenue({ ...ground, url: config.url, apiKey: config.apiKey })
}
