/** `paystile developers`: from a document to a verification and back, by the command line alone. */
import { mkdtempSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRequest, sendResponse } from '../../src/adapters/routes.ts'
import { createSites } from '../../src/api/auth/origins.ts'
import { makeKeyFile, viewKeyFile } from '../../src/host/keys/key-file.ts'
import { type Host, openHost, setUpDevelopers } from '../api/developer-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { runHere } from './in-process.ts'

const home = useTemporaryHome()
let keyFile: string
let wallet: string
let host: Host
let service: Server
let url: string
let fixture: ReturnType<typeof setUpDevelopers>

beforeEach(async () => {
  keyFile = join(mkdtempSync(join(home.path, 'developers-')), 'me.json')
  makeKeyFile(keyFile)
  wallet = viewKeyFile(keyFile).address
  host = await openHost([])
  fixture = setUpDevelopers([host.name], { sites: createSites(undefined) })
  service = createServer((request, response) => {
    const incoming = createRequest(request, new AbortController().signal)
    const visitor = { peer: '127.0.0.1', isLoopback: true }
    const access = async () => ({ kind: 'stranger', wallet: undefined }) as const
    const answer =
      request.method === 'GET'
        ? fixture.developers.list(incoming, access)
        : request.url === '/developers'
          ? fixture.developers.register(incoming, visitor)
          : fixture.developers.revoke(incoming, visitor, access)
    answer.then((one) => sendResponse(response, one)).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
})
afterEach(async () => {
  vi.unstubAllEnvs()
  host.close()
  service.closeAllConnections()
  service.close()
  await fixture.close()
})
afterAll(() => home.remove())

async function run(...args: readonly string[]) {
  const { code, stdout, stderr } = await runHere(['developers', ...args, '--json'])
  return { code, result: stdout ? JSON.parse(stdout) : undefined, error: stderr ? JSON.parse(stderr).error : undefined }
}
const mine = () => ['--service', url, '--wallet', keyFile]

describe('paystile developers', () => {
  it('leads from nothing to a verified host, and names the missing part at each step', async () => {
    const early = await run('register', '--host', host.name, ...mine())
    expect([early.code, early.error.code]).toEqual([5, 'document_refused'])
    const unready = await run('verify', host.name, ...mine())
    expect(unready.code).toBe(5)
    expect(unready.error.message).toBe(
      `The document at http://${host.name}/.well-known/paystile-developer.json is not valid: it does not name ${wallet} for ${url}; add the output of npx paystile developers document --service ${url} --wallet ${keyFile}`,
    )
    const document = await run('document', ...mine())
    expect(document.result).toEqual({ wallet, service: url })
    host.say(document.result)
    // Nothing of what failed is remembered, so no time has to pass.
    expect((await run('verify', host.name, ...mine())).result).toMatchObject({ ok: true, wallet, until: null })
    const advised = await runHere(['developers', 'verify', host.name, ...mine()], { isTerminal: true })
    expect(advised.stdout).toContain(`developers register --host ${host.name} --service ${url} --wallet ${keyFile}\n`)
    const registered = await run('register', '--host', host.name.toUpperCase(), ...mine())
    expect(registered.result).toMatchObject({ ok: true, host: host.name, wallet })
    const { until } = registered.result
    expect((await run('verify', host.name, ...mine())).result).toMatchObject({ until })
    expect((await run('list', '--service', `${url}/dashboard?x`)).result.developers).toEqual([
      expect.objectContaining({ host: host.name, wallet, until }),
    ])
    fixture.clock.pass(1_000)
    expect((await run('register', '--host', host.name, ...mine())).code).toBe(0)
    fixture.clock.pass(1_000)
    expect((await run('revoke', host.name, ...mine())).result).toMatchObject({ ok: true, revoked: true })
    expect((await run('revoke', host.name, ...mine())).error.code).toBe('not_verified')
  })

  it('prints the document for people as it goes into the file', async () => {
    const { stdout } = await runHere(['developers', 'document', ...mine()], { isTerminal: true })
    expect(JSON.parse(stdout)).toEqual({ wallet, service: url })
    const { stdout: list } = await runHere(['developers', 'list', '--service', url], { isTerminal: true })
    expect(list).toBe('The service has no verified hosts.\n')
  })

  it('goes by the clock of the service', async () => {
    host.say({ wallet, service: url })
    fixture.clock.pass(100 * 86_400_000)
    expect((await run('register', '--host', host.name, ...mine())).code).toBe(0)
  })

  it('takes the service from the environment, and an address where nothing is signed', async () => {
    vi.stubEnv('PAYSTILE_URL', `${url}/`)
    expect((await run('document', '--wallet', wallet)).result).toEqual({ wallet, service: url })
    vi.stubEnv('PAYSTILE_URL', '')
    const lost = await run('document', '--wallet', wallet)
    expect([lost.code, lost.error.message]).toEqual([2, expect.stringContaining('--service')])
  })

  it('signs for no other service than the one that was named', async () => {
    const evil = setUpDevelopers([host.name], { sites: createSites('https://pay.example') })
    await fixture.close()
    fixture = evil
    const { code, error } = await run('register', '--host', host.name, ...mine())
    expect([code, error.message]).toEqual([
      2,
      `The service at ${url} has the address https://pay.example. Use that address with --service.`,
    ])
    expect(evil.ledger.rows).toEqual([])
  })

  it('tells of a host that cannot be reached', async () => {
    host.close()
    const { code, error } = await run('verify', host.name, ...mine())
    expect([code, error.message]).toEqual([
      7,
      `The document at http://${host.name}/.well-known/paystile-developer.json cannot be read: the host cannot be reached (ECONNREFUSED). Try again.`,
    ])
  })

  it.each(['user@api.example.com', 'ftp://x', 'api.example.com/x', '', 'a b'])(
    'does not take %j for a host',
    async (text) => {
      const { code, error } = await run('verify', text, ...mine())
      expect([code, error.message]).toEqual([2, expect.stringContaining('is not a host')])
    },
  )

  it.each<[string, number, string, number, RegExp]>([
    ['rewards nobody', 404, '{}', 5, /has no rewards for developers/],
    ['is none of ours', 200, '<html>', 7, /is not a paystile service/],
    ['leads elsewhere', 302, '', 7, /is not a paystile service/],
    [
      'writes to the terminal',
      200,
      JSON.stringify({
        ...{ service: 'x', id: 'x', network: 'localnet', genesis: 'x', time: '2026-01-31T12:00:00.000Z' },
        developers: [{ host: '\u001b[2J', wallet: 'x', until: 'x' }],
      }),
      7,
      /is not a paystile service/,
    ],
  ])('tells of a service that %s', async (_what, status, body, code, why) => {
    const odd = createServer((_request, response) => void response.writeHead(status, { location: url }).end(body))
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve))
    const answer = await run('list', '--service', `http://127.0.0.1:${(odd.address() as AddressInfo).port}`)
    expect([answer.code, answer.error.message]).toEqual([code, expect.stringMatching(why)])
    odd.closeAllConnections()
    odd.close()
  })
})
