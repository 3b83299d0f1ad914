/** From nothing to a configuration that the gateway takes, without a person and with one. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { askAll, type Prompts } from '../../src/cli/setup/init-questions.ts'
import { fetchWith402, initAgentWallet } from '../../src/client/index.ts'
import { formatUnits } from '../../src/core/money/money.ts'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { readPlanFile } from '../../src/gateway/config/file.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import { loadEnvFile } from '../../src/host/env-file.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { runHere } from './in-process.ts'

const home = useTemporaryHome()
const log = { info: () => {}, warn: () => {}, error: () => {} }
const wallet = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(home.path, 'init-'))
})
afterAll(() => home.remove())

async function run(...args: readonly string[]) {
  const { code, stdout, stderr } = await runHere(['init', directory, '--json', ...args])
  return { code, text: stdout + stderr, result: stdout === '' ? undefined : JSON.parse(stdout) }
}
const read = (name: string) => readFileSync(join(directory, name), 'utf8')
const errorOf = ({ text }: { readonly text: string }): string => JSON.parse(text).error.message
const modeOf = (name: string) => statSync(join(directory, name)).mode & 0o777
const full = ['--upstream', 'http://10.0.0.1:3000', '--path', '/api/weather', '--price', '0.01', '--network', 'devnet']

describe('without a person', () => {
  it('writes a configuration and a private secret, and prints the next commands', async () => {
    const { code, result, text } = await run(...full, '--recipient', wallet)
    expect(code).toBe(0)
    expect(result).toMatchObject({ ok: true, written: ['paystile.yaml', '.env'], network: 'devnet', recipient: wallet })
    expect(result.next).toEqual([
      `cd ${directory}`,
      'npx paystile doctor',
      'npx paystile serve',
      'npx paystile pay http://127.0.0.1:8402/api/weather',
    ])
    expect(parse(read('paystile.yaml'))).toEqual({
      network: 'devnet',
      recipient: wallet,
      upstream: 'http://10.0.0.1:3000',
      listen: { host: '127.0.0.1', port: 8402 },
      token: 'USDC',
      routes: [{ path: '/api/weather', price: 0.01 }],
    })
    expect(modeOf('.env')).toBe(0o600)
    const secret = /^PAYSTILE_SECRET=(.+)$/m.exec(read('.env'))?.[1] ?? ''
    expect(readKeyring(secret).kind).toBe('keyring')
    expect(Buffer.from(secret.slice(2), 'base64url')).toHaveLength(32)
    expect(text).not.toContain(secret.slice(2))
  })

  it('takes the usual values with --yes, and makes a wallet on a localnet', async () => {
    const { code, result } = await run('--yes')
    expect(code).toBe(0)
    const config = parse(read('paystile.yaml'))
    expect(config).toMatchObject({ network: 'localnet', upstream: 'http://127.0.0.1:3000', token: 'USDC' })
    expect(config.routes).toEqual([{ path: '/api/*', price: 0.01 }])
    expect(config.recipient).toBe(result.recipient)
    expect(modeOf('.paystile/recipient.json')).toBe(0o600)
    expect(result.next.at(-1)).toBe('npx paystile faucet && npx paystile pay http://127.0.0.1:8402/api/hello')
  })

  it.each([
    [[], '--upstream, --path, --price, --network, --recipient are missing. Set them'],
    [
      ['--upstream', 'http://a', '--path', '/x', '--price', '1', '--network', 'mainnet'],
      '--recipient is missing. Set it',
    ],
    [['--network', 'localnet'], '--upstream, --path, --price are missing'],
    [['--yes', '--network', 'devnet'], '--recipient is missing. Set it.'],
  ])('names the flags that are missing: %j', async (args, words) => {
    const end = await run(...args)
    expect(end.code).toBe(2)
    expect(errorOf(end)).toContain(words)
    expect(existsSync(join(directory, 'paystile.yaml'))).toBe(false)
    expect(existsSync(join(directory, '.env'))).toBe(false)
  })

  it.each([
    ['--upstream', 'localhost:3000', 'is not an http or https address'],
    ['--upstream', 'http://user:password@10.0.0.1', 'must not contain a user name or password'],
    ['--upstream', 'http://10.0.0.1/?a=b', 'must not have a query'],
    ['--path', 'api', 'is not a path'],
    ['--path', '/a?b=c', 'is not a path'],
    ['--path', '/analytics', 'is reserved for the service itself'],
    ['--price', '0', 'is not a price in USDC'],
    ['--price', '0.0000001', 'at most 6 decimal places'],
    ['--price', 'a lot', 'is not a price in USDC'],
    ['--token', 'EUR', 'is not a token; use one of NATIVE, USDC, SOL'],
    ['--recipient', 'me', 'is not a Solana address'],
    ['--recipient', '11111111111111111111111111111111', 'is a program or a mint, not a wallet'],
    ['--recipient', '7rkNvHQ2toHAyKrAQWdnRivFEVjBN4ZpBMrNREsuA4Yr', 'is a program or a mint, not a wallet'],
    ['--recipient', '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU', 'is a program or a mint, not a wallet'],
    // The USDC account of the wallet above: what people copy from an explorer by mistake.
    ['--recipient', '@ata', 'of a token account'],
  ])('refuses %s %s and writes nothing', async (flag, value, words) => {
    const { findTokenAccount } = await import('../../src/chain/accounts/programs.ts')
    const { knownMints } = await import('../../src/core/money/tokens.ts')
    const usdc = knownMints.mainnet.USDC
    const given = value === '@ata' && usdc ? await findTokenAccount(wallet, usdc.address, usdc.tokenProgram) : value
    const end = await run('--yes', flag, given)
    expect(end.code).toBe(2)
    expect(errorOf(end)).toMatch(new RegExp(`^${flag}: .*${words}`))
    expect(errorOf(end)).not.toContain('password@')
    expect(existsSync(join(directory, 'paystile.yaml'))).toBe(false)
  })

  it('does not begin with a token that has no mint yet', async () => {
    const end = await run('--yes', '--network', 'mainnet', '--token', 'NATIVE', '--recipient', wallet)
    expect(errorOf(end)).toContain('NATIVE has no default mint on mainnet; start with USDC or SOL')
  })

  it('leaves a configuration alone unless it is told to replace it, and the secret always', async () => {
    await run(...full, '--recipient', wallet)
    const [before, secret] = [read('paystile.yaml'), read('.env')]
    const end = await run('--yes')
    expect([end.code, errorOf(end)]).toEqual([2, expect.stringContaining('Edit it, or replace it with --force')])
    expect(read('paystile.yaml')).toBe(before)
    const { result } = await run('--yes', '--force')
    expect(result).toMatchObject({ written: ['paystile.yaml'], kept: ['.env'] })
    expect(read('paystile.yaml')).not.toBe(before)
    expect(read('.env')).toBe(secret)
  })

  it('adds the secret to a .env of yours, and says that others can read it', async () => {
    writeFileSync(join(directory, '.env'), 'DATABASE=mine')
    chmodSync(join(directory, '.env'), 0o644)
    const { result } = await run('--yes')
    expect(read('.env')).toMatch(/^DATABASE=mine\n#/)
    expect(read('.env').match(/PAYSTILE_SECRET=/g)).toHaveLength(1)
    expect(result.isEnvOpen).toBe(true)
    expect(modeOf('.env')).toBe(0o644)
  })

  it('keeps secret and ledger out of git, once', async () => {
    writeFileSync(join(directory, '.gitignore'), 'node_modules\n/.env')
    await run('--yes')
    expect(read('.gitignore')).toBe('node_modules\n/.env\n.paystile/\n')
    expect((await run('--yes', '--force')).result.kept).toEqual(['.env', '.gitignore'])
    expect(read('.gitignore')).toBe('node_modules\n/.env\n.paystile/\n')
  })

  it('makes a .gitignore in a repository that has none', async () => {
    mkdirSync(join(directory, '.git'))
    await run('--yes')
    expect(read('.gitignore')).toBe('.env\n.paystile/\n')
  })

  it('says so where it cannot write, and leaves nothing behind', async () => {
    mkdirSync(join(directory, '.env'))
    expect(errorOf(await run('--yes', '--recipient', wallet))).toMatch(/\.env cannot be written \(EEXIST\)/)
    expect(existsSync(join(directory, 'paystile.yaml'))).toBe(false)
    writeFileSync(join(directory, 'file'), '')
    directory = join(directory, 'file', 'below')
    for (const more of [[], ['--recipient', wallet]]) {
      const end = await run('--yes', ...more)
      expect([end.code, errorOf(end)]).toEqual([2, expect.stringContaining('cannot be written (ENOTDIR)')])
    }
  })

  it.each(['0.01', '1', '0.000001', '1000000.5'])('writes the price %s as it is', async (price) => {
    await run('--yes', '--price', price)
    const [route] = parse(read('paystile.yaml')).routes
    expect(String(route.price)).toBe(price === '0.000001' ? '0.000001' : price)
  })
})

describe('the written file', () => {
  it.each([
    ['localnet', 'USDC'],
    ['localnet', 'NATIVE'],
    ['devnet', 'SOL'],
    ['devnet', 'USDC'],
    ['mainnet', 'USDC'],
    ['mainnet', 'SOL'],
  ])('for %s and %s is valid for the gateway', async (network, token) => {
    const path = '/files/:id/*'
    await run('--yes', '--network', network, '--token', token, '--recipient', wallet, '--path', path)
    const environment: Record<string, string | undefined> = network === 'mainnet' ? { PAYSTILE_RPC: 'http://a' } : {}
    expect(loadEnvFile(directory, environment).kind).toBe('read')
    const plan = await readPlanFile(join(directory, 'paystile.yaml'), environment)
    expect(plan).toMatchObject({ host: '127.0.0.1', port: 8402 })
    expect(plan.routes).toHaveLength(1)
    const { service, route } = plan.routes[0]?.config ?? {}
    expect(service).toMatchObject({ network })
    expect(route).toMatchObject({ recipient: wallet, pricing: { token } })
    expect(formatUnits(route?.pricing.price as bigint, route?.pricing.decimals ?? 0)).toBe('0.01')
  })

  it('is refused by the gateway before it is written', async () => {
    const end = await run('--yes', '--path', '/a/*/b')
    expect([end.code, errorOf(end)]).toEqual([2, expect.stringContaining('routes[0].path: ')])
    expect(existsSync(join(directory, 'paystile.yaml'))).toBe(false)
    expect(existsSync(join(directory, '.paystile'))).toBe(false)
  })

  it('serves and sells on a localnet', async () => {
    const upstream = createServer((_request, response) => void response.end('the weather'))
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    const { port } = upstream.address() as AddressInfo
    await run('--yes', '--upstream', `http://127.0.0.1:${port}`, '--path', '/api/weather')
    const environment: Record<string, string | undefined> = {}
    loadEnvFile(directory, environment)
    const plan = await readPlanFile(join(directory, 'paystile.yaml'), environment)
    const gateway = openGateway({
      ...plan,
      port: 0,
      routes: plan.routes.map((route) => ({ ...route, config: route.config && { ...route.config, log } })),
    })
    const url = await gateway.listen()
    try {
      expect(await gateway.readiness()).toMatchObject({ ready: true, offered: ['USDC'] })
      expect((await fetch(`${url}/api/other`)).status).toBe(404)
      const payer = await initAgentWallet()
      expect((await runHere(['faucet', payer.address, '--json'])).code).toBe(0)
      const answer = await fetchWith402(`${url}/api/weather`, { wallet: payer, tokens: ['USDC'] })
      expect([answer.status, await answer.text()]).toEqual([200, 'the weather'])
    } finally {
      await gateway.close()
      upstream.close()
    }
  })
})

