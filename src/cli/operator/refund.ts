/**
 * `paystile refund`: returns a payment that was never redeemed, the surplus of a payment, or with `--delivered` any
 * payment. Repeated runs send it once.
 */
import type { RoutesConfig } from '../../api/options.ts'
import { readMints } from '../../api/router.ts'
import { createPayoutContext, openRefunds } from '../../compose/payouts.ts'
import { decodeSignature } from '../../core/encoding/base58.ts'
import { formatUnits } from '../../core/money/money.ts'
import { findMint, solDecimals, type TokenCode } from '../../core/money/tokens.ts'
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import { parseRefund } from '../../core/payouts/refunds.ts'
import { readKeyFile } from '../../host/keys/key-file.ts'
import type { AccountKey } from '../../paywall/config/kinds.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { advanceRefund, planRefund, type RefundParts } from '../../workers/payouts/refunds.ts'
import { CommandError, type ExitCode, type Terminal, usage } from '../output.ts'
import { readPassphrase } from '../passphrase.ts'
import type { Flags } from '../run.ts'
import { type ServiceOptions, withService } from './service.ts'

type RefundOptions = ServiceOptions & Flags<'key', 'delivered'>

const pauseMs = 1_000
/** Longer than a transaction can remain valid. */
const patienceMs = 180_000

export function refund(terminal: Terminal, tx: string, options: RefundOptions): Promise<ExitCode> {
  const payment = decodeSignature(tx)
  if (!payment) throw usage(`${tx} is not a transaction signature. Copy it from the list of problems.`)
  return withService(terminal, options, async (service, config) => {
    const parts = await open(service, config, await unlocked(options.key ?? config.refundKey))
    const planning = await planRefund(parts, payment, { evenDelivered: options.delivered === true })
    if (planning.kind === 'unknown')
      throw new CommandError('refused', 'unknown_payment', 'This service has not seen that payment.')
    if (planning.kind === 'refused')
      throw new CommandError('refused', 'refund_refused', `The payment cannot be refunded: ${planning.why}.`)
    const ended = await follow(terminal, parts, planning.transaction)
    return tell(terminal, service, config, ended)
  })
}

async function open(service: Runtime, config: RoutesConfig, key: AccountKey | undefined): Promise<RefundParts> {
  if (key === undefined)
    throw usage(
      'No key for refunds. Set --key, refundKey or PAYSTILE_REFUND_KEY. Create a key with npx paystile keys new.',
    )
  const context = createPayoutContext(service, config)
  return openRefunds(service, context, config.mints, key, false)
}

/** Asks for the passphrase of an encrypted file. */
async function unlocked(key: AccountKey | undefined): Promise<AccountKey | undefined> {
  return typeof key === 'string' ? readKeyFile(key, await readPassphrase(key)) : key
}

/** Waits until the transaction is final, dropped, or the time is up. */
async function follow(terminal: Terminal, parts: RefundParts, begun: OutgoingTransaction) {
  const end = parts.clock.monotonic() + patienceMs
  let transaction = begun
  let told = ''
  while (transaction.state === 'planned' || transaction.state === 'signed') {
    const step = await advanceRefund(parts, transaction)
    const why = 'why' in step ? step.why : ''
    if (why !== told && why !== '') terminal.note(`${why}…`)
    told = why
    transaction = (await parts.outgoing.get(transaction.id)) ?? transaction
    if (transaction.state === 'landed' || transaction.state === 'dropped' || parts.clock.monotonic() > end) break
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return transaction
}

function tell(terminal: Terminal, service: Runtime, { mints }: RoutesConfig, transaction: OutgoingTransaction) {
  const { id, state, signed, why } = transaction
  const { payment, token, units, reason } = parseRefund(transaction.about)
  const decimals = token === 'SOL' ? solDecimals : findMint(token as TokenCode, readMints(service, mints))?.decimals
  const amount = decimals === undefined ? units.toString() : formatUnits(units, decimals)
  if (state === 'dropped') throw new CommandError('refused', 'refund_failed', `The refund failed: ${why}.`)
  const facts = { ok: true, id, state, payment, reason, token, amount, tx: signed?.signature ?? null }
  return terminal.result(facts, [
    state === 'landed'
      ? `${amount} ${token} were refunded (${reason}).`
      : `${amount} ${token} are being refunded (${reason}). Run the same command again to complete the refund.`,
    ...(signed ? [`Transaction: ${signed.signature}`] : []),
  ])
}
