/** `paystile pay`: `curl` for resources that cost something. The resource goes to stdout, everything said to stderr. */
import { Readable } from 'node:stream'
import { fetchWith402 } from '../client/index.ts'
import type { ClientEvent } from '../client/options.ts'
import { defaultMaxPrice, isLoopback } from '../client/policy.ts'
import { readJson } from '../client/read-json.ts'
import { type Challenge, readChallenge } from '../core/challenge.ts'
import { findLocalnets } from '../host/home.ts'
import { ask, unknownPayment } from './ask.ts'
import { readWhole } from './numbers.ts'
import { CommandError, type ExitCode, exitCodes, paint, short, type Terminal } from './output.ts'
import { type BuyerOptions, openPurse, readLimits, readRequest, readUrl } from './purse.ts'
import { checkWritable, writeResource } from './resource.ts'

interface PayOptions extends BuyerOptions {
  readonly include?: boolean
  readonly output?: string
  readonly max: readonly string[]
  readonly sig?: boolean
  readonly dryRun?: boolean
  readonly wallet?: string
  readonly json?: boolean
}

/** What is told about the payment in the end. */
interface Paid {
  tx?: string
  requestId?: string
  amount?: string
  token?: string
  recipient?: string
  network?: string
}

export async function pay(terminal: Terminal, address: string, options: PayOptions): Promise<ExitCode> {
  const url = readUrl(address)
  const limits = readLimits(options, options.max)
  const request = readRequest(options)
  const timeoutMs = (readWhole('--timeout', options.timeout, 1, 3600) ?? 120) * 1000
  if (options.output !== undefined) checkWritable(options.output)
  const named = options.wallet ?? process.env['PAYSTILE_WALLET']
  // Where a demo runs, the chain decides whose wallet pays. What has no price is answered by the question already.
  const asked = !named && mayBeDemo(url) ? await ask(url, request, timeoutMs / 2) : undefined
  if (asked && !asked.challenge) return tell(terminal, asked.response, {}, options)
  await asked?.response.body?.cancel()
  const purse = await openPurse(named, asked?.challenge?.genesis)
  const paid: Paid = {}
  const response = await fetchWith402(url, request, {
    ...limits,
    wallet: purse.wallet,
    timeoutMs,
    ...(options.sig && { proof: 'sig' }),
    ...(options.dryRun && { dryRun: true }),
    onEvent: (event) => {
      remember(paid, event)
      const limit = event.kind === 'paying' ? (limits.maxPrice ?? defaultMaxPrice)[event.token] : ''
      const line = describe(event, purse.name, String(limit))
      if (line !== undefined && !options.json) terminal.note(line)
    },
  })
  return tell(terminal, response, paid, options)
}

/** Whether an address of this machine could be a service of a demo. */
function mayBeDemo({ hostname }: URL): boolean {
  return isLoopback(hostname) && findLocalnets().some(({ walletFile }) => walletFile !== undefined)
}

async function tell(terminal: Terminal, response: Response, paid: Paid, options: PayOptions): Promise<ExitCode> {
  const { status, statusText } = response
  const challenge = options.dryRun && status === 402 ? readChallenge(await readJson(response, 10_000)) : undefined
  if (challenge) return tellDryRun(terminal, response, challenge)
  const unpaid = status === 402 ? `${unknownPayment}; nothing was paid` : 'nothing had to be paid'
  if (!paid.tx && !options.json) terminal.note(paint.dim(`${status} ${statusText}: ${unpaid}`))
  try {
    await (options.json ? tellJson(terminal, response, paid) : writeOut(terminal, response, options))
  } catch (error) {
    throw error instanceof TypeError && error.message === 'terminated' ? brokenOff(paid) : error
  }
  return status < 400 ? exitCodes.ok : exitCodes.status
}

function brokenOff({ tx }: Paid): CommandError {
  return tx === undefined
    ? new CommandError(exitCodes.unreachable, 'unreachable', 'The answer broke off; run the same command again.')
    : new CommandError(
        exitCodes.undelivered,
        'paid_not_delivered',
        'The answer broke off; run the same command again, and the same payment is used.',
      )
}

function remember(paid: Paid, event: ClientEvent): void {
  if (event.kind === 'paying') {
    const { requestId, amount, token, recipient, network } = event
    Object.assign(paid, { requestId, amount, token, recipient, network })
  }
  if (event.kind === 'sent' || event.kind === 'resumed') paid.tx = event.tx
  if (event.kind === 'resumed') paid.requestId = event.requestId
}

function describe(event: ClientEvent, purse: string, limit: string): string | undefined {
  switch (event.kind) {
    case 'paying': {
      const what = event.description === undefined ? '' : ` for "${event.description}"`
      return (
        `${paint.yellow('402')}  ${new URL(event.url).host} asks ${paint.bold(`${event.amount} ${event.token}`)}${what}\n` +
        `pay  ${event.amount} ${event.token} from ${purse} to ${event.recipient} on ${event.network} (limit ${limit} ${event.token} a request)`
      )
    }
    case 'sent':
      return `sent ${event.tx}`
    case 'confirmed':
      return paint.green('paid')
    case 'resumed':
      return `using payment ${short(event.tx)}, which was made before and not used yet`
    case 'retrying':
      return `not received yet (${event.reason}); showing the same payment again in ${(event.afterMs / 1000).toFixed(1)} s`
    case 'delivered':
      return `${(event.status < 400 ? paint.green : paint.red)(String(event.status))}  requestId ${event.requestId}`
  }
}

async function tellDryRun(terminal: Terminal, response: Response, challenge: Challenge): Promise<ExitCode> {
  await response.body?.cancel()
  return terminal.result({ ok: true, dryRun: true, challenge }, [
    `It would cost ${challenge.amount} ${challenge.currency}, and your limits allow it. Nothing was paid.`,
  ])
}

async function tellJson(terminal: Terminal, response: Response, paid: Paid): Promise<void> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes)
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  terminal.write(
    `${JSON.stringify({
      ok: response.status < 400,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      payment: paid.tx === undefined ? null : paid,
      ...(isText ? { body: isJson ? parse(text) : text } : { bodyBase64: bytes.toString('base64') }),
    })}\n`,
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function writeOut(terminal: Terminal, response: Response, options: PayOptions): Promise<void> {
  if (options.include) {
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    terminal.write([`HTTP ${response.status} ${response.statusText}`, ...headers, '', ''].join('\n'))
  }
  const body = response.body ? Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]) : []
  if (options.output !== undefined) return writeResource(terminal, body as AsyncIterable<Uint8Array>, options.output)
  for await (const chunk of body) terminal.write(chunk as Uint8Array)
  if (process.stdout.isTTY) terminal.write('\n')
}