describe('with a person', () => {
  const prompts = (answers: readonly (string | symbol)[]) => {
    const asked: string[] = []
    const left = [...answers]
    const next = async (question: {
      readonly message: string
      readonly validate?: (value: string | undefined) => string | undefined
    }) => {
      asked.push(question.message)
      const answer = left.shift() ?? ''
      const problem = typeof answer === 'string' ? question.validate?.(answer) : undefined
      if (problem !== undefined) throw new Error(problem)
      return answer
    }
    return { asked, prompts: { text: next, select: next } as unknown as Prompts }
  }

  it('asks four questions', async () => {
    const person = prompts(['http://127.0.0.1:4000/', '/api/* 0.5 sol', 'devnet', wallet])
    expect(await askAll(person.prompts, {})).toEqual({
      upstream: 'http://127.0.0.1:4000',
      path: '/api/*',
      price: '0.5',
      token: 'SOL',
      network: 'devnet',
      recipient: wallet,
    })
    expect(person.asked).toHaveLength(4)
  })

  it('does not ask for given values, and creates a wallet on a localnet', async () => {
    const person = prompts(['/x 1', ''])
    const known = { upstream: 'http://a', network: 'localnet' } as const
    expect(await askAll(person.prompts, known)).toMatchObject({ path: '/x', token: 'USDC', recipient: undefined })
    expect(person.asked).toHaveLength(2)
  })

  it('explains the problem of an answer', async () => {
    await expect(askAll(prompts(['nonsense']).prompts, {})).rejects.toThrow('is not an http or https address')
    await expect(askAll(prompts(['http://a', '/x']).prompts, {})).rejects.toThrow('enter path, price and token')
    await expect(askAll(prompts(['http://a', '/x 1', 'devnet', '']).prompts, {})).rejects.toThrow(
      'not a Solana address',
    )
  })

  it('writes nothing when it is stopped', async () => {
    await expect(askAll(prompts([Symbol('cancel')]).prompts, {})).rejects.toThrow('Cancelled. Nothing was written.')
  })
})
