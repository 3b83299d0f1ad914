/** Whether rewards can be paid: who does it, and what that wallet holds. */
import { readFunds } from '../../chain/balances.ts'
import { formatUnits } from '../../core/money.ts'
import { solDecimals } from '../../core/network.ts'
import { viewKeyFile } from '../../host/key-file.ts'
import { readRoutesConfig } from '../../service/options.ts'
import { type Finding, ok, warn } from './finding.ts'
import type { Ground } from './nodes.ts'
import type { Subject } from './subject.ts'

const check = 'rewards'
/** Some hundred transactions. */
const enoughLamports = 1_000_000n

export async function checkPayouts({ plan, environment }: Subject, { rpc }: Ground): Promise<readonly Finding[]> {
  if (!plan?.service.rewards) return []
  const { rewards, mints } = readRoutesConfig(plan.service, environment)
  const native = mints.NATIVE
  if (!rewards || !native) return []
  const { key } = rewards
  if (key === undefined) {
    const next = 'set rewards.key or PAYSTILE_PAYOUT_KEY where npx paystile worker runs'
    return [warn(check, 'payments are shared out, and nobody is paid without a key', next)]
  }
  // Anything but a file is a program's own signer; a file that cannot be read was told of before.
  const wallet = typeof key === 'string' ? addressOf(key) : undefined
  if (wallet === undefined || !rpc) return []
  const funds = await readFunds(rpc, { wallet, recipient: wallet, mints: [native] })
  if (funds.kind === 'unavailable')
    return [warn(check, `what ${wallet} holds is not known (${funds.why})`, 'check rpc')]
  const units = funds.tokens[0]?.units ?? 0n
  const held = `${wallet} holds ${formatUnits(units, native.decimals)} NATIVE and ${formatUnits(funds.lamports, solDecimals)} SOL`
  if (units === 0n) return [warn(check, `${held}, so nobody can be paid`, `send NATIVE to ${wallet}`)]
  if (funds.lamports < enoughLamports) return [warn(check, `${held}: too little SOL for fees`, `send SOL to ${wallet}`)]
  return [ok(check, held)]
}

function addressOf(path: string): string | undefined {
  try {
    return viewKeyFile(path).address
  } catch {
    return undefined
  }
}
