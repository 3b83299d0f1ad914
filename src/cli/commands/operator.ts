/** Commands for operators of a service. */
import { type Command, Option } from 'commander'
import { type Commands, networkOption, serviceNetwork } from '../run.ts'

const loadRewards = () => import('../operator/rewards.ts')
const loadWebhooks = () => import('../operator/webhooks.ts')

export function addOperatorCommands({ command, group, run }: Commands): void {
  const onLedger = (name: string, description: string, parent: Command) =>
    command(name, description, parent)
      .option('--ledger <url>', 'ledger of the service (default: the one in paystile.yaml, else PAYSTILE_LEDGER)')
      .addOption(networkOption(serviceNetwork))

  const webhooks = group('webhooks', 'list, repeat and test webhook messages')
  onLedger('list', 'list messages, newest first', webhooks)
    .addOption(
      new Option('--state <state>', 'only messages in this state; told means delivered').choices([
        'waiting',
        'told',
        'failed',
      ]),
    )
    .option('--most <number>', 'highest number of messages (default: 50)')
    .action(run(loadWebhooks, 'listEvents'))
  onLedger('resend', 'send a message again', webhooks)
    .argument('<id>', 'id of the message, as webhooks list prints it')
    .action(run(loadWebhooks, 'resendEvent'))
  command('test', 'send a test message, signed with PAYSTILE_WEBHOOK_SECRET', webhooks)
    .option('--url <url>', 'address of the receiver (default: PAYSTILE_WEBHOOK_URL)')
    .option('--allow-private', 'allow a receiver in a private network')
    .addOption(networkOption(serviceNetwork))
    .action(run(loadWebhooks, 'testWebhook'))

  const onService = (name: string, description: string, parent?: Command) =>
    command(name, description, parent)
      .option('--config <file>', 'configuration of the gateway (default: paystile.yaml in this directory)')
      .option('--ledger <url>', 'ledger of the service, instead of the one in the file')
      .addOption(networkOption(serviceNetwork))

  const rewards = group('rewards', 'show, pause and audit rewards')
  onService('show', 'show owed and paid rewards by role, and the reasons of waiting payees', rewards).action(
    run(loadRewards, 'showRewards'),
  )
  onService('pause', 'stop payouts, conversions and refunds on all servers', rewards).action(
    run(loadRewards, 'pauseRewards'),
  )
  onService('resume', 'resume payouts, conversions and refunds', rewards).action(run(loadRewards, 'resumeRewards'))
  onService('audit', 'recompute all rewards from the chain and report differences', rewards).action(
    run(loadRewards, 'auditAll'),
  )
  onService('adopt', 'take over transactions that a restored ledger does not know', rewards)
    .option('--dry-run', 'list the transactions without a change')
    .action(run(() => import('../operator/adopt.ts'), 'adopt'))

  onService('refund', 'refund a payment that was never redeemed, or its surplus; with --delivered any payment')
    .argument('<tx>', 'transaction signature of the payment')
    .option(
      '--key <file>',
      'key file of the wallet that pays the refund (default: refundKey in the file, else PAYSTILE_REFUND_KEY)',
    )
    .option('--delivered', 'refund the whole payment although something was delivered; its shares stay, at your cost')
    .action(run(() => import('../operator/refund.ts'), 'refund'))

  const books = group('books', 'check or recompute the totals in the reports')
  onLedger('audit', 'recount all payments and report differences to the totals', books).action(
    run(() => import('../operator/books.ts'), 'auditBooks'),
  )
  onLedger('rebuild', 'recompute the totals from the payments', books)
    .option('--token <code>', 'token of the reports from now on: USDC, SOL or NATIVE (default: unchanged)')
    .action(run(() => import('../operator/books.ts'), 'rebuildBooks'))
}
