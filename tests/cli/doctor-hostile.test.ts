/** The doctor meets what is no configuration at all, and keeps every secret. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { stringify } from 'yaml'
import { decodeAddress } from '../../src/core/encoding/base58.ts'
import { knownMints } from '../../src/core/money/tokens.ts'
import {
  directory,
  examine,
  node,
  play,
  recipient,
  type Settings,
  secret,
  settings,
  trouble,
  troubles,
  useDoctorFixture,
  world,
  write,
} from './doctor-fixture.ts'

useDoctorFixture()

describe('the middleware', () => {
  const set = (variables: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    vi.spyOn(process, 'cwd').mockReturnValue(directory)
  }

  it('is looked at by its environment where there is no file', async () => {
    const [own, theirs] = [world.usdc, knownMints.devnet.USDC ?? expect.fail('devnet has no USDC')]
    world.localnet.setAccount(theirs.address, world.localnet.getAccount(own.address))
    const account = world.localnet.getAccount(await world.tokenAccount(recipient.address, own))
    const data = Uint8Array.from(account?.data ?? [])
    data.set(decodeAddress(theirs.address) ?? [])
    world.localnet.setAccount(await world.tokenAccount(recipient.address, theirs), account && { ...account, data })
    set({
      PAYSTILE_NETWORK: 'devnet',
      PAYSTILE_RPC: node.url,
      PAYSTILE_SECRET: secret,
      PAYSTILE_LEDGER: join(directory, 'ledger.sqlite'),
      PAYSTILE_RECIPIENT: recipient.address,
    })
    const report = await examine()
    expect(troubles(report)).toEqual([])
    expect(report.checks.map(({ finding }) => finding).join('\n')).toContain(`${recipient.address} can receive USDC`)
    expect(report.next).toEqual(['start your program'])
  })

  it('may give its recipient by itself', async () => {
    set({ PAYSTILE_NETWORK: 'devnet', PAYSTILE_RPC: node.url, PAYSTILE_SECRET: secret })
    vi.stubEnv('PAYSTILE_LEDGER', join(directory, 'ledger.sqlite'))
    const report = await examine()
    expect(report.checks.filter(({ check }) => check === 'recipient')).toEqual([])
    expect(troubles(report)).toEqual([])
  })

  it('names the variable with the problem', async () => {
    set({ PAYSTILE_NETWORK: 'devnett', PAYSTILE_SECRET: secret })
    expect(trouble(await examine())).toMatch(
      /fail config: network \(PAYSTILE_NETWORK\): must be one of mainnet, devnet, localnet/,
    )
  })

  it('is told to begin where there is nothing', async () => {
    set({})
    expect(trouble(await examine())).toMatch(
      /no paystile\.yaml in this directory, and no PAYSTILE_ variable is set → npx paystile init/,
    )
  })
})

describe('for any input', () => {
  const password = 'hunter2hunter2'
  const token = 'ApiKeyThatIsNobodysBusiness'

  it('T140: it repeats no secret, neither of the file, nor of the environment, nor out of an error', async () => {
    const env = [
      `PAYSTILE_SECRET=${secret},2:tooShort`,
      `PAYSTILE_RPC=http://127.0.0.1:1/${token}?api-key=${token}`,
      `PAYSTILE_LEDGER=postgres://user:${password}@127.0.0.1:1/shop`,
      `UPSTREAM_KEY=${token}`,
    ].join('\n')
    const variants: Settings[] = [
      settings({ rpc: undefined, ledger: undefined, headers: { authorization: `Bearer \${UPSTREAM_KEY}` } }),
      settings({ rpc: `ftp://${token}`, secret: `9:${password}`, ledger: `mysql://u:${password}@h/d` }),
      settings({ rates: { source: 'pyth', apiKey: `${token} ` }, publicUrl: `http://u:${password}@x/?k=${token}` }),
      settings({ secret: token, price: token, network: token, webhooks: [{ url: 'x', secret: password }] }),
      settings({ ledger: `sqlite:/nowhere/at/all.sqlite`, upstream: `http://me:${password}@127.0.0.1:1` }),
    ]
    for (const config of variants) {
      for (const lines of [env, env.replace(',2:tooShort', '')]) {
        const { text } = await examine(write(config, lines))
        for (const word of [password, token, secret.slice(2)]) expect(text).not.toContain(word)
      }
    }
  })

  it.each([
    ['nothing', ''],
    ['no YAML', '{{{{\n\t- : :'],
    ['a list', '- 1\n- 2'],
    ['a word', 'paystile'],
    ['bytes', '\u0000\u0001\u0002\ufffd'],
    ['null everywhere', 'network: ~\nroutes: ~\nlisten: ~\n'],
    ['a thousand aliases', `a: &a [x,x]\nb: &b [${'*a,'.repeat(60)}]\nc: [${'*b,'.repeat(60)}]`],
    ['a variable that is not set', `upstream: \${NOWHERE_TO_BE_FOUND}\nroutes: []`],
    ['numbers for text', 'network: 1\nrecipient: 2\nrpc: 3\nroutes: [4]\nlisten: 5'],
    ['a prototype', '__proto__: { a: 1 }\nconstructor: 2\nroutes: [{ path: /x, price: 1, __proto__: {} }]'],
  ])('%s as a configuration is a finding, and not a crash', async (_name, text) => {
    const report = await examine(write(text))
    expect(report.code).toBe(2)
    expect(report.checks.filter(({ check, level }) => check === 'config' && level === 'fail').length).toBeGreaterThan(0)
  })

  it('a directory, and a file that may not be read, are findings', async () => {
    expect(trouble(await examine(directory))).toMatch(/is a directory; choose the file in it/)
    mkdirSync(join(directory, '.env'))
    writeFileSync(join(directory, 'paystile.yaml'), stringify(settings({ secret })))
    const said = troubles(await examine(join(directory, 'paystile.yaml')))
    expect(said).toContainEqual(expect.stringMatching(/fail secret: .*\.env cannot be read \(EISDIR\)/))
  })

  it('a node that answers nonsense is a finding', async () => {
    for (const body of ['', '<html>', '{"jsonrpc":"2.0","id":1,"result":7}', '[]', '{"error":{"code":1}}']) {
      node.behave(() => ({ body }))
      const report = await examine(write(settings()))
      expect(troubles(report)[0]).toMatch(/^fail nodes: node 1 of 1/)
    }
    play('devnet', (question, ask) =>
      ['getVersion', 'getSlot', 'getMultipleAccounts', 'paystile_clock', 'getAccountInfo'].includes(question.method)
        ? { body: JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { value: [{}, 'x', null] } }) }
        : ask(),
    )
    const report = await examine(write(settings()))
    expect(troubles(report).map((one) => one.split(':')[0])).toEqual(['warn nodes', 'warn recipient', 'warn clock'])
  })
})
