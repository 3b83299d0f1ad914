/** A protected server and the moves of its customers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { PaywallEvent } from '../../src/paywall/config/events.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { ReadinessReport } from '../../src/paywall/runtime/catalog.ts'
import type { Handler, Serve } from './adapters.ts'
import type { LocalnetFixture } from './localnet-fixture.ts'
import { proofOf } from './localnet-fixture.ts'

export interface Shop {
  readonly url: string
  readonly events: PaywallEvent[]
  challenge(path?: string, headers?: Readonly<Record<string, string>>): Promise<Challenge>
  /** Pays for a path, and returns the header that proves it. */
  buy(payer: KeyPairSigner, path?: string): Promise<string>
  claim(proof: string, path?: string, init?: RequestInit): Promise<Response>
  metrics(): Promise<string>
  readiness(): Promise<ReadinessReport>
  /** Ends it as an operator does. */
  stop(): Promise<void>
  close(): Promise<void>
}

export async function openShop(
  world: LocalnetFixture,
  serve: Serve,
  handler: Handler,
  options: Partial<ProviderOptions> = {},
): Promise<Shop> {
  const events: PaywallEvent[] = []
  const served = await serve(
    {
      price: 0.01,
      token: 'USDC',
      recipient: world.recipient.address,
      network: 'localnet',
      rpc: world.localnet.rpcUrl,
      ledger: 'memory:',
      trustProxy: 1,
      onEvent: (event) => events.push(event),
      ...options,
    },
    handler,
  )
  // A server that cannot start would ask the chain during later tests.
  await untilReady(served.ready).catch(async (error) => {
    await served.close()
    throw error
  })
  const challenge: Shop['challenge'] = async (path = '/data', headers = {}) => {
    const response = await fetch(`${served.url}${path}`, { headers })
    if (response.status !== 402) throw new Error(`expected a challenge, got ${response.status}`)
    return (await response.json()) as Challenge
  }
  return {
    url: served.url,
    events,
    challenge,
    buy: async (payer, path) => {
      const asked = await challenge(path)
      return proofOf(await world.pay(asked, payer), asked, payer)
    },
    claim: (proof, path = '/data', init = {}) =>
      fetch(`${served.url}${path}`, {
        ...init,
        headers: { 'X-Forwarded-For': anyAddress(), ...init.headers, 'Payment-Proof': proof },
      }),
    metrics: served.metrics,
    readiness: served.readiness,
    stop: served.stop,
    close: served.close,
  }
}

/** On a busy machine, a node seems silent for a moment. A service tries again then. */
async function untilReady(ready: () => Promise<unknown>): Promise<void> {
  const isReady = () =>
    ready().then(
      () => true,
      (error: { readonly code?: unknown }) => {
        if (error.code !== 'chain_unavailable') throw error
        return false
      },
    )
  await eventually(isReady, Boolean)
}

/** Another client every time: these tests bring more bad proofs than one client may. */
export function anyAddress(): string {
  return Array.from({ length: 4 }, () => Math.floor(Math.random() * 256)).join('.')
}

/** Reads the code of a refusal. */
export async function codeOf(response: Response): Promise<string> {
  const { code } = (await response.json()) as { code: string }
  return `${response.status} ${code}`
}

/** A client that reads `bytes` of the body and then breaks the connection. Resolves when that is done. */
export function readAndReset(url: string, headers: Readonly<Record<string, string>>, bytes: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let seen = 0
    const request = httpRequest(url, { headers, agent: false }, (response) => {
      response.on('data', (chunk: Buffer) => {
        seen += chunk.length
        if (seen < bytes) return
        request.socket?.resetAndDestroy()
        resolve(seen)
      })
      response.on('end', () => reject(new Error('the whole body arrived')))
      response.on('error', () => {})
    })
    request.on('error', reject)
    request.end()
  })
}

/** Asks again until it is so: soon at first, and less often later, because a question costs the time of other tests. */
export async function eventually<Value>(
  ask: () => Value | Promise<Value>,
  isSo: (value: Value) => boolean,
  times = 500,
): Promise<Value> {
  for (let attempt = 0; ; attempt += 1) {
    const value = await ask()
    if (isSo(value)) return value
    if (attempt > times) throw new Error(`it never came to pass; the last was ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(50, 5 + attempt)))
  }
}

/** A home of its own for every test file, so that files do not meet in the user's. */
export function useTemporaryHome(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'paystile-test-'))
  process.env['PAYSTILE_HOME'] = path
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Blocks this process, as a long garbage collection or a paused machine does, without using the processor. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
