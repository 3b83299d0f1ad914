/** Checks that rewards can be paid: the rate of NATIVE, the key, and the balance of the outgoing wallet. */
import type { RoutesConfig } from '../../api/options.ts'
import { readFunds } from '../../chain/accounts/balances.ts'
import type { Rpc } from '../../chain/rpc/rpc.ts'
import { shareRates } from '../../compose/rates.ts'
import { attempt } from '../../core/errors/attempt.ts'
import { formatUnits } from '../../core/money/money.ts'
import { type Mint, solDecimals } from '../../core/money/tokens.ts'
import type { Get } from '../../core/runtime.ts'
import { createWallClock } from '../../host/clock.ts'
import { viewKeyFile } from '../../host/keys/key-file.ts'
import type { AccountKey } from '../../paywall/config/kinds.ts'
import { type Finding, ok, warn } from './finding.ts'
import type { NetworkFacts } from './nodes.ts'
import { silent } from './rates.ts'
import type { Subject } from './subject.ts'

/** Enough for some hundred transactions. */
const enoughLamports = 1_000_000n

export async function checkPayouts(
  { own }: Pick<Subject, 'own'>,
  { rpc }: NetworkFacts,
  get: Get,
): Promise<readonly Finding[]> {
  const native = own?.mints.NATIVE
  if (!own?.rewards || !native) return []
  return [...(await checkRate(own, get)), ...(await checkWallet(own.rewards.key, native, rpc))]
}

/** Without a rate there are no accruals and no payouts. */
async function checkRate({ rates, mints }: RoutesConfig, get: Get): Promise<readonly Finding[]> {
  const shared = shareRates({ get, clock: createWallClock(), log: silent })
  try {
    const feed = shared.open(rates, mints)
    await feed.ready()
    if (feed.current().NATIVE !== undefined) return []
    const why = feed.why('NATIVE') ?? 'it is not configured'
    const next = 'set rates: { NATIVE: "…" } at the top of the file, in USDC, or a source that knows NATIVE'
    return [warn(`NATIVE has no rate (${why}), so rewards neither accrue nor are paid`, next)]
  } finally {
    await shared.stop()
  }
}

async function checkWallet(key: AccountKey | undefined, native: Mint, rpc: Rpc | undefined) {
  if (key === undefined) {
    const next = 'set rewards.key or PAYSTILE_PAYOUT_KEY where npx paystile worker runs'
    return [warn('rewards accrue, but no payout key is set', next)]
  }
  // A key that is not a file is a signer of the program. The secrets check reports an unreadable file.
  const wallet = typeof key === 'string' ? readAddress(key) : undefined
  if (wallet === undefined || !rpc) return []
  const funds = await readFunds(rpc, { wallet, recipient: wallet, mints: [native] })
  if (funds.kind === 'unavailable') return [warn(`the balance of ${wallet} cannot be read (${funds.why})`, 'check rpc')]
  const units = funds.tokens[0]?.units ?? 0n
  const held = `${wallet} holds ${formatUnits(units, native.decimals)} NATIVE and ${formatUnits(funds.lamports, solDecimals)} SOL`
  if (units === 0n) return [warn(`${held}, so payouts are not possible`, `send NATIVE to ${wallet}`)]
  if (funds.lamports < enoughLamports) return [warn(`${held}: too little SOL for fees`, `send SOL to ${wallet}`)]
  return [ok(held)]
}

/** The address of a key file; undefined if it cannot be read. */
export function readAddress(path: string): string | undefined {
  return attempt(() => viewKeyFile(path).address)
}
