/** The first commands that a newcomer types: init, doctor, serve (a process of its own), faucet, pay. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { useTemporaryHome } from '../harness/shop.ts'
import { errorOf, finished, start } from './command.ts'
import { paystile } from './in-process.ts'

const home = useTemporaryHome()
const parent = mkdtempSync(join(tmpdir(), 'paystile-steps-'))
const wallet = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const upstream = createServer((_request, response) => response.end('the weather'))
let upstreamUrl: string
let directory: string

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})
beforeEach(() => {
  directory = mkdtempSync(join(parent, 'shop-'))
})
afterAll(() => {
  upstream.close()
  home.remove()
  rmSync(parent, { recursive: true, force: true })
})

const init = (...args: readonly string[]) => paystile('init', directory, '--yes', '--upstream', upstreamUrl, ...args)
const file = () => join(directory, 'paystile.yaml')

it('lead from nothing to a sale', async () => {
  expect((await init()).code).toBe(0)
  expect((await paystile('serve', '--check', file())).code).toBe(0)
  // The usual port may be somebody else's on this machine.
  writeFileSync(file(), readFileSync(file(), 'utf8').replace('port: 8402', 'port: 0'))
  const doctor = await paystile('doctor', file())
  expect([doctor.code, JSON.parse(doctor.stdout).ok]).toEqual([0, true])
  const child = start(['dist/cli/main.js', 'serve', file()])
  const end = finished(child)
  const line = await new Promise<string>((resolve) => child.stdout?.once('data', (data) => resolve(String(data))))
  const { url } = JSON.parse(line)
  expect((await fetch(`${url}/elsewhere`)).status).toBe(404)
  expect((await fetch(`${url}/api/hello`)).status).toBe(402)
  expect((await paystile('faucet', '--url', `${url}/faucet`)).code).toBe(0)
  expect(await (await fetch(`${url}/.well-known/paystile`)).json()).toMatchObject({
    network: 'localnet',
    testMode: true,
  })
  const paid = await paystile('pay', `${url}/api/hello`)
  expect([paid.code, paid.stdout]).toEqual([0, 'the weather'])
  child.kill('SIGTERM')
  expect((await end).code).toBe(0)
})

describe('.env beside the configuration', () => {
  const check = () => paystile('serve', '--check', file())
  const prepare = () => init('--network', 'devnet', '--recipient', wallet)

  it('is where serve finds the secret', async () => {
    await prepare()
    expect((await check()).code).toBe(0)
    rmSync(join(directory, '.env'))
    const without = await check()
    expect([without.code, errorOf(without).message]).toEqual([2, expect.stringContaining('devnet needs a keyring')])
  })

  it('does not overrule the environment', async () => {
    await prepare()
    process.env['PAYSTILE_SECRET'] = '1:short'
    const end = await check().finally(() => {
      delete process.env['PAYSTILE_SECRET']
    })
    expect(errorOf(end).message).toContain('fewer than 32 characters')
  })

  it('should be readable only by its owner, and serve warns otherwise', async () => {
    await prepare()
    chmodSync(join(directory, '.env'), 0o644)
    const end = await check()
    expect([end.code, end.stderr]).toEqual([0, expect.stringContaining(`chmod 600 ${join(directory, '.env')}`)])
  })
})
