/** The signed-in wallet and its access. Every response of the service can revoke the access. */
import { computed, signal } from '@preact/signals'
import type { Session, WellKnown } from './answers.ts'
import { ask, type Outcome, post } from './ask.ts'
import { keep, recall } from './settings.ts'

export type Access = 'unknown' | 'granted' | 'signed-out' | 'not-owner'

export const access = signal<Access>('unknown')
const hadAccess = signal(recall('reader') === 'yes')
const session = signal<Session>({ signedIn: false })
const service = signal<WellKnown | undefined>(undefined)
let [isSessionAsked, isServiceAsked] = [false, false]
/** Whether the menu is shown: the reader has access, or had it when this browser last asked. */
export const isReader = computed(() => access.value === 'granted' || (access.value === 'unknown' && hadAccess.value))
/** Whether the service has refused the reader. Until then the menu keeps its place, so that nothing moves later. */
export const isShut = computed(() => access.value === 'signed-out' || access.value === 'not-owner')
/** Increases when all data must be loaded again, because another user has signed in. */
export const turn = signal(0)

/** Updates the access from the outcome of a request. */
export function noteAccess(outcome: Outcome<unknown>): void {
  if (outcome.kind === 'answer') access.value = 'granted'
  if (outcome.kind === 'signed-out' || outcome.kind === 'not-owner') access.value = outcome.kind
  if (access.value === 'unknown') return
  hadAccess.value = access.value === 'granted'
  keep('reader', hadAccess.value ? 'yes' : '')
}

/** Who is signed in. The first part of the page that reads it loads it, because home has no such part. */
export function readSession(): Session {
  if (!isSessionAsked) void learnSession()
  return session.value
}

/** The public facts of the service. Loaded as the session is. */
export function readService(): WellKnown | undefined {
  if (!isServiceAsked) void learnService()
  return service.value
}

async function learnSession(): Promise<void> {
  isSessionAsked = true
  const outcome = await ask<Session>('/sign-in')
  isSessionAsked = outcome.kind !== 'unreachable'
  if (outcome.kind === 'answer') session.value = outcome.value
}

export async function learnService(): Promise<void> {
  isServiceAsked = true
  const outcome = await ask<WellKnown>('/.well-known/paystile')
  isServiceAsked = outcome.kind !== 'unreachable'
  if (outcome.kind === 'answer') service.value = outcome.value
}

/** Called after sign-in and sign-out. */
export async function renew(): Promise<void> {
  await learnSession()
  access.value = 'unknown'
  turn.value += 1
}

export async function signOut(): Promise<void> {
  await post('/sign-out')
  await renew()
}
