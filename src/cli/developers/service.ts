/** Sends developer requests to a service. Responses are validated before use. */
import type { Wallet } from '../../chain/keys/keypair.ts'
import { readJson } from '../../client/read-json.ts'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { isHttpUrl } from '../../core/http/http.ts'
import { isNetwork, type Network } from '../../core/money/tokens.ts'
import { type DeveloperPurpose, formatDeveloperText } from '../../core/payouts/developers.ts'
import { CommandError, usage } from '../output.ts'

export interface ServiceView {
  /** The origin of the service; null if it does not know it. */
  readonly service: string | null
  readonly id: string
  readonly network: Network
  readonly genesis: string
  readonly time: string
  readonly developers: readonly { readonly host: string; readonly wallet: string; readonly until: string }[]
}

const patienceMs = 30_000

/** From `--service` or `PAYSTILE_URL`. */
export function readOrigin(given: string | undefined): string {
  const url = given ?? process.env['PAYSTILE_URL']
  if (url && isHttpUrl(url)) return new URL(url).origin
  throw usage('No service. Set --service, such as https://pay.example.com, or PAYSTILE_URL.')
}

export async function askService(origin: string): Promise<ServiceView> {
  const response = await fetch(`${origin}/developers`, { redirect: 'manual', signal: AbortSignal.timeout(patienceMs) })
  const body = await readJson(response, patienceMs)
  if (response.status === 404)
    throw new CommandError('refused', 'no_developers', `${origin} has no rewards for developers.`)
  if (response.status === 200 && isView(body)) return body
  throw unclear(origin, response.status)
}

/** Returns the response as text by name. */
async function postToService(origin: string, purpose: DeveloperPurpose, message: object) {
  const response = await fetch(`${origin}/developers${purpose === 'revoke' ? '/revoke' : ''}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(message),
    signal: AbortSignal.timeout(patienceMs),
  })
  const body = await readJson(response, patienceMs)
  if (!isObject(body)) throw unclear(origin, response.status)
  if (response.status === 200 && Object.values(body).every((part) => part === true || isText(part))) return body
  const { code, detail } = body
  if (!isText(code) || !isText(detail)) throw unclear(origin, response.status)
  throw new CommandError(response.status >= 500 ? 'unreachable' : 'refused', code, detail)
}

/** Signs a message to the service with the time that the service reported, and sends it. */
export async function signForService(
  wallet: Wallet,
  { purpose, host, origin }: { readonly purpose: DeveloperPurpose; readonly host: string; readonly origin: string },
  { genesis, time }: ServiceView,
): Promise<Readonly<Record<string, unknown>>> {
  const { address } = wallet
  const text = formatDeveloperText({ purpose, host, wallet: address, origin, genesis, issuedAt: Date.parse(time) })
  const signature = encodeBase58(await wallet.signMessage(new TextEncoder().encode(text)))
  const issuedAt = new Date(time).toISOString()
  return postToService(origin, purpose, { host, wallet: address, issuedAt, signature })
}

function unclear(origin: string, status: number): CommandError {
  const message = `${origin} is not a paystile service (${status}). Check the address.`
  return new CommandError('unreachable', 'server_unavailable', message)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Whether the text is safe for a terminal: it has no control characters. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 2_000 && !/\p{C}/u.test(value)
}

function isView(value: unknown): value is ServiceView {
  if (!isObject(value)) return false
  const { service, id, network, genesis, time, developers } = value
  const isLine = (line: unknown) => isObject(line) && [line['host'], line['wallet'], line['until']].every(isText)
  return (
    (service === null || isText(service)) &&
    [id, genesis, time, network].every(isText) &&
    isNetwork(String(network)) &&
    !Number.isNaN(Date.parse(String(time))) &&
    Array.isArray(developers) &&
    developers.every(isLine)
  )
}
