/** The tools that the MCP server offers to an agent. */
import { z } from 'zod'
import { PaymentError } from '../../client/errors.ts'
import { fetchWith402 } from '../../client/index.ts'
import type { FileJournal } from '../../client/journal/file.ts'
import type { Intent } from '../../client/journal/journal.ts'
import type { ClientOptions, PaymentOffer } from '../../client/options.ts'
import { formatUnits } from '../../core/money/money.ts'
import { findDecimals, knownMints } from '../../core/money/tokens.ts'
import type { Clock } from '../../core/runtime.ts'
import { readBalances } from '../balances.ts'
import { type Paid, remember } from '../buyer/pay-messages.ts'
import { describeUnpriced, listPrices, readQuote } from '../buyer/quote.ts'
import { chooseNetwork } from '../network.ts'
import { usage } from '../output.ts'
import { nameFlags } from '../payment-errors.ts'
import { readUrl } from '../payment-options.ts'
import { listNodes } from '../test-network.ts'
import { type Content, markForeign, readForeign } from './foreign-text.ts'
import { lowerMaxPrice, needsApproval, readToday, type Spending } from './spending.ts'

/** Everything that the tools use. None of it is returned as it is. */
export interface Purse {
  readonly wallet: ClientOptions['wallet'] & { readonly address: string }
  readonly journal: FileJournal
  readonly clock: Clock
  readonly spending: Spending
  /** The only hosts that are requested. Empty: all. */
  readonly hosts: readonly string[]
  readonly limits: Pick<ClientOptions, 'network' | 'rpc' | 'mints' | 'recipients' | 'allowHttp'>
}

export interface Call {
  readonly purse: Purse
  readonly signal: AbortSignal
  /** Asks the user to approve a payment. False if the user cannot be asked. */
  readonly approve: (offer: PaymentOffer) => Promise<boolean>
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly input: z.ZodType
  readonly annotations: { readonly readOnlyHint: boolean; readonly openWorldHint: boolean }
  readonly run: (input: never, call: Call) => Promise<readonly Content[]>
}

const request = z.strictObject({
  url: z.string().describe('http or https address of the resource'),
  method: z.string().optional().describe('HTTP method; GET, or POST with a body, if it is missing'),
  headers: z.record(z.string(), z.string()).optional().describe('request headers'),
  body: z.string().optional().describe('request body'),
})
type RequestInput = z.infer<typeof request>

const maxPrice = z
  .string()
  .optional()
  .describe('highest price of this call, such as "0.01 USDC"; only lowers the limit')

const tool = <Input>(
  name: string,
  description: string,
  input: z.ZodType<Input>,
  annotations: Tool['annotations'],
  run: (input: Input, call: Call) => Promise<readonly Content[]>,
): Tool => ({ name, description, input, annotations, run })

const reads = { readOnlyHint: true, openWorldHint: false } as const

export const tools: readonly Tool[] = [
  tool(
    'pay_fetch',
    'Requests an HTTP resource, pays its price from the wallet within the limits, and returns the response.',
    request.extend({ maxPrice }),
    { readOnlyHint: false, openWorldHint: true },
    payFetch,
  ),
  tool(
    'price',
    'Reads the price of an HTTP resource without paying, and whether the limits allow it.',
    request,
    // It sends the agent's request, which can be a POST.
    { readOnlyHint: false, openWorldHint: true },
    price,
  ),
  tool('wallet', 'Shows the address and the balances of the wallet that pays.', z.strictObject({}), reads, wallet),
  tool('budget', 'Shows the limits, and how much of today is spent and left.', z.strictObject({}), reads, budget),
  tool(
    'purchases',
    'Lists the latest purchases, the newest first.',
    z.strictObject({ count: z.int().min(1).max(100).optional().describe('number of purchases; 20 if it is missing') }),
    reads,
    purchases,
  ),
  tool(
    'recover',
    'Continues a purchase that was paid and not received. It never makes a new payment.',
    z.strictObject({ tx: z.string().describe('transaction or requestId of the purchase') }),
    { readOnlyHint: false, openWorldHint: true },
    recover,
  ),
]

