/**
 * `paystile worker`: accrues, pays, converts and refunds for the servers of a service, with keys that the servers need
 * not have.
 */
import { basename, dirname } from 'node:path'
import { readRoutesConfig } from '../../api/options.ts'
import { openRoutes } from '../../compose/api.ts'
import { createPayoutContext, openPayouts } from '../../compose/payouts.ts'
import { openConversionWorker } from '../../compose/settlement-worker.ts'
import { attempt } from '../../core/errors/attempt.ts'
import { formatUnits } from '../../core/money/money.ts'
import { readPlanFile } from '../../gateway/config/file.ts'
import { viewKeyFile } from '../../host/keys/key-file.ts'
import type { AccountKey } from '../../paywall/config/kinds.ts'
import { type PayoutPreview, preview } from '../../workers/payouts/plan.ts'
import { untilStopped } from '../local-chain.ts'
import { counted, type ExitCode, exitCodes, short, type Terminal, table, usage } from '../output.ts'
import type { Flags } from '../run.ts'
import { watchOnly } from '../watch-only.ts'
import { whyHidden } from './ledger.ts'
import { findFile, readSecrets } from './serve.ts'
import { withService } from './service.ts'
import { findWaiting, waitingFacts, waitingLines } from './unpaid-payees.ts'

type WorkerOptions = Flags<never, 'dryRun'>

export async function worker(terminal: Terminal, file: string | undefined, options: WorkerOptions): Promise<ExitCode> {
  if (options.dryRun) return dryRun(terminal, file)
  const path = findFile(file)
  readSecrets(terminal, dirname(path))
  const plan = await readPlanFile(path, process.env)
  const config = readRoutesConfig(plan.service, process.env)
  const why = whyHidden(config.service)
  if (why !== undefined) throw usage(`${why}.`)
  const priced = plan.routes.flatMap(({ config }) => config ?? [])
  const stopped = untilStopped()
  const converting = openConversionWorker(priced)
  const { wallets } = converting
  if (!config.rewards && config.refundKey === undefined && config.webhooks.length === 0 && wallets.length === 0)
    throw usage(`${basename(path)} needs no worker: it configures neither rewards, refundKey nor settlementKey.`)
  const routes = openRoutes(plan.service)
  // Background tasks do not keep the process alive.
  const alive = setInterval(() => {}, 60_000)
  try {
    const { rewards } = config
    const facts = { shares: rewards !== undefined, pays: rewards?.key !== undefined, converts: wallets }
    terminal.result({ file: path, ...facts }, [
      `Worker for ${basename(path)} is running. Press Ctrl-C to stop.`,
      ...(rewards
        ? [
            rewards.key === undefined
              ? 'Rewards accrue. This process has no payout key, so it pays nothing.'
              : 'Rewards accrue and are paid.',
          ]
        : []),
      ...(config.refundKey === undefined ? [] : ['Refunds are sent.']),
      ...wallets.map((wallet) => `Other tokens of ${wallet} are converted.`),
    ])
    await stopped
    terminal.note('Stopping…')
    return exitCodes.ok
  } finally {
    clearInterval(alive)
    await converting.close()
    await routes.close()
  }
}

/** Needs no key, because it only reads. */
function dryRun(terminal: Terminal, file: string | undefined): Promise<ExitCode> {
  return withService(terminal, file === undefined ? {} : { config: file }, async (service, config) => {
    const context = createPayoutContext(service, config)
    const { rewards, mints } = config
    if (!rewards) throw usage(`${file === undefined ? 'This service' : basename(file)} configures no rewards.`)
    const wallet = readPayer(rewards.key)
    const key = watchOnly(wallet ?? rewards.rules.collectors[0] ?? '')
    const payouts = await openPayouts(service, context, { rewards: { ...rewards, key }, mints })
    if (!payouts) throw usage('The NATIVE token is not configured. Set its mint in mints.NATIVE.')
    await service.openRates(config.rates, mints).ready()
    const { native, limits, outgoingWallet } = payouts
    const [found, waiting, holdings] = await Promise.all([
      preview(payouts, false),
      findWaiting(payouts.rewards, { now: service.clock.now(), decimals: native.decimals, least: limits.least }),
      wallet === undefined ? undefined : outgoingWallet.holdings([native]),
    ])
    const amount = (units: bigint) => formatUnits(units, native.decimals)
    const payer = wallet === undefined ? undefined : { wallet, held: holdings?.units[0] }
    return terminal.result(
      {
        ok: true,
        why: found.why ?? null,
        wallet: wallet ?? null,
        lines: found.lines.map(({ role, payee, gross, units, opening }) => ({
          ...{ role, payee, owed: amount(gross), sent: amount(units), opening: amount(opening) },
        })),
        others: found.others,
        ...waitingFacts(waiting, amount),
      },
      [...createLines(found, amount, payer), ...waitingLines(waiting, amount)],
    )
  })
}

/** The address of the outgoing wallet, without its passphrase; undefined if it is unknown. */
export function readPayer(key: AccountKey | undefined): string | undefined {
  if (typeof key === 'object') return 'address' in key && typeof key.address === 'string' ? key.address : undefined
  if (key === undefined) return undefined
  return attempt(() => viewKeyFile(key).address)
}

interface Payer {
  readonly wallet: string
  readonly held: bigint | undefined
}

function createLines(
  { lines, others, why }: PayoutPreview,
  amount: (units: bigint) => string,
  payer: Payer | undefined,
): readonly string[] {
  if (why !== undefined) return [`No payout is possible now: ${why}.`]
  const total = lines.reduce((sum, { units }) => sum + units, 0n)
  const rows = lines.map(({ role, payee, gross, units }) => [role, short(payee), amount(gross), amount(units)])
  const isShort = payer?.held !== undefined && payer.held < total
  return [
    lines.length === 0
      ? 'No payee is due now.'
      : `${counted(lines.length, 'payee')} would be paid ${amount(total)} NATIVE. Nothing was sent.`,
    ...(payer
      ? []
      : ['This process has no payout key. Set rewards.key or PAYSTILE_PAYOUT_KEY for the paying process.']),
    ...(isShort ? [`${payer.wallet} has only ${amount(payer.held ?? 0n)} NATIVE. Send it more.`] : []),
    ...(rows.length === 0 ? [] : ['', ...table([['role', 'payee', 'owed', 'would receive'], ...rows])]),
    ...(others.length === 0
      ? []
      : ['', ...others.map(({ role, payee, why: reason }) => `${role} ${short(payee)}: ${reason}`)]),
  ]
}
