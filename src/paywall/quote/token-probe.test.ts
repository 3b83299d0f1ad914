import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { parseEndpoint } from '../../core/http/endpoint.ts'
import type { Inspection, TokenReading } from '../../core/payment/token-rules.ts'
import type { Facts } from '../../core/runtime.ts'
import { type RouteConfig, readConfig } from '../config/config.ts'
import type { ProviderOptions } from '../config/options.ts'
import { createRouteWarnings } from '../runtime/route-warnings.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { startProbe } from './token-probe.ts'

const recipient = 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR'
const stranger = '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS'
const unknown: Inspection = { kind: 'unknown', why: 'silence' }

function reading(config: RouteConfig, change: Partial<TokenReading> = {}): Inspection {
  const traits = { fees: [], doubts: [], isTransferable: true, isPaused: false, opensFrozen: false }
  const program = config.mints.USDC?.tokenProgram ?? ''
  const usdc: TokenReading = {
    mint: { kind: 'mint', program, traits: { ...traits, decimals: 6 } },
    account: { kind: 'account', owner: recipient, isFrozen: false },
    ...change,
  }
  return { kind: 'seen', wallet: { kind: 'wallet', leastLamports: 0n }, tokens: { USDC: usdc } }
}

/** A probe over a chain that says what it is told to say. */
function begin(first: Inspection | ((config: RouteConfig) => Inspection), options: Partial<ProviderOptions> = {}) {
  const lines: string[] = []
  const routes: unknown[] = []
  const note =
    (level: string) =>
    (event: string, facts: Facts = {}) => {
      lines.push(`${level} ${event}`)
      routes.push(facts['routes'])
    }
  const log = { info: note('info'), warn: note('warn'), error: note('error') }
  const accept = { acceptedMints: ['USDC', 'SOL'] } as const
  const config = readConfig(
    { price: 1, token: 'USDC', recipient, network: 'localnet', ...accept, ...options },
    {},
  ).route
  let answer = typeof first === 'function' ? first(config) : first
  let welcome: () => void = () => {}
  const welcomed = new Promise<void>((resolve) => {
    welcome = resolve
  })
  /** By wallet, unless all answer the same. */
  const answers = new Map<string, Inspection>()
  const inspect = vi.fn(async (question: { readonly recipient: string }) => answers.get(question.recipient) ?? answer)
  const kept: unknown[] = []
  const openAccount = vi.fn(async () => ({ kind: 'opened', tx: 'tx' }) as const)
  const runtime = {
    config: { network: 'localnet' },
    log,
    warnings: createRouteWarnings(log),
    prepareRecipient: () => welcomed,
    inspect,
    openAccount,
    splits: { keep: async (payee: unknown) => void kept.push(payee) },
  }
  const probe = startProbe(runtime as unknown as Runtime, config)
  return {
    probe,
    /** Another route of the same service. */
    beside: (endpoint: string) =>
      startProbe(runtime as unknown as Runtime, { ...config, endpoint: parseEndpoint(endpoint) }),
    config,
    lines,
    routes,
    inspect,
    openAccount,
    welcome,
    answers,
    kept,
    say: (next: Inspection) => {
      answer = next
    },
  }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('a probe of a route with splits', () => {
  const splits = [{ recipient: stranger, share: 10 }]
  const theirs = (config: RouteConfig, change: Partial<TokenReading> = {}) =>
    reading(config, { account: { kind: 'account', owner: stranger, isFrozen: false }, ...change })

  it('offers nothing before the ledger has the splits', async () => {
    const { probe, welcome, answers, config, kept } = begin(reading, { splits })
    answers.set(stranger, theirs(config))
    expect([probe.state(), kept]).toEqual(['waiting', []])
    welcome()
    expect(await probe.result()).toEqual({ offered: ['USDC', 'SOL'], withheld: {} })
    expect(kept).toEqual([{ recipient, splits: [{ recipient: stranger, basisPoints: 1_000n }] }])
  })

  it('offers a token only if every wallet can receive it', async () => {
    const { probe, welcome, answers, config } = begin(reading, { splits })
    answers.set(stranger, theirs(config, { account: { kind: 'absent' } }))
    welcome()
    const { offered, withheld } = await probe.result()
    expect(offered).toEqual(['SOL'])
    expect(withheld['USDC']).toMatch(/^splits\.0\.recipient: has no USDC account yet; open it with spl-token/)
  })

  it('opens the missing account of a wallet with a key', async () => {
    const { probe, welcome, answers, config, openAccount } = begin(reading, { splits, accountKey: 'key.json' })
    answers.set(stranger, theirs(config, { account: { kind: 'absent' } }))
    welcome()
    await probe.result()
    expect(openAccount.mock.calls).toMatchObject([[{ recipient: stranger, key: 'key.json' }]])
  })

  it('quotes no part that an empty wallet cannot receive', async () => {
    const { probe, welcome, answers, config } = begin(reading, { splits, price: () => 1 })
    answers.set(stranger, { ...theirs(config), wallet: { kind: 'wallet', leastLamports: 9n } } as Inspection)
    welcome()
    await probe.result()
    expect(probe.offered().get('SOL')).toEqual({ fees: [], leastUnits: 9n })
  })
})

describe('a probe', () => {
  it('asks when the recipient has been made able to receive, and not before', async () => {
    const { inspect, welcome, probe } = begin(reading)
    await pass(0)
    expect(inspect).not.toHaveBeenCalled()
    welcome()
    expect(await probe.result()).toEqual({ offered: ['USDC', 'SOL'], withheld: {} })
    expect(inspect).toHaveBeenCalledTimes(1)
  })

  it('gives the same object while nothing has changed, and another when something has', async () => {
    const { probe, welcome, config, say } = begin(reading)
    welcome()
    await probe.result()
    const offered = probe.offered()
    await pass(300_000)
    expect(probe.offered()).toBe(offered)
    say(reading(config, { account: { kind: 'account', owner: stranger, isFrozen: false } }))
    await pass(300_000)
    expect([...probe.offered().keys()]).toEqual(['SOL'])
    expect(probe.offered()).not.toBe(offered)
  })

  it('passes fees and the minimum payment to quotes', async () => {
    const { probe, welcome, config, say } = begin(unknown)
    const fees = [{ basisPoints: 100, maximum: 5n }]
    const good = reading(config)
    const mint = good.kind === 'seen' ? good.tokens.USDC?.mint : undefined
    if (mint?.kind !== 'mint' || good.kind !== 'seen') throw new Error('no mint')
    say({
      ...reading(config, { mint: { ...mint, traits: { ...mint.traits, fees } } }),
      wallet: { kind: 'wallet', leastLamports: 7n },
    } as Inspection)
    welcome()
    await probe.result()
    expect(Object.fromEntries(probe.offered())).toEqual({
      USDC: { fees, leastUnits: 0n },
      SOL: { fees: [], leastUnits: 7n },
    })
  })

  it('says each thing once, however often it is found', async () => {
    const { probe, welcome, config, say, lines } = begin(reading)
    say(reading(config, { account: { kind: 'account', owner: stranger, isFrozen: false } }))
    welcome()
    await pass(90_000)
    expect(lines).toEqual(['error token.withheld'])
    say(reading(config, { account: { kind: 'account', owner: recipient, isFrozen: false, delegate: stranger } }))
    await pass(900_000)
    expect(lines.slice(1)).toEqual(['info token.offered', 'warn token_account.at_risk'])
    expect(probe.state()).toBe('good')
  })

  it('reports a shared problem once, and names all routes', async () => {
    const { beside, welcome, config, say, lines, routes } = begin(reading, { endpoint: 'GET /a' })
    beside('POST /b')
    say(reading(config, { account: { kind: 'account', owner: stranger, isFrozen: false } }))
    welcome()
    await pass(90_000)
    expect([lines, routes]).toEqual([['error token.withheld'], ['GET /a, POST /b']])
  })

  it('offers the known tokens while no node responds, and reports the outage', async () => {
    const { probe, welcome, config, say, lines } = begin(unknown)
    welcome()
    await expect(probe.result()).rejects.toThrow('cannot be read yet: silence')
    expect([probe.state(), [...probe.offered().keys()]]).toEqual(['good', ['USDC', 'SOL']])
    say(reading(config))
    await pass(5_000)
    expect(await probe.result()).toEqual({ offered: ['USDC', 'SOL'], withheld: {} })
    expect(lines).toEqual(['warn token.unchecked'])
  })

  it('withholds a mint from the configuration until the chain confirms it', async () => {
    const mints = { USDC: { address: stranger, decimals: 6 } }
    const { probe, welcome, config, say, lines } = begin(unknown, { mints, acceptedMints: ['USDC'] })
    welcome()
    await pass(0)
    expect([probe.state(), probe.withheld().get('USDC')]).toEqual(['waiting', 'the chain has not been read yet'])
    say(reading(config, { mint: { kind: 'absent' } }))
    await pass(5_000)
    expect([probe.state(), probe.offered().size]).toEqual(['bad', 0])
    await expect(probe.result()).rejects.toThrow(ConfigurationError)
    expect(lines.slice(1)).toEqual(['error token.withheld', 'error route.not_selling'])
  })

  it('responds at once with the last result while it asks again', async () => {
    const { probe, welcome, inspect } = begin(reading)
    welcome()
    const first = probe.result()
    await first
    inspect.mockReturnValue(new Promise(() => {}))
    await pass(300_000)
    expect(inspect).toHaveBeenCalledTimes(2)
    expect(probe.result()).toBe(first)
  })

  it('asks no node if the chain is not read, also later', async () => {
    const { probe, welcome, inspect } = begin(unknown, { verifyOnChain: false, mints: { USDC: stranger } })
    welcome()
    expect(await probe.result()).toEqual({ offered: ['USDC', 'SOL'], withheld: {} })
    await pass(3_600_000)
    expect(inspect).not.toHaveBeenCalled()
  })

  it('that was stopped while it asked never asks again, and opens nothing', async () => {
    const options = { accountKey: 'key.json' }
    const { probe, welcome, config, say, openAccount, inspect } = begin(reading, options)
    say(reading(config, { account: { kind: 'absent' } }))
    probe.stop()
    welcome()
    await probe.result()
    const asked = inspect.mock.calls.length
    await pass(3_600_000)
    expect([openAccount.mock.calls.length, inspect.mock.calls.length - asked]).toEqual([0, 0])
  })

  it('opens missing accounts only with a key', async () => {
    for (const [options, times] of [
      [{ accountKey: 'key.json' }, 1],
      [{}, 0],
    ] as const) {
      const { probe, welcome, config, say, openAccount, inspect } = begin(reading, options)
      say(reading(config, { account: { kind: 'absent' } }))
      welcome()
      await probe.result()
      expect([openAccount.mock.calls.length, inspect.mock.calls.length]).toEqual([times, 1 + times])
      probe.stop()
    }
  })
})
