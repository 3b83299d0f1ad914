/** Checks that the wallets of a facilitator (`facilitator.payTo`) can receive the tokens that it settles. */
import { createInspector } from '../../chain/accounts/recipient.ts'
import type { Network } from '../../core/money/tokens.ts'
import { listTokens, pickMints } from '../../core/money/tokens.ts'
import { judgeToken } from '../../core/payment/token-rules.ts'
import type { FacilitatorConfig } from '../../paywall/config/facilitator.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { NetworkFacts } from './nodes.ts'
import { readAddress } from './payouts.ts'
import type { Subject } from './subject.ts'

export async function checkFacilitator(
  { own }: Pick<Subject, 'own'>,
  network: Network,
  { rpc, genesis }: NetworkFacts,
): Promise<readonly Finding[]> {
  if (!own?.facilitator) return []
  const { payTo } = own.facilitator
  const sponsor = findSponsor(own.facilitator)
  if (sponsor !== undefined) return [fail(`${sponsor} is the wallet of sponsor.key`, 'give sponsor a key of its own')]
  if (!rpc || genesis === undefined) return []
  const inspect = createInspector(rpc, genesis)
  // x402 has no SOL.
  const mints = pickMints(
    listTokens(own.mints).filter((code) => code !== 'SOL'),
    own.mints,
  )
  const findings = await Promise.all(
    payTo.map(async (recipient): Promise<Finding> => {
      const inspection = await inspect({ recipient, mints })
      if (inspection.kind === 'unknown')
        return warn(`the chain could not be read: ${inspection.why}`, 'run npx paystile doctor again')
      const judged = Object.entries(mints).map(([code, mint]) => {
        const terms = { code, mint, recipient, units: undefined, allowed: [] }
        return { code, verdict: judgeToken(terms, inspection) }
      })
      if (inspection.wallet.kind === 'unspendable')
        return fail(`${recipient} is ${inspection.wallet.what}, not a wallet`, 'correct facilitator.payTo')
      const ready = judged.flatMap(({ code, verdict }) => (verdict.kind === 'good' ? [code] : []))
      if (ready.length > 0) return ok(`${recipient} can receive ${ready.join(', ')}`)
      if (network === 'localnet') return ok(`the service opens the token accounts of ${recipient}`)
      const finding = `${recipient} has no token account yet, so payments to it cannot be settled`
      return warn(finding, 'ask its owner to open one, for example with spl-token create-account')
    }),
  )
  return findings
}

/** The wallet of the sponsor, if it is in the list. The service refuses it. */
function findSponsor({ payTo, sponsor: { key } }: FacilitatorConfig): string | undefined {
  const wallet = typeof key === 'string' ? readAddress(key) : undefined
  return wallet !== undefined && payTo.includes(wallet) ? wallet : undefined
}
