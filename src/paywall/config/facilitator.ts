/** The facilitator: the service settles payments of x402 clients for other servers. */
import { z } from 'zod'
import { address } from './kinds.ts'
import { readSponsor, type SponsorConfig, type sponsorOption } from './sponsor.ts'

export interface FacilitatorConfig {
  /** The wallets whose payments it settles. */
  readonly payTo: readonly string[]
  readonly sponsor: SponsorConfig
}

export const facilitatorOption = z.strictObject(
  {
    payTo: z
      .array(address, { error: 'must be a list of wallet addresses' })
      .min(1, 'must name a wallet, because the sponsor pays for payments to these wallets only')
      .readonly(),
  },
  { error: 'must be { payTo: [addresses] }' },
)

/** Reads the option. Problems are added to the list. */
export function readFacilitator(
  option: z.output<typeof facilitatorOption> | undefined,
  sponsor: z.output<typeof sponsorOption> | undefined,
  network: string,
  problems: string[],
): FacilitatorConfig | undefined {
  if (!option) return undefined
  const read = readSponsor(sponsor, network, problems)
  if (!read) problems.push('facilitator: needs a wallet that pays the network fees (option sponsor)')
  return read && { payTo: [...new Set(option.payTo)], sponsor: read }
}