/** For the payment, and again for the resource. Programs of agents wait for a minute by default. */
const timeoutMs = 25_000

const noHigherLimit = 'Only the user can raise a limit, by restarting paystile mcp.'

/** An error for the agent. The message of a payment error can quote the server. */
export function describeError(error: unknown): readonly Content[] {
  if (!(error instanceof PaymentError)) return [text(describeFailure(error))]
  const { code, message, facts } = error
  const { tx, requestId } = facts
  const isLimit = /^(price_too_high|budget_exceeded|\w+_not_allowed|insecure_url|declined)$/.test(code)
  return [
    json({ error: code, tx, requestId, ...(isLimit && { note: noHigherLimit }) }),
    text(markForeign(nameFlags(message), 'paystile, with words of the server')),
  ]
}

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'The call failed.'
  return error.cause instanceof Error && error.cause.message === 'unexpected redirect'
    ? 'The server redirects to another address. With --host, redirects are not followed.'
    : error.message
}

async function payFetch(input: RequestInput & { readonly maxPrice?: string | undefined }, call: Call) {
  const url = readTarget(input.url, call)
  const most = lowerMaxPrice(call.purse.spending, input.maxPrice)
  return fetchPaid(url, readInit(input, call), { maxPrice: most }, call, call.approve)
}

async function fetchPaid(
  url: URL,
  init: RequestInit,
  limits: Pick<ClientOptions, 'maxPrice'>,
  { purse, signal }: Call,
  approve: Call['approve'],
): Promise<readonly Content[]> {
  const { wallet, journal, clock, spending } = purse
  const paid: Paid = {}
  // A paid response may redirect within its origin. `fetchListed` follows no other redirect.
  const request = { ...init, redirect: 'follow' } as const
  const response = await fetchWith402(url, request, {
    timeoutMs,
    ...purse.limits,
    ...limits,
    ...{ wallet, journal },
    budget: { perDay: spending.perDay },
    ...(purse.hosts.length > 0 && { fetch: fetchListed }),
    // A call that the client has cancelled pays nothing more.
    approve: async (offer) => !signal.aborted && (!needsApproval(spending, offer) || (await approve(offer))),
    onEvent: (event) => remember(paid, event),
  })
  const { content, problem } = await readForeign(response, url)
  const { status } = response
  const today = readToday(journal, clock, spending, purse.limits)
  // The transaction is unknown if a server of another protocol does not report it.
  return [json({ status, paid: paid.requestId === undefined ? null : paid, today, problem }), ...content]
}

/** Follows no redirect: it could lead to a host that the user does not allow. */
const fetchListed: typeof fetch = (target, init) =>
  fetch(target, init?.redirect === 'follow' ? { ...init, redirect: 'error' } : init)

async function price(input: RequestInput, call: Call): Promise<readonly Content[]> {
  const url = readTarget(input.url, call)
  const { limits, spending } = call.purse
  const found = await readQuote(url, readInit(input, call), timeoutMs, { ...limits, maxPrice: spending.maxPrice })
  if (found.kind === 'unpriced')
    return [json({ status: found.status, price: null, note: describeUnpriced(found.status) })]
  // The reasons can contain text of the server too.
  const terms =
    found.kind === 'foreign'
      ? found.offers
      : { ...found.challenge, prices: listPrices(found.challenge), objection: found.objection }
  const allowed = found.kind === 'foreign' ? found.offers.some((offer) => offer.allowed) : found.objection === undefined
  return [json({ status: 402, allowed }), text(markForeign(JSON.stringify(terms), url.host))]
}

