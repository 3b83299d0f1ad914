/** The commands of those who run a service, beside a ledger that the service has open. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { nameWebhook } from '../../src/core/ports/webhooks.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { announceLocalnet } from '../../src/host/home.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { openKeyring } from '../../src/paywall/config/config.ts'
import { createReceiver, type Received, type Receiver } from '../harness/events.ts'
import { createPayment, takeOf } from '../ledger/payments.ts'
import { errorOf } from './command.ts'
import { paystile, paystileIn } from './in-process.ts'

const secret = `1:${'0123456789abcdef'.repeat(2)}`
const webhookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
let folder: string
let file: string
let ledger: Ledger

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-operations-'))
  file = join(folder, 'ledger.sqlite')
  vi.stubEnv('PAYSTILE_HOME', folder)
  vi.stubEnv('PAYSTILE_NETWORK', 'devnet')
  vi.stubEnv('PAYSTILE_SECRET', secret)
  vi.stubEnv('PAYSTILE_LEDGER', `sqlite:${file}`)
  const keyring = openKeyring(secret, [])
  const clock = createWallClock()
  const identity = { network: 'devnet', service: 'default', fingerprint: keyring?.fingerprint ?? '' } as const
  ledger = await openLedger(file, { clock, identity })
  const paidAt = clock.now() - 1000
  await ledger.take(takeOf(createPayment({ paidAt, usableUntil: paidAt + 86_400_000 })))
})
afterEach(async () => {
  await ledger.close()
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

describe('paystile books', () => {
  it('audit agrees with the payments, and says so with 0', async () => {
    const { code, stdout } = await paystile('books', 'audit')
    expect([code, JSON.parse(stdout)]).toEqual([0, { ok: true, discrepancies: [] }])
  })

  it('audit tells every line that differs, with 1, and rebuild sets it right', async () => {
    const db = new DatabaseSync(file)
    db.exec('UPDATE rollups SET payments = payments + 1')
    db.close()
    const audit = await paystile('books', 'audit', '--ledger', file)
    expect(audit.code).toBe(1)
    const { discrepancies } = JSON.parse(audit.stdout) as { discrepancies: { kept: string; counted: string }[] }
    expect(discrepancies.length).toBeGreaterThan(0)
    for (const { kept, counted } of discrepancies) expect(kept).not.toBe(counted)
    const rebuild = await paystile('books', 'rebuild', '--token', 'USDC')
    expect([rebuild.code, JSON.parse(rebuild.stdout)]).toEqual([
      0,
      { ok: true, reportToken: 'USDC', discrepancies: [] },
    ])
    expect((await paystile('books', 'audit')).code).toBe(0)
  })

  it('rebuild in another token names the setting that servers need at their next start', async () => {
    for (const token of ['USDC', 'SOL', 'USDC']) {
      const { stdout } = await paystile('books', 'rebuild', '--token', token)
      const { next = '' } = JSON.parse(stdout) as { next?: string }
      if (token === 'SOL') expect(next).toMatch(/^Set reportToken: SOL for every server before its next start/)
    }
  })

  it('requires the report token if the ledger has none', async () => {
    const ended = await paystile('books', 'rebuild')
    expect([ended.code, errorOf(ended).message]).toEqual([2, expect.stringContaining('Set it with --token')])
  })
})

describe('the ledger', () => {
  it.each<[string, Readonly<Record<string, string>>, readonly string[], RegExp]>([
    ['that is not there is not made', {}, ['--ledger', '/nowhere/ledger.sqlite'], /There is no ledger at \/nowhere/],
    ['in memory is nobody else’s', {}, ['--ledger', 'memory:'], /visible only to its own process/],
    ['is not opened without the secret', { PAYSTILE_SECRET: '' }, [], /PAYSTILE_SECRET is missing/],
    ['is not opened with another secret', { PAYSTILE_SECRET: `1:${'x'.repeat(32)}` }, [], /another root secret/],
    ['is not opened for another network', {}, ['--network', 'mainnet'], /holds payments of devnet/],
  ])('%s', async (_name, env, args, why) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const ended = await paystile('books', 'audit', ...args)
    expect(ended.code).toBe(2)
    expect(errorOf(ended).message).toMatch(why)
  })

  describe('of a gateway', () => {
    const write = (network: string, more: string) => {
      const recipient = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
      const routes = 'routes: [{ path: /a, price: 1 }]'
      const lines = [`network: ${network}`, `recipient: ${recipient}`, 'token: SOL', 'upstream: http://127.0.0.1:1']
      writeFileSync(join(folder, 'paystile.yaml'), `${[...lines, more, routes].join('\n')}\n`)
      writeFileSync(join(folder, '.env'), `PAYSTILE_SECRET=${secret}\n`, { mode: 0o600 })
      for (const name of ['NETWORK', 'SECRET', 'LEDGER']) vi.stubEnv(`PAYSTILE_${name}`, undefined)
    }

    it('is found by paystile.yaml and .env in the directory, as serve finds it', async () => {
      write('devnet', 'ledger: ledger.sqlite')
      const { code, stdout } = await paystileIn(folder, 'books', 'audit')
      expect([code, JSON.parse(stdout)]).toEqual([0, { ok: true, discrepancies: [] }])
    })

    it('gives way to one that is named, also where the file is wrong', async () => {
      write('devnet', 'legder: elsewhere.sqlite')
      const wrong = await paystileIn(folder, 'books', 'audit')
      expect([wrong.code, errorOf(wrong).message]).toEqual([2, expect.stringContaining('did you mean ledger?')])
      const named = await paystileIn(folder, 'books', 'audit', '--ledger', file, '--network', 'devnet')
      expect(named.code).toBe(0)
    })

    describe('beside other local chains', () => {
      let own: Localnet
      let other: Localnet
      beforeAll(async () => {
        ;[own, other] = await Promise.all([startLocalnet(), startLocalnet()])
      })
      afterAll(() => Promise.all([own.close(), other.close()]))

      /** A ledger of the chain that the file names, while another chain runs that has announced itself. */
      const make = async () => {
        announceLocalnet({ genesis: other.genesisHash, rpcUrl: other.rpcUrl })
        const path = join(folder, 'own.sqlite')
        const { fingerprint = '' } = openKeyring(secret, []) ?? {}
        const identity = { network: 'localnet', service: 'default', fingerprint, genesis: own.genesisHash } as const
        await (await openLedger(path, { clock: createWallClock(), identity })).close()
        return path
      }

      it.each(['books audit', 'webhooks list'])('is that of the file’s own rpc for %s', async (command) => {
        const path = await make()
        write('localnet', `rpc: ${own.rpcUrl}\nledger: ${path}`)
        const ended = await paystileIn(folder, ...command.split(' '))
        expect([ended.code, ended.stderr]).toEqual([0, ''])
      })

      it('that belongs to another chain is named, without the advice to begin a new one', async () => {
        const path = await make()
        write('localnet', `rpc: ${other.rpcUrl}\nledger: ${path}`)
        const { message } = errorOf(await paystileIn(folder, 'books', 'audit'))
        expect(message).toMatch(/belongs to another chain .*: point the RPC nodes back at that chain\.$/)
        write('localnet', `rpc: ${own.rpcUrl}\nledger: ${path}\nsecret: 1:${'y'.repeat(32)}`)
        const wrong = errorOf(await paystileIn(folder, 'webhooks', 'list')).message
        expect(wrong).toMatch(/another root secret .*: set PAYSTILE_SECRET to the keyring that created it\.$/)
      })

      it('is found without the chain where the file names ledger and secret', async () => {
        const path = await make()
        write('localnet', `rpc: http://127.0.0.1:1\nledger: ${path}`)
        expect((await paystileIn(folder, 'books', 'audit')).code).toBe(0)
        write('localnet', 'rpc: http://127.0.0.1:1')
        const lost = await paystileIn(folder, 'books', 'audit')
        expect(errorOf(lost).message).toMatch(/^The local chain at http:\/\/127\.0\.0\.1:1 does not respond\. Start it/)
      })

      it('is that of PAYSTILE_RPC for rewards, refunds and the worker, too', async () => {
        const path = await make()
        vi.stubEnv('PAYSTILE_NETWORK', 'localnet')
        vi.stubEnv('PAYSTILE_RPC', own.rpcUrl)
        vi.stubEnv('PAYSTILE_LEDGER', path)
        for (const command of [
          ['rewards', 'pause'],
          ['books', 'audit'],
        ]) {
          const ended = await paystileIn(folder, ...command)
          expect([command[0], ended.code, ended.stderr]).toEqual([command[0], 0, ''])
        }
      })
    })

    it('that is in memory with its chain cannot be looked into, and how it could is told', async () => {
      write('localnet', '')
      const ended = await paystileIn(folder, 'webhooks', 'list')
      expect([ended.code, errorOf(ended).message]).toEqual([
        2,
        expect.stringMatching(/in memory\. .* run npx paystile localnet and set its address as rpc\.$/),
      ])
    })
  })

  it.each(['rewards show', 'rewards audit', 'rewards pause', 'worker', 'worker --dry-run', 'books audit'])(
    'in memory is refused by %s, which would find all well in an empty one',
    async (command) => {
      const recipient = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
      const rest = { wallet: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T', weight: 1 }
      const rewards = { cashback: { 0: 1 }, withoutPartner: true, treasury: rest, buyback: rest, incentives: rest }
      const write = (more: object) =>
        writeFileSync(
          join(folder, 'paystile.yaml'),
          JSON.stringify({
            ...{ network: 'localnet', recipient, token: 'SOL', upstream: 'http://127.0.0.1:1', rewards },
            ...{ routes: [{ path: '/a', price: 1 }], ...more },
          }),
        )
      for (const name of ['NETWORK', 'SECRET', 'LEDGER']) vi.stubEnv(`PAYSTILE_${name}`, undefined)
      vi.stubEnv('PAYSTILE_SECRET', secret)
      const next = [
        [{ rpc: 'http://127.0.0.1:1', ledger: 'memory:' }, /in memory\b.*\. Set ledger: to a file/],
        [{}, /in memory\. .* run npx paystile localnet and set its address as rpc/],
      ] as const
      for (const [more, message] of next) {
        write(more)
        const ended = await paystileIn(folder, ...command.split(' '))
        expect([ended.code, ended.stdout, errorOf(ended).message]).toEqual([2, '', expect.stringMatching(message)])
      }
    },
  )

  it('that cannot be reached is told with 7, and without its password', async () => {
    const ended = await paystile('books', 'audit', '--ledger', 'postgres://shop:s3cret@127.0.0.1:1/shop')
    expect([ended.code, errorOf(ended).code]).toEqual([7, 'ledger_unavailable'])
    expect(ended.stderr + ended.stdout).not.toContain('s3cret')
  })
})

