/**
 * Webhook messages and their retries, after the Standard Webhooks specification (standardwebhooks.com), version 1.0.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import type { LedgerEvent, LedgerEventKind } from './outbox.ts'

/** An address that receives payment events. */
export interface Webhook {
  /** Replaces the address in ledger, log and metrics, because the address can contain a key. */
  readonly name: string
  readonly url: string
  /**
   * The first secret is the current one. A message carries one signature per secret, so that secrets can be rotated.
   */
  readonly secrets: readonly string[]
  readonly events: readonly LedgerEventKind[]
  /** Whether the address may be in a private network. */
  readonly allowPrivate: boolean
}

export interface WebhookMessage {
  /** The same for each attempt, so that the receiver recognises duplicates. */
  readonly id: string
  readonly body: string
}

/** The subject of a message. `webhook.test` only tests a receiver and has no subject. */
type About = Pick<LedgerEvent, 'id' | 'at'> & { readonly kind: LedgerEventKind | 'webhook.test' }

/** `data` is the state of the payment at sending. `type` and `timestamp` describe the event. */
export function formatWebhook({ id, kind, at }: About, data: object): WebhookMessage {
  return { id, body: JSON.stringify({ type: kind, timestamp: new Date(at).toISOString(), data }) }
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** The schedule of the specification: ten attempts in three days. */
export const retryDelaysMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]
const longestDelayMs = 24 * hour
/** Adds up to this fraction of the delay at random, so that messages that failed together are not retried together. */
const jitter = 0.2

export interface FailedAttempt {
  /** The number of earlier failures. */
  readonly attempts: number
  /** The delay that the receiver requested. */
  readonly retryAfterMs: number | undefined
  /** From 0 to 1. */
  readonly chance: number
}

/** Computes the delay after a failed attempt. Undefined after the last attempt. */
export function retryDelay({ attempts, retryAfterMs = 0, chance }: FailedAttempt): number | undefined {
  const usual = retryDelaysMs[attempts]
  if (usual === undefined) return undefined
  return Math.round(Math.max(usual * (1 + jitter * chance), Math.min(retryAfterMs, longestDelayMs)))
}

/** The same name for the same address. It reveals no key that the address contains. */
export function nameWebhook(url: string): string {
  return encodeBase64url(sha256(new TextEncoder().encode(url)), 6)
}

/** Keys in addresses are longer than most words. */
const longestWord = 11
const shownOfKey = 4

/**
 * An address that people can tell from others, without its secrets: `https://example.com/hooks/shop`. The query and the
 * rest of a long part can be a key. If one is left out, the name of the receiver follows.
 */
export function formatReceiver(address: string): string {
  const { origin, pathname, search } = new URL(address)
  const path = pathname
    .split('/')
    .map((part) => (part.length > longestWord ? `${part.slice(0, shownOfKey)}…` : part))
    .join('/')
  const shown = `${origin}${path === '/' ? '' : path}`
  return path === pathname && search === '' ? shown : `${shown} (${nameWebhook(address)})`
}

/** `whsec_` and 24 to 64 bytes in base64. */
export function isWebhookSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  if (base64 === undefined || base64.length % 4 !== 0) return false
  const bytes = (base64.length / 4) * 3 - (base64.match(/=/g)?.length ?? 0)
  return bytes >= 24 && bytes <= 64
}
