/** `paystile webhooks`: lists deliveries, repeats them, and sends a test message to a receiver. */
import { randomBytes } from 'node:crypto'
import { readWebhooks } from '../../api/public/webhooks.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { parseUrl } from '../../core/encoding/url.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { LedgerEvent } from '../../core/ports/outbox.ts'
import { formatReceiver, formatWebhook, nameWebhook, type Webhook } from '../../core/ports/webhooks.ts'
import { createWallClock } from '../../host/clock.ts'
import { createWebhookPoster } from '../../host/net/signed-webhooks.ts'
import { readSubject, type Subject } from '../doctor/subject.ts'
import { chooseNetwork } from '../network.ts'
import { readWhole } from '../numbers.ts'
import { CommandError, type ExitCode, exitCodes, short, type Terminal, table, usage } from '../output.ts'
import type { Flags, NetworkFlags } from '../run.ts'
import { type LedgerOptions, withLedger } from './ledger.ts'

interface ListOptions extends LedgerOptions, Flags<'most'> {
  readonly state?: LedgerEvent['state']
}

export async function listEvents(terminal: Terminal, options: ListOptions): Promise<ExitCode> {
  const most = readWhole('--most', options.most, 1, 10_000) ?? 50
  const { state } = options
  const notices = await withLedger(options, (ledger) =>
    ledger.events.list({ most, ...(state !== undefined && { state }) }),
  )
  const receivers = await readReceivers()
  const listed = notices.map(({ tx, at, ...rest }) => ({
    ...rest,
    receiver: receivers.get(rest.target) ?? rest.target,
    tx: rest.kind.startsWith('payment.') ? encodeBase58(tx) : new TextDecoder().decode(tx),
    at: new Date(at).toISOString(),
  }))
  const rows = listed.map(({ at, state: now, kind, receiver, attempts, id, tx, why }) => {
    return [at, now, kind, receiver, String(attempts), id, short(tx), why]
  })
  return terminal.result(
    { ok: true, notices: listed },
    rows.length === 0
      ? ['No messages.']
      : table([['at', 'state', 'event', 'receiver', 'attempts', 'id', 'tx', 'why'], ...rows]),
  )
}

/** The addresses of the configured receivers by name, without secret parts. */
async function readReceivers(): Promise<ReadonlyMap<string, string>> {
  const { plan, environment } = await readSubject(undefined, process.env)
  const addresses = [...(plan?.webhooks ?? []).map(({ url }) => url), environment['PAYSTILE_WEBHOOK_URL']]
  return new Map(
    addresses.flatMap((url) => (url && parseUrl(url) ? [[nameWebhook(url), formatReceiver(url)] as const] : [])),
  )
}

export async function resendEvent(terminal: Terminal, id: string, options: LedgerOptions): Promise<ExitCode> {
  const found = await withLedger(options, (ledger) => ledger.events.resend(id))
  if (!found) throw usage(`No message has the id ${id}. List all with: npx paystile webhooks list`)
  return terminal.result({ ok: true, id }, [`${id} will be sent again within seconds.`])
}

type TestOptions = NetworkFlags & Flags<'url', 'allowPrivate'>

/** Needs no ledger: the receiver gets a test message with a valid signature. */
export async function testWebhook(terminal: Terminal, options: TestOptions): Promise<ExitCode> {
  const subject = await readSubject(undefined, process.env)
  const network = options.network ?? subject.routes[0]?.config.service.network ?? chooseNetwork(undefined)
  const webhook = findWebhook(options, network, subject)
  const poster = createWebhookPoster({ network })
  const id = `test_${randomBytes(12).toString('hex')}`
  const data = { note: 'A test message without a payment.' }
  const message = formatWebhook({ id, kind: 'webhook.test', at: createWallClock().now() }, data)
  const posted = await poster.post(webhook, message, new AbortController().signal).finally(poster.close)
  if (posted.kind === 'failed')
    throw new CommandError('unreachable', 'unreachable', `The message was not delivered: ${posted.why}.`)
  const { status } = posted
  const told = status >= 200 && status < 300
  const address = formatReceiver(webhook.url)
  terminal.result({ ok: told, id, status }, [
    told ? `${address} accepted the message (status ${status}).` : `${address} refused the message (status ${status}).`,
  ])
  return told ? exitCodes.ok : exitCodes.status
}

/** A receiver in `paystile.yaml` gets the message with the settings of the service. */
function findWebhook({ url, allowPrivate = false }: TestOptions, network: Network, subject: Subject): Webhook {
  const { plan, environment } = subject
  const address = url ?? plan?.webhooks[0]?.url ?? environment['PAYSTILE_WEBHOOK_URL']
  if (!address) throw usage('No receiver. Set --url or PAYSTILE_WEBHOOK_URL.')
  const named = plan?.webhooks.find((one) => one.url === address)
  const problems: string[] = []
  const [webhook] = readWebhooks([{ url: address, allowPrivate, ...named }], network, environment, problems)
  if (webhook && problems.length === 0) return webhook
  throw usage(`${problems.map(inFlags).join('; ')}.`)
}

function inFlags(problem: string): string {
  return problem
    .replace('webhooks.0.url:', '--url:')
    .replace('webhooks.0.secret:', 'PAYSTILE_WEBHOOK_SECRET:')
    .replace('set allowPrivate: true', 'add --allow-private')
}
