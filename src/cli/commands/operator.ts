/** Commands for operators of a service. */
import { type Command, Option } from 'commander'
import { type Commands, networkOption } from '../run.ts'

export function addOperatorCommands({ program, command, run }: Commands): void {
  const onLedger = (name: string, description: string, parent: Command) =>
    command(name, description, parent)
      .option('--ledger <url>', 'the ledger of the service (default: PAYSTILE_LEDGER)')
      .addOption(networkOption())

  const webhooks = program.command('webhooks').description('what others are told of payments').exitOverride()
  onLedger('list', 'list messages, the latest first', webhooks)
    .addOption(new Option('--state <state>', 'only these').choices(['waiting', 'told', 'failed']))
    .option('--most <number>', 'how many (default: 50)')
    .action(run(async () => (await import('../operator/webhooks.ts')).listEvents))
  onLedger('resend', 'send a message again', webhooks)
    .argument('<id>', 'its id, as list shows it')
    .action(run(async () => (await import('../operator/webhooks.ts')).resendEvent))
  command('test', 'send a message to try a receiver with, signed with PAYSTILE_WEBHOOK_SECRET', webhooks)
    .option('--url <url>', 'its address (default: PAYSTILE_WEBHOOK_URL)')
    .option('--allow-private', 'let it be in a private network')
    .addOption(networkOption())
    .action(run(async () => (await import('../operator/webhooks.ts')).testWebhook))

  const onService = (name: string, description: string, parent?: Command) =>
    command(name, description, parent)
      .option('--config <file>', 'the configuration of the gateway (default: that of this directory)')
      .option('--ledger <url>', 'the ledger of the service, instead of the one in the file')
      .addOption(networkOption())

  const rewards = program.command('rewards').description('what is owed of payments, and paid').exitOverride()
  onService('show', 'what is owed and paid, by role', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).showRewards),
  )
  onService('pause', 'stop payouts, conversions and refunds on all servers', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).pauseRewards),
  )
  onService('resume', 'let payouts go on', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).resumeRewards),
  )
  onService('audit', 'reckon everything anew from the chain and the journal, and compare', rewards).action(
    run(async () => (await import('../operator/rewards.ts')).auditAll),
  )

  onService('refund', 'send a payment back that bought nothing, or what of it was too much; once')
    .argument('<tx>', 'the transaction of the payment')
    .option('--key <file>', 'the key of the wallet that pays (default: refundKey of the file, or PAYSTILE_REFUND_KEY)')
    .action(run(async () => (await import('../operator/refund.ts')).refund))

  const books = program.command('books').description('the sums that the reports show').exitOverride()
  onLedger('audit', 'count all payments again and compare', books).action(
    run(async () => (await import('../operator/books.ts')).auditBooks),
  )
  onLedger('rebuild', 'reckon the sums anew from the payments', books)
    .option('--token <code>', 'the token of the reports from now on')
    .action(run(async () => (await import('../operator/books.ts')).rebuildBooks))
}
