/** Wallets, and a sign-in that they come to. */

import { generateKeyPairSync, sign } from 'node:crypto'
import { createSignIn, type SignInParts } from '../../src/api/auth/sign-in.ts'
import { createLimits } from '../../src/core/collections/limits.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { Facts } from '../../src/core/runtime.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createHandClock, createShelf } from './fake-services.ts'

export interface Person {
  readonly address: string
  readonly publicKey: Uint8Array
  sign(bytes: string | Uint8Array): Uint8Array
}

export function createPerson(): Person {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const bytes = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
  return {
    address: encodeBase58(bytes),
    publicKey: bytes,
    sign: (text) => new Uint8Array(sign(null, Buffer.from(text), privateKey)),
  }
}

export const base = 'https://api.example'
export const owner = createPerson()
export const stranger = createPerson()

export function setUp(more: Partial<SignInParts> = {}) {
  const clock = createHandClock()
  const kv = createShelf(clock)
  const logged: Facts[] = []
  const note = (event: string, facts: Facts = {}) => void logged.push({ event, ...facts })
  const parts: SignInParts = {
    kv,
    limits: createLimits(clock),
    clock,
    verifier: createVerifier(),
    log: { info: note, warn: note, error: note },
    network: 'mainnet',
    key: new Uint8Array(32).fill(5),
    publicUrl: base,
    isOwner: (wallet) => wallet === owner.address,
    ...more,
  }
  const signIn = createSignIn(parts)
  const post = (path: string, body: unknown, headers: Record<string, string> = {}, peer = '203.0.113.1') =>
    signIn.handle(
      new Request(`${base}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
      { peer, isLoopback: false },
    )
  const messageFor = async (person: Person, headers: Record<string, string> = {}) =>
    (await (await post('/sign-in/nonce', { address: person.address }, headers)).json()) as {
      message: string
      nonce: string
      expiresAt: string
    }
  const enter = async (person: Person, headers: Record<string, string> = {}) => {
    const { message } = await messageFor(person)
    return post(
      '/sign-in',
      { address: person.address, message, signature: encodeBase58(person.sign(message)) },
      headers,
    )
  }
  const asks = (headers: Record<string, string>, method = 'GET') =>
    signIn.sessionOf(new Request(`${base}/api/analytics`, { method, headers }))
  return { asks, clock, enter, logged, messageFor, parts, post, kv, signIn }
}

export const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? ''

/** Signs in at a running service. Returns the header of later requests. */
export async function signInAt(url: string, person: Person): Promise<{ readonly authorization: string }> {
  const post = async (path: string, body: object) => {
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as { readonly message: string; readonly token: string }
  }
  const { message } = await post('/sign-in/nonce', { address: person.address })
  const signature = encodeBase58(person.sign(message))
  const { token } = await post('/sign-in', { address: person.address, message, signature })
  return { authorization: `Bearer ${token}` }
}
