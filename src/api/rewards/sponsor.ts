/** `GET /api/sponsor`: the wallets that pay network fees for x402 and MPP clients, formatted for people. */
import { formatUnits } from '../../core/money/money.ts'
import { solDecimals } from '../../core/money/tokens.ts'
import type { SponsorState, Submissions } from '../../core/ports/sponsor.ts'
import type { Clock } from '../../core/runtime.ts'

export interface SponsorParts {
  readonly listSponsors: () => readonly SponsorState[]
  readonly ledger: { readonly submissions: Pick<Submissions, 'sums'> }
  readonly clock: Clock
}

const dayMs = 24 * 3_600_000

export async function readSponsor({ listSponsors, ledger, clock }: SponsorParts) {
  const sponsors = listSponsors()
  const { spent, lost, open } = await ledger.submissions.sums(clock.now() - dayMs)
  return {
    isOn: sponsors.length > 0,
    spent: formatSol(spent),
    lost: formatSol(lost),
    underWay: formatSol(open),
    sponsors: sponsors.map(({ address, balance, floor, limits, isOffering }) => ({
      wallet: address,
      balance: balance === undefined ? null : formatSol(balance),
      floor: formatSol(floor),
      perDay: formatSol(limits.perDay),
      lostPerDay: formatSol(limits.lostPerDay),
      isOffering,
    })),
  }
}

function formatSol(lamports: bigint): string {
  return formatUnits(lamports, solDecimals)
}
