/** Checks that each recipient can receive the accepted tokens: its wallet, the mints, and its token accounts. */
import { createInspector } from '../../chain/accounts/recipient.ts'
import { findMint, isSameMint, knownMints, type Network, pickMints, type TokenCode } from '../../core/money/tokens.ts'
import { type Inspection, judgeToken, type Objection } from '../../core/payment/token-rules.ts'
import type { RouteConfig } from '../../paywall/config/config.ts'
import { readTerms } from '../../paywall/quote/token-probe.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { NetworkFacts } from './nodes.ts'
import type { SubjectRoute } from './subject.ts'

export async function checkRecipients(
  routes: readonly SubjectRoute[],
  network: Network,
  { rpc, genesis }: NetworkFacts,
): Promise<readonly Finding[]> {
  if (!rpc || genesis === undefined) return []
  const known = routes.filter(({ hasRecipient }) => hasRecipient)
  const inspect = createInspector(rpc, genesis)
  const findings = await Promise.all(
    known.map(async ({ config: { route } }) => {
      const question = { recipient: route.recipient, mints: pickMints(route.acceptedMints, route.mints) }
      const inspection = await inspect(question)
      if (inspection.kind === 'unknown') return [named(warn(`the chain could not be read: ${inspection.why}`, again))]
      return route.acceptedMints.map((code): NamedFinding => {
        const finding = judge(route, code, network, inspection)
        const isEmpty = finding.level === 'fail' && code === 'SOL' && inspection.wallet.kind === 'wallet'
        return isEmpty ? [`empty ${route.recipient}`, finding] : named(finding)
      })
    }),
  )
  // A wallet below the rent minimum fails for all small prices, and one transfer repairs them all.
  return [...new Map(findings.flat()).values()]
}

const again = 'run npx paystile doctor again'

/** Equal names are one finding. */
type NamedFinding = readonly [name: string, finding: Finding]

const named = (finding: Finding): NamedFinding => [finding.finding, finding]

function judge(
  route: RouteConfig,
  code: TokenCode,
  network: Network,
  inspection: Extract<Inspection, { kind: 'seen' }>,
): Finding {
  const terms = readTerms(route, code)
  const { recipient, mint } = terms
  const verdict = judgeToken(terms, inspection)
  if (verdict.kind === 'good') {
    const [warning] = verdict.warnings
    if (warning !== undefined) return warn(warning, 'revoke it with the owner of the account, unless it is intended')
    return ok(`${recipient} can receive ${code}`)
  }
  if (verdict.kind === 'unopened') {
    if (network !== 'mainnet') return ok(`${recipient} has no ${code} account yet; the first payer opens it`)
    if (route.accountKey !== undefined) return ok(`${recipient} has no ${code} account yet; accountKey opens it`)
    return refuse(verdict)
  }
  const isMissingTestMint =
    network === 'devnet' &&
    mint !== undefined &&
    isSameMint(mint, findMint(code, knownMints.devnet)) &&
    inspection.tokens[code]?.mint.kind === 'absent'
  if (isMissingTestMint) {
    const finding = `devnet has no ${code} for the faucet: create your own test tokens`
    return fail(
      finding,
      'run npx paystile mints create faucet.json --network devnet, and add its output to the configuration',
    )
  }
  const finding = refuse(verdict)
  // On a localnet the faucet can send it SOL.
  return network === 'localnet' && !mint && inspection.wallet.kind === 'wallet'
    ? { ...finding, next: `npx paystile faucet ${recipient} --token SOL` }
    : finding
}

function refuse({ option, why, remedy }: Objection): Finding {
  const correct =
    option === 'recipient' ? 'set recipient to the address of your wallet' : `correct ${option} in the configuration`
  return fail(why, remedy ?? correct)
}
