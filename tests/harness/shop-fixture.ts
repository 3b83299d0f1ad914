/** A chain, a customer, and as many shops as an attack needs; with the three ways in which a claim can end. */
import type { KeyPairSigner } from '@solana/kit'
import { expect } from 'vitest'
import { type RefusalCode, refusals } from '../../src/core/payment/refusals.ts'
import type { Log } from '../../src/core/runtime.ts'
import type { LocalnetOptions } from '../../src/localnet/index.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, type Handler, type Serve } from './adapters.ts'
import { createClosers } from './closers.ts'
import { createFace, type FakeNode } from './fake-node.ts'
import { createLocalnetFixture, type LocalnetFixture } from './localnet-fixture.ts'
import { openShop, type Shop, useTemporaryHome } from './shop.ts'

export const serveNode = adapters.find(([name]) => name === 'node:http')?.[1] as Serve

export interface ShopFixture {
  readonly world: LocalnetFixture
  readonly payer: KeyPairSigner
  /** A directory of this file's own. */
  readonly directory: string
  /** Everything the shops logged, as text. */
  readonly logged: string[]
  readonly log: Log
  /** A shop on plain node:http that sells 'the secret', waits for no payment, and reads each when its proof comes. */
  open(options?: Partial<ProviderOptions>, serve?: Serve, handler?: Handler): Promise<Shop>
  /** Another node of the same chain. */
  fakeNode(): Promise<FakeNode>
  /** To be done at the end of the test, or at the end of all if no test runs; the last first. */
  defer(close: () => unknown): void
  close(): Promise<void>
}

export async function createShopFixture(localnet?: LocalnetOptions): Promise<ShopFixture> {
  const home = useTemporaryHome()
  const world = await createLocalnetFixture(localnet)
  const payer = await world.person()
  const logged: string[] = []
  const note = (event: string, facts?: unknown) => void logged.push(JSON.stringify({ event, facts }))
  const log: Log = { info: note, warn: note, error: note }
  const closers = createClosers()
  const sell: Handler = () => ({ body: 'the secret' })
  return {
    world,
    payer,
    directory: home.path,
    logged,
    log,
    open: async (options = {}, serve = serveNode, handler = sell) => {
      const shop = await openShop(world, serve, handler, { waitSeconds: 0, watch: false, log, ...options })
      closers.add(() => shop.close())
      return shop
    },
    fakeNode: async () => {
      const fakeNode = await createFace(world.localnet.rpcUrl)
      closers.add(() => fakeNode.close())
      return fakeNode
    },
    defer: closers.add,
    close: async () => {
      await closers.close()
      await world.close()
      home.remove()
    },
  }
}

/** The claim is refused as the table of refusals says, and with nothing that looks like a new challenge. */
export async function expectRefused(answer: Response | Promise<Response>, code: RefusalCode): Promise<void> {
  const response = await answer
  const text = await response.text()
  expect(text).toContain(code)
  const { status, retryable } = refusals[code]
  const body = JSON.parse(text) as Record<string, unknown>
  expect({ status: response.status, code: body['code'], retryable: body['retryable'] }).toEqual({
    status,
    code,
    retryable,
  })
  expect(response.headers.has('retry-after')).toBe(retryable)
  expect(body).not.toHaveProperty('amount')
  expect(text).not.toContain('127.0.0.1')
}

export async function expectServed(answer: Response | Promise<Response>, body = 'the secret'): Promise<void> {
  const response = await answer
  expect([response.status, await response.text()]).toEqual([200, body])
}

/** The transaction that a proof names. */
export function txOf(proof: string): string {
  return /tx=([^;]+)/.exec(proof)?.[1] ?? ''
}
