/** `paystile pay`: `curl` for paid resources. The resource goes to stdout, all messages to stderr. */
import { endpoints } from '../../api/http/paths.ts'
import type { DownloadOptions } from '../../client/download/download.ts'
import { PaymentError } from '../../client/errors.ts'
import { downloadWith402, fetchWith402 } from '../../client/index.ts'
import type { ClientOptions } from '../../client/options.ts'
import { defaultMaxPrice, isLoopback, listCandidates, type PolicyOptions } from '../../client/policy.ts'
import { readForeignOffers } from '../../client/protocols/choose.ts'
import { readJson } from '../../client/read-json.ts'
import { formatUnits } from '../../core/money/money.ts'
import { type Challenge, readChallenge } from '../../core/protocol/challenge.ts'
import { findLocalnet, findLocalnets } from '../../host/home.ts'
import { readMegabytes, readWhole } from '../numbers.ts'
import { type ExitCode, exitCodes, formatJson, paint, removeTerminalCommands, type Terminal, usage } from '../output.ts'
import { type BuyerOptions, openPurse, readLimits, readRequest, readUrl } from '../payment-options.ts'
import type { Flags } from '../run.ts'
import { type Body, canHaveParts, checkWritable, writeResource } from './output-file.ts'
import { brokenOff, exhausted, unsaved } from './pay-errors.ts'
import { describe, type Paid, remember } from './pay-messages.ts'
import { showProgress } from './progress.ts'
import { ask, unknownPayment } from './unpaid-request.ts'

interface PayOptions
  extends BuyerOptions,
    Flags<'output' | 'wallet' | 'prepay', 'include' | 'sig' | 'dryRun' | 'json' | 'buyMore'> {
  readonly max: readonly string[]
}

export async function pay(terminal: Terminal, address: string, given: PayOptions): Promise<ExitCode> {
  const { output: file, ...rest } = given
  // As in curl, the file "-" is stdout.
  const options: PayOptions = file === '-' ? rest : given
  const url = readUrl(address)
  const limits = readLimits(options, options.max)
  const request = readRequest(options)
  const timeoutMs = (readWhole('--timeout', options.timeout, 1, 3600) ?? 120) * 1000
  const prepayBytes = readMegabytes('--prepay', options.prepay)
  const { output } = options
  if (output !== undefined) checkWritable(output)
  else if (options.buyMore) throw usage('--buy-more needs a file. Set it with -o.')
  const named = options.wallet ?? process.env['PAYSTILE_WALLET']
  // On a machine with a demo, the service's chain decides which wallet pays. If the service publishes its chain, `pay`
  // does not request a quote first: the service would count it as another customer. If the resource is free, the
  // response to the quote request is the result.
  const mayBeDemo = !named && isNearDemo(url)
  const genesis = mayBeDemo ? await readDemoChain(url) : undefined
  const asked = mayBeDemo && genesis === undefined ? await ask(url, request, timeoutMs / 2, limits) : undefined
  if (asked && !asked.challenge && asked.offers.length === 0) return tell(terminal, asked.response, {}, options)
  await asked?.response.body?.cancel()
  const purse = await openPurse(named, genesis ?? asked?.challenge?.genesis)
  const paid: Paid = {}
  const client: ClientOptions = {
    ...limits,
    wallet: purse.wallet,
    timeoutMs,
    ...(prepayBytes !== undefined && { prepayBytes }),
    ...(options.sig && { proof: 'sig' }),
    ...(options.dryRun && { dryRun: true }),
    onEvent: (event) => {
      remember(paid, event)
      const limit = event.kind === 'paying' ? (limits.maxPrice ?? defaultMaxPrice)[event.token] : ''
      const line = describe(event, purse.name, String(limit))
      if (line !== undefined && !options.json) terminal.note(line)
    },
  }
  const isRanged = new Headers(request.headers).has('range')
  if (output !== undefined && !options.dryRun && !isRanged && canHaveParts(output))
    return save(terminal, url, output, { ...request, ...client }, paid, options)
  return tell(terminal, await fetchWith402(url, request, client), paid, options)
}

/** Whether this local address can belong to the service of a demo. */
function isNearDemo({ hostname }: URL): boolean {
  return isLoopback(hostname) && findLocalnets().some(({ walletFile }) => walletFile !== undefined)
}

const discoveryMs = 2_000

/** The chain of the service at this origin, if it is the chain of a demo. */
async function readDemoChain({ origin }: URL): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(discoveryMs)
    const answer = await fetch(`${origin}${endpoints.wellKnown}`, { signal, redirect: 'error' })
    const { genesis } = (await readJson(answer, discoveryMs)) as { readonly genesis?: unknown }
    return typeof genesis === 'string' && findLocalnet(genesis)?.walletFile !== undefined ? genesis : undefined
  } catch {
    return undefined
  }
}

