/** `paystile pay`: `curl` for resources that cost something. The resource goes to stdout, everything said to stderr. */
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fetchWith402 } from '../client/index.ts'
import type { ClientEvent } from '../client/options.ts'
import { defaultMaxPrice } from '../client/policy.ts'
import { readChallenge } from '../core/challenge.ts'
import { readWhole } from './numbers.ts'
import { type ExitCode, exitCodes, paint, short, type Terminal, usage } from './output.ts'
import { type BuyerOptions, openPurse, readLimits, readRequest, readUrl } from './purse.ts'

interface PayOptions extends BuyerOptions {
  readonly include?: boolean
  readonly output?: string
  readonly max: readonly string[]
  readonly sig?: boolean
  readonly dryRun?: boolean
  readonly timeout?: string
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
  const purse = await openPurse(options.wallet, url)
  const limits = readLimits(options, options.max)
  const seconds = readWhole('--timeout', options.timeout, 1, 3600)
  const paid: Paid = {}
  const response = await fetchWith402(url, readRequest(options), {
    ...limits,
    wallet: purse.wallet,
    ...(options.sig && { proof: 'sig' }),
    ...(options.dryRun && { dryRun: true }),
    ...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
    onEvent: (event) => {
      remember(paid, event)
      const limit = event.kind === 'paying' ? (limits.maxPrice?.[event.token] ?? defaultMaxPrice[event.token]) : ''
      const line = describe(event, purse.name, String(limit))
      if (line !== undefined && !options.json) terminal.note(line)
    },
  })
  if (options.dryRun && response.status === 402) return tellDryRun(terminal, response)
  if (options.json) return tellJson(terminal, response, paid)
  if (!paid.tx) terminal.note(paint.dim(`${response.status} ${response.statusText}: nothing had to be paid`))
  await writeOut(terminal, response, options)
  return exitCodes.ok
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
      return `the server says ${event.reason}; showing the same payment again in ${(event.afterMs / 1000).toFixed(1)} s`
    case 'delivered':
      return `${paint.green(String(event.status))}  requestId ${event.requestId}`
  }
}

async function tellDryRun(terminal: Terminal, response: Response): Promise<ExitCode> {
  const challenge = readChallenge(await response.json())
  return terminal.result({ ok: true, dryRun: true, challenge }, [
    `It would cost ${challenge?.amount} ${challenge?.currency}, and your limits allow it. Nothing was paid.`,
  ])
}

async function tellJson(terminal: Terminal, response: Response, paid: Paid): Promise<ExitCode> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes)
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  terminal.write(
    `${JSON.stringify({
      ok: true,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      payment: paid.tx === undefined ? null : paid,
      ...(isText ? { body: isJson ? parse(text) : text } : { bodyBase64: bytes.toString('base64') }),
    })}\n`,
  )
  return exitCodes.ok
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
  if (!response.body) return
  const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
  if (options.output === undefined) {
    for await (const chunk of body) terminal.write(chunk as Uint8Array)
    if (process.stdout.isTTY) terminal.write('\n')
    return
  }
  await pipeline(body, createWriteStream(options.output)).catch((error: unknown) => {
    throw usage(`The file ${options.output} cannot be written (${(error as NodeJS.ErrnoException).code}).`)
  })
  terminal.note(`written to ${options.output}`)
}
