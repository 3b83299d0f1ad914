/** Checks that each recipient, and each wallet of splits, can receive the accepted tokens: its wallet, mints and accounts. */
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
    known.flatMap(({ config: { route } }) => {
      const wallets = [route.recipient, ...route.splits.map((split) => split.recipient)]
      return wallets.map(async (recipient) => {
        const inspection = await inspect({ recipient, mints: pickMints(route.acceptedMints, route.mints) })
        if (inspection.kind === 'unknown') return [named(warn(`the chain could not be read: ${inspection.why}`, again))]
        return route.acceptedMints.map((code): NamedFinding => {
          const finding = judge(route, code, recipient, network, inspection)
          const isEmpty = finding.level === 'fail' && code === 'SOL' && inspection.wallet.kind === 'wallet'
          return isEmpty ? [`empty ${recipient}`, finding] : named(finding)
        })
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
  recipient: string,
  network: Network,
  inspection: Extract<Inspection, { kind: 'seen' }>,
): Finding {
  const terms = readTerms(route, code, recipient)
  const { mint } = terms
  const verdict = judgeToken(terms, inspection)
  if (verdict.kind === 'good') {
    const [warning] = verdict.warnings
    if (warning !== undefined) return warn(warning, 'revoke it with the owner of the account, unless it is intended')
    return ok(`${recipient} can receive ${code}`)
  }
  if (verdict.kind === 'unopened') {
    const isOpenedByPayer = network !== 'mainnet' && recipient === route.recipient
    if (isOpenedByPayer) return ok(`${recipient} has no ${code} account yet; the first payer opens it`)
    if (route.accountKey !== undefined) return ok(`${recipient} has no ${code} account yet; accountKey opens it`)
    return refuse(route, recipient, verdict)
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
  const finding = refuse(route, recipient, verdict)
  // On a localnet the faucet can send it SOL.
  return network === 'localnet' && !mint && inspection.wallet.kind === 'wallet'
    ? { ...finding, next: `npx paystile faucet ${recipient} --token SOL` }
    : finding
}

function refuse({ splits }: RouteConfig, wallet: string, { option, why, remedy }: Objection): Finding {
  const place = splits.findIndex(({ recipient }) => recipient === wallet)
  const isSplit = option === 'recipient' && place >= 0
  const name = isSplit ? `splits.${place}.${option}` : option
  const owner = isSplit ? 'a' : 'your'
  const correct =
    option === 'recipient' ? `set ${name} to the address of ${owner} wallet` : `correct ${option} in the configuration`
  return fail(isSplit ? `splits.${place}.${why}` : why, remedy ?? correct)
}
