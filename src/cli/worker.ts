/** `paystile worker`: shares out, pays, converts and sends back for the servers of a service, with the keys that they need not have. */
import { basename, dirname } from 'node:path'
import { formatUnits } from '../core/money.ts'
import { readPlanFile } from '../gateway/file.ts'
import { openConverting } from '../server/converting.ts'
import { openRoutes } from '../service/assemble.ts'
import { groundOf, openPayouts } from '../service/assemble-rewards.ts'
import { readRoutesConfig } from '../service/options.ts'
import { type PayoutPreview, preview } from '../workers/payout-plan.ts'
import { untilStopped } from './chains.ts'
import { whyHidden } from './ledger.ts'
import { type ExitCode, exitCodes, short, type Terminal, table, usage } from './output.ts'
import { findFile, readSecrets } from './serve.ts'
import { withService } from './service.ts'

interface WorkerOptions {
  readonly dryRun?: boolean
}

export async function worker(terminal: Terminal, file: string | undefined, options: WorkerOptions): Promise<ExitCode> {
  const path = findFile(file)
  readSecrets(terminal, dirname(path))
  const plan = await readPlanFile(path, process.env)
  const config = readRoutesConfig(plan.service, process.env)
  if (options.dryRun) return dryRun(terminal, path)
  const why = whyHidden(config.service)
  if (why !== undefined) throw usage(`${why}.`)
  const priced = plan.routes.flatMap(({ provider }) => provider ?? [])
  const stopped = untilStopped()
  const converting = openConverting(priced, process.env)
  const { wallets } = converting
  if (!config.rewards && config.refundKey === undefined && config.webhooks.length === 0 && wallets.length === 0)
    throw usage(
      `${basename(path)} has nothing for a worker to do: it names neither rewards, nor refundKey, nor settlementKey.`,
    )
  const routes = openRoutes(plan.service)
  // What works beside requests keeps no process alive by itself.
  const alive = setInterval(() => {}, 60_000)
  try {
    const { rewards } = config
    const facts = { shares: rewards !== undefined, pays: rewards?.key !== undefined, converts: wallets }
    terminal.result({ file: path, ...facts }, [
      `Working for ${basename(path)}. Ctrl-C stops it.`,
      ...(rewards
        ? [
            rewards.key === undefined
              ? 'Payments are shared out; without a key nobody is paid by this process.'
              : 'Payments are shared out, and what is owed is paid.',
          ]
        : []),
      ...(config.refundKey === undefined ? [] : ['Refunds are sent.']),
      ...wallets.map((wallet) => `What ${wallet} gets in other tokens is converted.`),
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

function dryRun(terminal: Terminal, path: string): Promise<ExitCode> {
  return withService(terminal, { config: path }, async (service, config) => {
    const ground = groundOf(service, config)
    const { rewards } = config
    if (!ground || !rewards) throw usage(`${basename(path)} names no rewards.`)
    const payouts = await openPayouts(service, ground, { rewards, mints: config.mints })
    if (!payouts) throw usage('Name the key that pays in rewards.key or PAYSTILE_PAYOUT_KEY.')
    const found = await preview(payouts, false)
    const amount = (units: bigint) => formatUnits(units, payouts.native.decimals)
    return terminal.result(
      {
        ok: true,
        why: found.why ?? null,
        lines: found.lines.map(({ role, payee, gross, units, opening }) => ({
          ...{ role, payee, owed: amount(gross), sent: amount(units), opening: amount(opening) },
        })),
        others: found.others,
      },
      linesOf(found, amount),
    )
  })
}

function linesOf({ lines, others, why }: PayoutPreview, amount: (units: bigint) => string): readonly string[] {
  if (why !== undefined) return [`Nobody would be paid now: ${why}.`]
  const total = lines.reduce((sum, { units }) => sum + units, 0n)
  const rows = lines.map(({ role, payee, gross, units }) => [role, short(payee), amount(gross), amount(units)])
  return [
    lines.length === 0
      ? 'Nobody is due to be paid now.'
      : `${lines.length} would be paid ${amount(total)} NATIVE. Nothing was sent.`,
    ...(rows.length === 0 ? [] : ['', ...table([['role', 'payee', 'owed', 'would get'], ...rows])]),
    ...(others.length === 0
      ? []
      : ['', ...others.map(({ role, payee, why: reason }) => `${role} ${short(payee)}: ${reason}`)]),
  ]
}
