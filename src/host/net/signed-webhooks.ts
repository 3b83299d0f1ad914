/**
 * Signs messages by Standard Webhooks and posts them, within 15 seconds, only to the checked address, without
 * redirects.
 */
import { Webhook as Signer } from 'standardwebhooks'
import './own-fetch.ts'
import { Agent } from 'undici'
import type { Network } from '../../core/money/tokens.ts'
import type { Posted } from '../../core/ports/outbox.ts'
import type { Webhook, WebhookMessage } from '../../core/ports/webhooks.ts'
import { createWallClock } from '../clock.ts'
import { createLookup, isWithin, type Reach, readLiteral } from './allowed-addresses.ts'

export interface WebhookPoster {
  post(webhook: Webhook, message: WebhookMessage, signal: AbortSignal): Promise<Posted>
  close(): Promise<void>
}

export interface WebhookPosterParts {
  readonly network: Network
  readonly timeoutMs?: number
}

const usualTimeoutMs = 15_000
/** The response body is not used. This much is read so that the connection can be reused. */
const longestAnswer = 65_536

export function createWebhookPoster({ network, timeoutMs = usualTimeoutMs }: WebhookPosterParts): WebhookPoster {
  const agents = new Map<Reach, Agent>()
  const agentFor = (reach: Reach): Agent => {
    const agent = agents.get(reach) ?? createAgent(reach, timeoutMs)
    agents.set(reach, agent)
    return agent
  }
  return {
    post: async (webhook, message, signal) => {
      const url = new URL(webhook.url)
      const literal = readLiteral(url)
      const reach = chooseReach(webhook, network, literal !== undefined)
      if (literal !== undefined && !isWithin(reach, literal)) return failed('its address is in a private network')
      try {
        const { statusCode, headers, body } = await agentFor(reach).request({
          origin: url.origin,
          path: `${url.pathname}${url.search}`,
          method: 'POST',
          headers: { ...signedHeaders(webhook, message), 'content-type': 'application/json', 'user-agent': 'paystile' },
          body: message.body,
          // undici's own limits restart with every byte, so a slow trickle would never end.
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        })
        // Only the status matters. The body may break off.
        await body.dump({ limit: longestAnswer }).catch(() => {})
        return { kind: 'answered', status: statusCode, retryAfterMs: readRetryAfter(headers['retry-after']) }
      } catch (error) {
        return failed(describeReason(error))
      }
    },
    close: async () => {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()))
    },
  }
}

function createAgent(reach: Reach, timeoutMs: number): Agent {
  return new Agent({
    connections: 16,
    keepAliveTimeout: 10_000,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: 5_000, lookup: createLookup(reach) },
  })
}

/** On test networks, receivers may be on this machine or, if the address is literal, in a private network. */
function chooseReach({ allowPrivate }: Webhook, network: Network, isLiteral: boolean): Reach {
  if (allowPrivate) return 'private'
  if (network !== 'localnet') return 'public'
  return isLiteral ? 'private' : 'loopback'
}

/** Uses this machine's time, because receivers compare with real time, not with the movable clock of a localnet. */
function signedHeaders({ secrets }: Webhook, { id, body }: WebhookMessage): Readonly<Record<string, string>> {
  const now = new Date(createWallClock().now())
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Signer(secret).sign(id, now, body)).join(' '),
  }
}

function readRetryAfter(value: string | string[] | undefined): number | undefined {
  const text = Array.isArray(value) ? value[0] : value
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - createWallClock().now())
}

function failed(why: string): Posted {
  return { kind: 'failed', why }
}

/** Messages contain hosts and paths, so only codes are reported. */
function describeReason(error: unknown): string {
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown }
  if (name === 'TimeoutError' || /TIMEOUT/.test(String(code))) return 'it did not respond in time'
  if (name === 'ForbiddenAddress') return 'its address is in a private network'
  return `it cannot be reached (${typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code : 'no connection'})`
}