async function wallet(_input: object, { purse }: Call): Promise<readonly Content[]> {
  const { address } = purse.wallet
  const network = chooseNetwork(purse.limits.network)
  const nodes = listNodes(network, [purse.limits.rpc ?? []].flat())
  const mints = { ...knownMints[network], ...purse.limits.mints }
  return [json({ address, network, balances: await readBalances(address, network, nodes, mints) })]
}

async function budget(_input: object, { purse }: Call): Promise<readonly Content[]> {
  const { spending, hosts, journal, clock, limits } = purse
  const { perDay, maxPrice: perPayment, askOver } = spending
  const { network, recipients } = limits
  const today = readToday(journal, clock, spending, limits)
  return [json({ perDay, perPayment, askOver, hosts, recipients, network, today, note: noHigherLimit })]
}

async function purchases({ count = 20 }: { readonly count?: number | undefined }, { purse }: Call) {
  return [
    json({
      purchases: purse.journal.latest(purse.wallet.address, count).map((intent) => describePurchase(intent, purse)),
    }),
  ]
}

const states: Readonly<Record<Intent['state'], string>> = {
  reserved: 'started, nothing is signed',
  signed: 'signed, the outcome is not known yet',
  landed: 'paid, not received or not used up',
  done: 'paid and received',
  dead: 'never took effect, nothing was paid',
}

/** Without the secrets that the journal keeps. */
function describePurchase(intent: Intent, { limits }: Purse) {
  const { requestId, url, day, network, token, units, state, tx, protocol = 'paystile', remaining } = intent
  const decimals = findDecimals(token, { ...knownMints[network], ...limits.mints })
  const amount = decimals === undefined ? `${units} base units of ${token}` : `${formatUnits(units, decimals)} ${token}`
  return { day, url, amount, network, protocol, state: states[state], tx, requestId, remaining }
}

async function recover({ tx }: { readonly tx: string }, call: Call): Promise<readonly Content[]> {
  const { purse } = call
  const intent = purse.journal.findPurchase(purse.wallet.address, tx)
  if (!intent) throw usage('The journal has no purchase of this wallet with this transaction or requestId.')
  const purchase = describePurchase(intent, purse)
  if (intent.state !== 'signed' && intent.state !== 'landed') return [json({ purchase })]
  // An earlier payment for the same request is used before the price is asked. A new payment is declined.
  const url = readTarget(intent.url, call)
  try {
    const limits = { maxPrice: purse.spending.maxPrice }
    const init = readInit({ url: url.href }, call)
    return [json({ purchase }), ...(await fetchPaid(url, init, limits, noPayments(call), async () => false))]
  } catch (error) {
    if (!(error instanceof PaymentError) || error.code !== 'declined') throw error
    const next = 'Call pay_fetch with the same method, headers and body as before: it uses this payment.'
    return [json({ purchase, next })]
  }
}

/** Every payment needs an approval, so that none is made without one. */
function noPayments(call: Call): Call {
  const spending = { ...call.purse.spending, askOver: {} }
  return { ...call, purse: { ...call.purse, spending } }
}

function readTarget(address: string, { purse }: Call): URL {
  const url = readUrl(address)
  if (purse.hosts.length > 0 && !purse.hosts.includes(url.host))
    throw usage(`The user allows only these hosts: ${purse.hosts.join(', ')}.`)
  return url
}

/** With a list of hosts, a redirect could lead to another one, so none is followed. */
function readInit({ method, headers, body }: RequestInput, { purse, signal }: Call): RequestInit {
  const init: RequestInit = {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    signal,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
    ...(purse.hosts.length > 0 && { redirect: 'error' as const }),
  }
  // It could lead to another service at the same address.
  if (new Headers(headers).has('host')) throw usage('The Host header follows from the address. Leave it out.')
  try {
    new Request('http://localhost', init)
  } catch (error) {
    throw usage(`This request cannot be sent: ${(error as Error).message.replace(/\.$/, '')}.`)
  }
  return init
}

const text = (words: string): Content => ({ type: 'text', text: words })
const json = (value: object): Content => text(JSON.stringify(value))
