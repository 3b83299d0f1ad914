/** Developers with wallets and hosts, and a service that they come to. */

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSites } from '../../src/api/auth/origins.ts'
import { createDevelopers, type DevelopersParts } from '../../src/api/developers/developers.ts'
import { createDeveloperBook } from '../../src/api/developers/registry.ts'
import type { Access } from '../../src/api/http/access.ts'
import { createLimits } from '../../src/core/collections/limits.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { type DeveloperPurpose, formatDeveloperText } from '../../src/core/payouts/developers.ts'
import type { Rewards, Verification } from '../../src/core/payouts/ports/rewards.ts'
import type { Facts } from '../../src/core/runtime.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createDocumentReader } from '../../src/host/net/developer-documents.ts'
import { createHandClock, createShelf } from './fake-services.ts'
import type { Person } from './people.ts'

export const origin = 'https://pay.example'
export const genesis = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'

/** The part of a ledger that this is about. */
function createVerifications(): Pick<Rewards, 'verify' | 'revoke' | 'verifications'> & {
  readonly rows: Verification[]
} {
  const rows: Verification[] = []
  const change = (host: string, next: (one: Verification) => Verification): boolean => {
    const before = rows.findIndex((one) => one.host === host && next(one) !== one)
    for (const [index, one] of rows.entries()) if (one.host === host) rows[index] = next(one)
    return before >= 0
  }
  return {
    rows,
    verify: async (verification) => {
      const { host, from } = verification
      change(host, (one) => (one.until > from ? { ...one, until: from } : one))
      rows.push({ ...verification, isRevoked: false })
    },
    revoke: async (host, at) => change(host, (one) => (one.until > at ? { ...one, until: at, isRevoked: true } : one)),
    verifications: async (host) => rows.filter((one) => host === undefined || one.host === host),
  }
}

export interface Host {
  readonly name: string
  /** What it was asked for. */
  readonly asked: string[]
  /** What it says from now on. */
  say(document: unknown): void
  answer(listener: RequestListener): void
  close(): void
}

export async function openHost(document: unknown = []): Promise<Host> {
  const asked: string[] = []
  let listener: RequestListener = () => {}
  const say: Host['say'] = (value) => {
    listener = (_request, response) => void response.end(JSON.stringify(value))
  }
  say(document)
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    name: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    say,
    answer: (next) => {
      listener = next
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

export function setUpDevelopers(hosts: readonly string[], more: Partial<DevelopersParts> = {}) {
  const clock = createHandClock()
  const kv = createShelf(clock)
  const ledger = createVerifications()
  const logged: Facts[] = []
  const note = (event: string, facts: Facts = {}) => void logged.push({ event, ...facts })
  const log = { info: note, warn: note, error: note }
  const documents = createDocumentReader('localnet', 1_000)
  const book = createDeveloperBook({ rewards: ledger, kv, clock })
  const parts: DevelopersParts = {
    book,
    kv,
    limits: createLimits(clock),
    clock,
    log,
    verifier: createVerifier(),
    network: 'localnet',
    genesis,
    id: 'weather',
    sites: createSites(origin),
    trustProxy: 0,
    hosts: () => hosts,
    readDocument: documents.read,
    ...more,
  }
  const developers = createDevelopers(parts)
  const stranger: Access = { kind: 'stranger', wallet: undefined }

  /** What a developer sends. `said` changes what is signed, `sent` what is sent. */
  const bodyFor = (
    purpose: DeveloperPurpose,
    person: Person,
    host: string,
    {
      said = {},
      sent = {},
    }: { readonly said?: Partial<Parameters<typeof formatDeveloperText>[0]>; readonly sent?: object } = {},
  ) => {
    const facts = { purpose, host, wallet: person.address, origin, genesis, issuedAt: clock.now(), ...said }
    const issuedAt = new Date(facts.issuedAt).toISOString()
    const signature = encodeBase58(person.sign(formatDeveloperText(facts)))
    return { host, wallet: person.address, issuedAt, signature, ...sent }
  }
  const post = (path: string, body: unknown, { access = stranger as Access, peer = '203.0.113.1' } = {}) => {
    const request = new Request(`${origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const visitor = { peer, isLoopback: false }
    return path === '/developers'
      ? developers.register(request, visitor)
      : developers.revoke(request, visitor, async () => access)
  }
  return {
    book,
    bodyFor,
    clock,
    developers,
    ledger,
    logged,
    parts,
    post,
    kv,
    register: (person: Person, host: string, more: Parameters<typeof bodyFor>[3] = {}) =>
      post('/developers', bodyFor('register', person, host, more)),
    revoke: (person: Person, host: string, more: Parameters<typeof bodyFor>[3] = {}) =>
      post('/developers/revoke', bodyFor('revoke', person, host, more)),
    list: async (access: Access = stranger) =>
      (await developers.list(new Request(`${origin}/developers`), async () => access)).json(),
    close: documents.close,
  }
}

export async function told(answer: Promise<Response>): Promise<string> {
  const response = await answer
  const { code, detail } = (await response.json()) as { code?: string; detail?: string }
  return `${response.status} ${code ?? ''} ${detail ?? ''}`.trim()
}