describe('paystile webhooks', () => {
  it('lists messages, and makes one due again', async () => {
    const { events: notices } = ledger
    if (!notices) throw new Error('this ledger tells nobody')
    expect(JSON.parse((await paystile('webhooks', 'list')).stdout)).toEqual({ ok: true, notices: [] })
    await notices.start()
    const now = createWallClock().now()
    await ledger.take(takeOf(createPayment({ paidAt: now, usableUntil: now + 86_400_000, request: 'request-2' })))
    const name = nameWebhook('https://example.com/hooks/shop')
    vi.stubEnv('PAYSTILE_WEBHOOK_URL', 'https://example.com/hooks/shop')
    await notices.spread([{ name, events: ['payment.confirmed'] }], 10)
    const [notice] = await notices.take(name, 1, 1000)
    const id = notice?.id ?? ''
    await notices.failed(id, 'it returned status 500', undefined)
    const listed = await paystile('webhooks', 'list', '--state', 'failed')
    expect([listed.code, JSON.parse(listed.stdout)]).toMatchObject([
      0,
      {
        notices: [
          {
            ...{ id, kind: 'payment.confirmed', target: name, receiver: 'https://example.com/hooks/shop' },
            ...{ attempts: 1, why: 'it returned status 500' },
          },
        ],
      },
    ])
    expect(await notices.take(name, 1, 1000)).toEqual([])
    expect((await paystile('webhooks', 'resend', id)).code).toBe(0)
    expect(await notices.take(name, 1, 1000)).toMatchObject([{ id, attempts: 0 }])
    const unknown = await paystile('webhooks', 'resend', 'msg_none')
    expect([unknown.code, errorOf(unknown).message]).toEqual([
      2,
      expect.stringContaining('No message has the id msg_none'),
    ])
  })
})

