/** `paystile verify` beside the files of a service: it looks where the service itself looks. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createShopFixture, type ShopFixture, txOf } from '../harness/shop-fixture.ts'
import { errorOf } from './command.ts'
import { paystileIn } from './in-process.ts'

const secret = `1:${'0123456789abcdef'.repeat(2)}`
let fixture: ShopFixture
let folder: string
let payment: readonly [tx: string, requestId: string]

beforeAll(async () => {
  fixture = await createShopFixture()
  folder = join(fixture.directory, 'service')
  mkdirSync(folder)
  const ledger = join(folder, 'payments.sqlite')
  const shop = await fixture.open({ ledger, secret, service: 'weather' })
  const proof = await shop.buy(fixture.payer)
  payment = [txOf(proof), /requestId=([^;]+)/.exec(proof)?.[1] ?? '']
  expect((await shop.claim(proof)).status).toBe(200)
  writeFileSync(join(folder, '.env'), `PAYSTILE_SECRET=${secret}\nCHAIN_NODE=${fixture.world.localnet.rpcUrl}\n`, {
    mode: 0o600,
  })
  const about = `network: localnet\nrpc: \${CHAIN_NODE}\nledger: ${ledger}\nservice: weather\n`
  const sold = `token: USDC\nrecipient: ${fixture.world.recipient.address}\nupstream: http://127.0.0.1:9\n`
  writeFileSync(join(folder, 'paystile.yaml'), `${about}${sold}routes:\n  - { path: /data, price: 0.01 }\n`)
})
afterAll(() => fixture.close())

const verify = async (directory: string, ...more: readonly string[]) => {
  const end = await paystileIn(directory, 'verify', ...payment, '--json', ...more)
  return { end, verdict: end.stdout === '' ? undefined : JSON.parse(end.stdout) }
}
const used = { valid: false, code: 'payment_replay', checks: { sealed: 'passed', unused: 'failed', amount: 'passed' } }

describe('verify', () => {
  it('finds node, secret and ledger by paystile.yaml and .env', async () => {
    expect((await verify(folder)).verdict).toMatchObject(used)
  })

  it('finds them by --config from elsewhere, and a file of another chain says nothing', async () => {
    const elsewhere = join(fixture.directory, 'elsewhere')
    mkdirSync(elsewhere)
    expect((await verify(elsewhere, '--config', '../service/paystile.yaml')).verdict).toMatchObject(used)
    const { end } = await verify(folder, '--network', 'devnet')
    expect(errorOf(end).message).toMatch(/^--recipient, --amount, --token are missing\. .*or its file as --config/)
    const missing = await verify(elsewhere, '--config', 'none.yaml')
    expect(missing.end.stderr).toContain('none.yaml does not exist')
  })

  it('explains the problem of the file, unless the options suffice', async () => {
    const wrong = join(fixture.directory, 'wrong')
    mkdirSync(wrong)
    writeFileSync(join(wrong, 'paystile.yaml'), 'network: localnet\nrout: []\n')
    expect(errorOf((await verify(wrong)).end).message).toMatch(
      /^paystile.yaml:.*paystile.yaml:2:1: rout: is not an option; did you mean routes\?/,
    )
    const { rpcUrl } = fixture.world.localnet
    const said = ['--recipient', fixture.world.recipient.address, '--amount', '0.01', '--token', 'USDC']
    const { verdict } = await verify(wrong, ...said, '--network', 'localnet', '--rpc', rpcUrl)
    expect(verdict).toMatchObject({ valid: true, checks: { unused: 'unchecked', sealed: 'unchecked' } })
  })

  it('makes no ledger where there is none', async () => {
    const fresh = join(fixture.directory, 'fresh')
    mkdirSync(fresh)
    const about = `network: localnet\nrpc: ${fixture.world.localnet.rpcUrl}\nledger: none.sqlite\nsecret: ${secret}\nservice: weather\n`
    const sold = `token: USDC\nrecipient: ${fixture.world.recipient.address}\nupstream: http://127.0.0.1:9\n`
    writeFileSync(join(fresh, 'paystile.yaml'), `${about}${sold}routes:\n  - { path: /data, price: 0.01 }\n`)
    expect((await verify(fresh)).verdict).toMatchObject({
      valid: true,
      checks: { unused: 'unchecked', sealed: 'passed' },
    })
    expect(existsSync(join(fresh, 'none.sqlite'))).toBe(false)
  })
})
