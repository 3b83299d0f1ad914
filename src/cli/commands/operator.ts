/** Commands for operators of a service. */
import { type Command, Option } from 'commander'
import { type Commands, networkOption, serviceNetwork } from '../run.ts'

export function addOperatorCommands({ program, command, run }: Commands): void {
  const onLedger = (name: string, description: string, parent: Command) =>
    command(name, description, parent)
      .option('--ledger <url>', 'ledger of the service (default: the one in paystile.yaml, else PAYSTILE_LEDGER)')
      .addOption(networkOption(serviceNetwork))

  const webhooks = program.command('webhooks').description('list, repeat and test webhook messages').exitOverride()
  onLedger('list', 'list messages, newest first', webhooks)
    .addOption(
      new Option('--state <state>', 'only messages in this state; told means delivered').choices([
        'waiting',
        'told',
        'failed',
      ]),
    )
    .option('--most <number>', 'highest number of messages (default: 50)')
    .action(run(async () => (await import('../operator/webhooks.ts')).listEvents))
  onLedger('resend', 'send a message again', webhooks)
    .argument('<id>', 'id of the message, as webhooks list prints it')
    .action(run(async () => (await import('../operator/webhooks.ts')).resendEvent))
  command('test', 'send a test message, signed with PAYSTILE_WEBHOOK_SECRET', webhooks)
    .option('--url <url>', 'address of the receiver (default: PAYSTILE_WEBHOOK_URL)')
    .option('--allow-private', 'allow a receiver in a private network')
    .addOption(networkOption(serviceNetwork))
    .action(run(async () => (await import('../operator/webhooks.ts')).testWebhook))

  const onService = (name: string, description: string, parent?: Command) =>
    command(name, description, parent)
      .option('--config <file>', 'configuration of the gateway (default: paystile.yaml in this directory)')
      .option('--ledger <url>', 'ledger of the service, instead of the one in the file')
      .addOption(networkOption(serviceNetwork))

  const rewards = program.command('rewards').description('show, pause and audit rewards').exitOverride()
  onService('show', 'show owed and paid rewards by role, and the reasons of waiting payees', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).showRewards),
  )
  onService('pause', 'stop payouts, conversions and refunds on all servers', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).pauseRewards),
  )
  onService('resume', 'resume payouts, conversions and refunds', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).resumeRewards),
  )
  onService('audit', 'recompute all rewards from the chain and report differences', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).auditAll),
  )
  onService('adopt', 'take over transactions that a restored ledger does not know', rewards)
    .option('--dry-run', 'list the transactions without a change')
    .action(run(async () => (await import('../operator/adopt.ts')).adopt))

  onService('refund', 'refund a payment that was never redeemed, or its surplus')
    .argument('<tx>', 'transaction signature of the payment')
    .option(
      '--key <file>',
      'key file of the wallet that pays the refund (default: refundKey in the file, else PAYSTILE_REFUND_KEY)',
    )
    .action(run(async () => (await import('../operator/refund.ts')).refund))

  const books = program.command('books').description('check or recompute the totals in the reports').exitOverride()
  onLedger('audit', 'recount all payments and report differences to the totals', books).action(
    run(async () => (await import('../operator/books.ts')).auditBooks),
  )
  onLedger('rebuild', 'recompute the totals from the payments', books)
    .option('--token <code>', 'token of the reports from now on: USDC, SOL or NATIVE (default: unchanged)')
    .action(run(async () => (await import('../operator/books.ts')).rebuildBooks))
}
