import { formatRoles } from '../../api/rewards/view.ts'
import { readMints } from '../../api/router.ts'
import { createPayoutContext } from '../../compose/payouts.ts'
import { formatUnits } from '../../core/money/money.ts'
import { findMint } from '../../core/money/tokens.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { auditRewards } from '../../workers/payouts/audit.ts'
import { createPauseSwitch, type PauseSwitch } from '../../workers/payouts/pause.ts'
import { counted, type ExitCode, exitCodes, type Terminal, table, usage } from '../output.ts'
import { type ServiceOptions, withService } from './service.ts'
import { findWaiting, waitingFacts, waitingLines } from './unpaid-payees.ts'

export function showRewards(terminal: Terminal, options: ServiceOptions): Promise<ExitCode> {
  return withService(terminal, options, async (service, config) => {
    const { rewards } = createPayoutContext(service, config)
    const now = service.clock.now()
    const decimals = findMint('NATIVE', readMints(service, config.mints))?.decimals ?? 0
    const amount = (units: bigint) => formatUnits(units, decimals)
    const [sums, ripening, isPaused, waiting] = await Promise.all([
      rewards.sums(),
      rewards.countAccruable(),
      openSwitch(service).isPaused(),
      findWaiting(rewards, { now, decimals, least: config.rewards?.least }),
    ])
    const roles = formatRoles(sums, amount)
    const rows = roles.map(({ payees, ...sum }) => [
      sum.role,
      ...[String(payees), sum.accrued, sum.due, sum.underWay, sum.paid],
    ])
    const facts = { ok: true, token: 'NATIVE', paused: isPaused, ripening, roles, ...waitingFacts(waiting, amount) }
    return terminal.result(facts, [
      ...table([['role', 'payees', 'accrued', 'due', 'under way', 'paid'], ...rows]),
      '',
      `All in NATIVE. ${ripening} final ${ripening === 1 ? 'payment is' : 'payments are'} waiting for accrual.`,
      ...(isPaused
        ? ['Payouts, conversions and refunds are paused. Resume them with: npx paystile rewards resume']
        : []),
      ...waitingLines(waiting, amount),
    ])
  })
}

export function pauseRewards(terminal: Terminal, options: ServiceOptions): Promise<ExitCode> {
  return withService(terminal, options, async (service) => {
    const isNew = await openSwitch(service).pause()
    return terminal.result({ ok: true, paused: true }, [
      isNew
        ? 'Payouts, conversions and refunds are paused on all servers. Transactions that were already sent may still land.'
        : 'Payouts, conversions and refunds were already paused.',
      'Resume them with: npx paystile rewards resume',
    ])
  })
}

export function resumeRewards(terminal: Terminal, options: ServiceOptions): Promise<ExitCode> {
  return withService(terminal, options, async (service) => {
    const isNew = await openSwitch(service).resume()
    return terminal.result({ ok: true, paused: false }, [
      isNew ? 'Payouts, conversions and refunds are resumed.' : 'Nothing was paused.',
    ])
  })
}

export function auditAll(terminal: Terminal, options: ServiceOptions): Promise<ExitCode> {
  return withService(terminal, options, async (service, config) => {
    const context = createPayoutContext(service, config)
    const mints = readMints(service, config.mints)
    const native = findMint('NATIVE', mints)
    if (!native) throw usage('The NATIVE token is not configured. Set its mint in mints.NATIVE.')
    const audit = await auditRewards({
      ...context,
      chain: service.chain,
      native,
      reportToken: service.config.reportToken,
      assetOf: (token) => (token === 'SOL' ? 'SOL' : findMint(token, mints)?.address),
    })
    const { accruals, payouts, refunded, problems, unknown } = audit
    terminal.result({ ok: problems.length === 0, ...audit }, [
      `${counted(accruals, 'payment')} ${accruals === 1 ? 'was' : 'were'} accrued, and ${counted(payouts, 'payout')} landed.`,
      problems.length === 0 ? 'All rewards match the chain and the journal.' : 'Differences:',
      ...problems,
      ...(refunded.length === 0
        ? []
        : ['These payments were refunded after their delivery. Their shares stay, at your cost:', ...refunded]),
      ...(unknown.length === 0
        ? []
        : ['No node returns these payments any more, so they were not compared with the chain:', ...unknown]),
    ])
    return problems.length === 0 ? exitCodes.ok : exitCodes.failure
  })
}

function openSwitch({ ledger, clock }: Runtime): PauseSwitch {
  return createPauseSwitch(ledger.kv, clock)
}