/** Downloads into a file and resumes an interrupted download. */
async function save(
  terminal: Terminal,
  url: URL,
  path: string,
  client: DownloadOptions & RequestInit,
  paid: Paid,
  options: PayOptions,
): Promise<ExitCode> {
  const progress = showProgress(options.json === true)
  const download = await downloadWith402(url, path, {
    ...client,
    ...(options.buyMore && { buyMore: true }),
    onProgress: progress.show,
    // Clears the progress line first.
    onEvent: (event) => {
      progress.end()
      client.onEvent?.(event)
    },
    overflow: terminal.write,
  })
    .catch((error: unknown) => {
      progress.end()
      throw unsaved(error, path, paid, options.buyMore === true)
    })
    .finally(progress.end)
  if (download.kind === 'answered') return tell(terminal, download.response, paid, options)
  const { response, bytes } = download
  if (options.json) {
    const head = { status: response?.status ?? 200, headers: Object.fromEntries(response?.headers ?? []) }
    terminal.write(`${formatJson({ ok: true, ...head, payment: describePayment(paid), file: { path, bytes } })}\n`)
    return exitCodes.ok
  }
  if (response) {
    if (paid.tx === undefined) noteUnpaid(terminal, response)
    if (options.include) writeHead(terminal, response)
  }
  terminal.note(`written to ${path}`)
  return exitCodes.ok
}

async function tell(terminal: Terminal, response: Response, paid: Paid, options: PayOptions): Promise<ExitCode> {
  const { status } = response
  const body = options.dryRun && status === 402 ? await readJson(response, 10_000) : undefined
  const limits = readLimits(options, options.max)
  const challenge = limits.protocols?.includes('paystile') === false ? undefined : readChallenge(body)
  if (challenge) return tellDryRun(terminal, response, challenge, limits)
  const [offer] = options.dryRun && status === 402 ? readForeignOffers(response, body, limits) : []
  if (offer) {
    await response.body?.cancel()
    const { protocol, network } = offer
    return terminal.result({ ok: true, dryRun: true, protocol, network }, [
      `The server charges over ${protocol} on ${network}, and your limits allow it. Nothing was paid.`,
    ])
  }
  if (!paid.tx && !options.json) noteUnpaid(terminal, response)
  try {
    if (options.json) return await tellJson(terminal, response, paid)
    await writeOut(terminal, response, options)
    if (isKept(response, paid)) terminal.note(kept)
  } catch (error) {
    if (error instanceof PaymentError && error.code === 'allowance_exhausted') throw exhausted(error, response, paid)
    throw error instanceof TypeError && error.message === 'terminated' ? brokenOff(paid) : error
  }
  return status < 400 ? exitCodes.ok : exitCodes.status
}

const kept = 'The payment remains valid. The same command uses it again without paying, at most three times.'

/**
 * After an error response the ledger returns the grant, and the client's journal keeps the payment. Other failures are
 * thrown.
 */
function isKept({ status }: Response, { tx, protocol = 'paystile' }: Paid): boolean {
  return tx !== undefined && status >= 400 && protocol === 'paystile'
}

function noteUnpaid(terminal: Terminal, { status, statusText }: Response): void {
  const unpaid = status === 402 ? `${unknownPayment}; nothing was paid` : 'no payment was required'
  terminal.note(paint.dim(`${status} ${statusText}: ${unpaid}`))
}

async function tellDryRun(
  terminal: Terminal,
  response: Response,
  challenge: Challenge,
  limits: PolicyOptions,
): Promise<ExitCode> {
  await response.body?.cancel()
  // The currency of the challenge need not be a token in which the server takes a payment.
  const candidates = listCandidates(challenge, challenge.network ?? limits.network ?? 'mainnet', limits)
  const prices = candidates.map(({ units, decimals, token }) => `${formatUnits(units, decimals)} ${token}`)
  return terminal.result({ ok: true, dryRun: true, challenge }, [
    `It would cost ${prices.join(' or ')}, and your limits allow it. Nothing was paid.`,
  ])
}

/** Reads the body up to its end, or to the end of the paid bytes, so that JSON output also keeps a partial body. */
async function tellJson(terminal: Terminal, response: Response, paid: Paid): Promise<ExitCode> {
  const chunks: Uint8Array[] = []
  let cut: PaymentError | undefined
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk)
  } catch (error) {
    if (!(error instanceof PaymentError && error.code === 'allowance_exhausted')) throw error
    cut = error
  }
  const bytes = Buffer.concat(chunks)
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes)
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  terminal.write(
    `${formatJson({
      ok: response.status < 400 && !cut,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      payment: describePayment(paid),
      ...(isKept(response, paid) && { next: kept }),
      ...(isText ? { body: isJson ? parse(text) : text } : { bodyBase64: bytes.toString('base64') }),
    })}\n`,
  )
  if (cut) throw exhausted(cut, response, paid)
  return response.status < 400 ? exitCodes.ok : exitCodes.status
}

function describePayment(paid: Paid): Paid | null {
  return paid.tx === undefined ? null : paid
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function writeOut(terminal: Terminal, response: Response, options: PayOptions): Promise<void> {
  if (options.include) writeHead(terminal, response)
  const body: Body = response.body ?? []
  const { output } = options
  // An error response must not overwrite a file from an earlier run.
  if (output !== undefined && response.status < 400) return writeResource(terminal, body, output)
  if (output !== undefined) terminal.note(`${output} is unchanged; the server's response:`)
  for await (const chunk of body) terminal.write(chunk)
  if (process.stdout.isTTY) terminal.write('\n')
}

function writeHead(terminal: Terminal, response: Response): void {
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`)
  terminal.write(
    removeTerminalCommands([`HTTP ${response.status} ${response.statusText}`, ...headers, '', ''].join('\n')),
  )
}
