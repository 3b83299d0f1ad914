/**
 * What is told to those who listen, and when it is told again: the Standard Webhooks specification
 * (standardwebhooks.com), version 1.0.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import type { LedgerEvent, LedgerEventKind } from '../ports/outbox.ts'

/** An address that is told of payments. */
export interface Webhook {
  /** Stands for it in ledger, log and metrics: its address may hold a key. */
  readonly name: string
  readonly url: string
  /** The first is the one of today; with more, a message carries a signature by each, so that they can be changed. */
  readonly secrets: readonly string[]
  readonly events: readonly LedgerEventKind[]
  /** Whether it may be in a private network. */
  readonly allowPrivate: boolean
}

export interface WebhookMessage {
  /** The same however often it is sent: who receives it twice knows. */
  readonly id: string
  readonly body: string
}

/** What a message is about. `webhook.test` is for trying a receiver, and about nothing. */
type About = Pick<LedgerEvent, 'id' | 'at'> & { readonly kind: LedgerEventKind | 'webhook.test' }

/** `data` is the payment as it stands when it is sent, `type` and `timestamp` are what happened and when. */
export function formatWebhook({ id, kind, at }: About, data: object): WebhookMessage {
  return { id, body: JSON.stringify({ type: kind, timestamp: new Date(at).toISOString(), data }) }
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** The specification's own: ten attempts in three days. */
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
/** Of the delay, up to this much is added at random: those who failed together need not come back together. */
const jitter = 0.2

export interface FailedAttempt {
  /** How many failed before this one. */
  readonly attempts: number
  /** What the other side asked for. */
  readonly retryAfterMs: number | undefined
  /** From 0 to 1. */
  readonly chance: number
}

/** How long to wait after an attempt that failed; undefined where it was the last one. */
export function retryDelay({ attempts, retryAfterMs = 0, chance }: FailedAttempt): number | undefined {
  const usual = retryDelaysMs[attempts]
  if (usual === undefined) return undefined
  return Math.round(Math.max(usual * (1 + jitter * chance), Math.min(retryAfterMs, longestDelayMs)))
}

/** The same for the same address, and nothing of a key that may be in it. */
export function nameWebhook(url: string): string {
  return encodeBase64url(sha256(new TextEncoder().encode(url)), 6)
}

/** `whsec_` and 24 to 64 bytes in base64. */
export function isWebhookSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  if (base64 === undefined || base64.length % 4 !== 0) return false
  const bytes = (base64.length / 4) * 3 - (base64.match(/=/g)?.length ?? 0)
  return bytes >= 24 && bytes <= 64
}
