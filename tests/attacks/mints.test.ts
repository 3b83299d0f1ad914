/** Tokens that are not on chain as they are configured: nothing is sold for them. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { token2022Program } from '../../src/core/money/tokens.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, type Served } from '../harness/adapters.ts'
import { createLocalnetFixture, type LocalnetFixture, newSigner } from '../harness/localnet-fixture.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'

const home = useTemporaryHome()
const serve = Object.fromEntries(adapters)['node:http'] ?? (() => Promise.reject(new Error('no adapter')))
const lines: string[] = []
const log = {
  info: () => {},
  warn: (event: string) => lines.push(event),
  error: (event: string, facts = {}) => lines.push(`${event} ${JSON.stringify(facts)}`),
}
let world: LocalnetFixture
let nobody: KeyPairSigner

beforeAll(async () => {
  world = await createLocalnetFixture()
  nobody = await newSigner()
})
afterAll(async () => {
  await world.close()
  home.remove()
})

const open = (options: Partial<ProviderOptions>): Promise<Served> =>
  serve(
    {
      price: 0.01,
      token: 'USDC',
      recipient: world.recipient.address,
      network: 'localnet',
      rpc: world.localnet.rpcUrl,
      ledger: 'memory:',
      log,
      ...options,
    },
    () => ({ body: 'the data' }),
  )

describe('a mint', () => {
  it.each<[string, () => NonNullable<ProviderOptions['mints']>, string]>([
    [
      'T51: with other decimals',
      () => ({ USDC: { address: world.usdc.address, decimals: 9 } }),
      'has 6 decimals, not 9',
    ],
    [
      'T74: of another chain',
      () => ({ USDC: { address: nobody.address, decimals: 6 } }),
      'does not exist on this chain',
    ],
    [
      'of another program',
      () => ({ USDC: { address: world.usdc.address, tokenProgram: token2022Program } }),
      'belongs to the program',
    ],
    ['that is a wallet', () => ({ USDC: world.recipient.address }), 'belongs to the program'],
  ])('%s is refused at start, and nothing is sold', async (_what, mints, words) => {
    const shop = await open({ mints: mints() })
    await expect(shop.ready()).rejects.toThrow(words)
    const response = await fetch(`${shop.url}/data`)
    expect([response.status, (await response.json()).code]).toEqual([503, 'not_priced'])
    expect(lines.some((line) => line.includes(words))).toBe(true)
    await shop.close()
  })

  it('is not asked for where it is not accepted', async () => {
    const shop = await open({ token: 'SOL', price: 0.001, mints: { USDC: { address: nobody.address, decimals: 6 } } })
    await shop.ready()
    expect((await fetch(`${shop.url}/data`)).status).toBe(402)
    await shop.close()
  })

  const another = () => ({ USDC: { address: world.native.address, decimals: 9 } })
  const silence = () => world.localnet.faults.set([{ methods: ['getMultipleAccounts'], status: 503 }])
  const ask = async (shop: Served): Promise<readonly [number, string?]> => {
    const response = await fetch(`${shop.url}/data`)
    const { detail, acceptedMints } = (await response.json()) as Partial<Challenge> & { readonly detail?: string }
    return [response.status, acceptedMints?.join() ?? detail ?? '']
  }
  const waiting = [503, 'The service has not started yet.']

  it.each<[string, () => Partial<ProviderOptions>, readonly unknown[]]>([
    ['is sold for when it is known', () => ({}), [402, 'USDC']],
    ['is sold for when it is given as it is known', () => ({ mints: { USDC: world.usdc } }), [402, 'USDC']],
    ['is not sold for when another is given', () => ({ mints: { USDC: nobody.address } }), waiting],
    ['is not sold for with decimals of its own', () => ({ mints: { USDC: { ...world.usdc, decimals: 9 } } }), waiting],
    [
      'is not sold for under another program',
      () => ({ mints: { USDC: { ...world.usdc, tokenProgram: token2022Program } } }),
      waiting,
    ],
    [
      'is not sold for beside a known one, which is',
      () => ({ acceptedMints: ['NATIVE', 'USDC'], mints: { NATIVE: { ...world.usdc } } }),
      [402, 'USDC'],
    ],
  ])('%s while no node responds, and ready reports that the state is unknown', async (_what, options, answer) => {
    silence()
    lines.length = 0
    const shop = await open(options())
    await expect(shop.ready()).rejects.toThrow('cannot be read yet')
    expect(await ask(shop)).toEqual(answer)
    expect(lines).toEqual(['token.unchecked'])
    world.localnet.faults.clear()
    await shop.close()
  })

  it('is sold for unseen where the chain is not asked', async () => {
    silence()
    const shop = await open({ mints: another(), verifyOnChain: false })
    await shop.ready()
    expect(await ask(shop)).toEqual([402, 'USDC'])
    world.localnet.faults.clear()
    await shop.close()
  })

  describe('that could not be read at the start', () => {
    // The real clock goes on; a test only jumps over the pause between two attempts.
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true }))
    afterEach(() => {
      world.localnet.faults.clear()
      vi.useRealTimers()
    })
    const pass = () => vi.advanceTimersByTimeAsync(5_000)
    const attempts = () => lines.filter((line) => line === 'token.unchecked').length

    it.each<[string, () => NonNullable<ProviderOptions['mints']>, readonly unknown[]]>([
      ['is sold for as soon as a node says that it is right', another, [402, 'USDC']],
      [
        'is never sold for when a node says that it is wrong',
        () => ({ USDC: { ...world.usdc, decimals: 9 } }),
        [503, 'The service is misconfigured. See its log.'],
      ],
    ])('%s', async (_what, mints, answer) => {
      silence()
      lines.length = 0
      const shop = await open({ mints: mints() })
      await expect(shop.ready()).rejects.toThrow('cannot be read yet')
      await pass()
      await eventually(attempts, (times) => times === 2)
      expect(await ask(shop)).toEqual(waiting)
      world.localnet.faults.clear()
      await pass()
      const settled = () =>
        shop.ready().then(
          () => 'right',
          (error: Error) => error.message,
        )
      const verdict = answer[0] === 402 ? 'right' : 'has 6 decimals, not 9'
      await eventually(settled, (words) => words.includes(verdict))
      expect(await ask(shop)).toEqual(answer)
      await shop.close()
    })

    it.each<[string, (shop: Served) => unknown]>([
      ['after its start', (shop) => expect(shop.ready()).rejects.toThrow('cannot be read yet')],
      ['before it had started', () => {}],
    ])('is not asked for again by a paywall that was closed %s', async (_when, wait) => {
      silence()
      world.localnet.faults.add({ methods: ['getGenesisHash'], latencyMs: 40 })
      lines.length = 0
      const shop = await open({ mints: another() })
      await wait(shop)
      await shop.close()
      await pass()
      await pass()
      expect(attempts()).toBeLessThanOrEqual(1)
    })
  })
})