describe('paystile webhooks test', () => {
  let receiver: Receiver
  beforeEach(async () => {
    receiver = await createReceiver()
    vi.stubEnv('PAYSTILE_NETWORK', 'localnet')
    vi.stubEnv('PAYSTILE_WEBHOOK_SECRET', webhookSecret)
  })
  afterEach(() => receiver.close())

  it('sends a message that the receiver can verify', async () => {
    const { code, stdout } = await paystile('webhooks', 'test', '--url', `${receiver.url}/hook`)
    const { headers = {}, body = '' }: Partial<Received> = receiver.received[0] ?? {}
    expect([code, JSON.parse(stdout)]).toEqual([0, { ok: true, id: headers['webhook-id'], status: 204 }])
    const message = new Verifier(webhookSecret).verify(body, headers as Record<string, string>)
    expect(message).toMatchObject({ type: 'webhook.test' })
  })

  it('exits with 8 for a refusal, 7 for no connection, and 2 for a forbidden address', async () => {
    receiver.behave({ status: 500 })
    vi.stubEnv('PAYSTILE_WEBHOOK_URL', receiver.url)
    expect((await paystile('webhooks', 'test')).code).toBe(8)
    expect((await paystile('webhooks', 'test', '--url', 'http://127.0.0.1:1')).code).toBe(7)
    const forbidden = await paystile('webhooks', 'test', '--network', 'mainnet')
    expect([forbidden.code, errorOf(forbidden).message]).toEqual([2, expect.stringContaining('--allow-private')])
    vi.stubEnv('PAYSTILE_WEBHOOK_SECRET', 'short')
    const weak = await paystile('webhooks', 'test')
    expect([weak.code, errorOf(weak).message]).toEqual([
      2,
      expect.stringMatching(/PAYSTILE_WEBHOOK_SECRET: must be whsec_/),
    ])
  })
})
