/** Exports that go to a spreadsheet: links that it fetches by, and rows that are written into it. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { paymentColumns } from '../../src/api/analytics/format.ts'
import { createExports, type ExportParts } from '../../src/api/exports/routes.ts'
import type { SheetsPort } from '../../src/core/ports/sheets.ts'
import type { Facts } from '../../src/core/runtime.ts'
import { openGoogleSheets } from '../../src/host/net/google-sheets.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { captureAt, createBooks, createHandClock, createShelf } from './fake-services.ts'
import { type Google, startGoogle } from './google.ts'

const base = 'https://api.example'

function setUp(count: number, more: Partial<ExportParts> = {}) {
  const clock = createHandClock()
  const kv = createShelf(clock)
  const { books, reads } = createBooks(count, (index) => captureAt(index, { token: index % 2 ? 'SOL' : 'USDC' }))
  const logged: Facts[] = []
  const note = (_event: string, facts: Facts = {}) => void logged.push(facts)
  const parts: ExportParts = {
    books,
    kv,
    clock,
    log: { info: note, warn: note, error: note },
    key: new Uint8Array(32).fill(9),
    decimalsOf: () => 6,
    isOwner: () => true,
    ...more,
  }
  const exports = createExports(parts)
  const ask = (query: string, method = 'GET') =>
    exports.handle(new Request(`${base}/api/analytics/export${query}`, { method }), 'owner-wallet')
  const links = (path = '', method = 'GET') =>
    exports.handleLinks(new Request(`${base}/api/analytics/links${path}`, { method }))
  const makeLink = async (query = '') =>
    (await (await ask(`?format=sheets${query}`)).json()) as Record<
      'formula' | 'url' | 'validUntil' | 'id' | 'howto',
      string
    >
  const follow = (url: string) => exports.handle(new Request(url), '')
  return { ask, clock, exports, follow, links, logged, makeLink, parts, reads, kv }
}

describe('a link for a spreadsheet', () => {
  it('comes as a formula, with its end and how to revoke it', async () => {
    const { makeLink, exports } = setUp(3)
    const link = await makeLink()
    expect(link).toEqual({
      formula: `=IMPORTDATA("${link.url}")`,
      url: expect.stringMatching(/^https:\/\/api\.example\/api\/analytics\/export\?format=csv&link=[\w-]{64}$/),
      validUntil: '2026-02-07T12:00:00.000Z',
      id: expect.stringMatching(/^[\w-]{22}$/),
      howto: expect.stringContaining(`DELETE /api/analytics/links/${link.id}`),
    })
    expect(exports.hasLink(new Request(link.url))).toBe(true)
    expect(exports.hasLink(new Request(link.url, { method: 'POST' }))).toBe(false)
    expect(exports.hasLink(new Request(`${base}/api/analytics/export`))).toBe(false)
  })

  it('returns CSV for the query of its creation, without a byte order mark', async () => {
    const { follow, makeLink } = setUp(100)
    const text = await (await follow((await makeLink('&token=SOL&from=2026-01-01T00:00:10Z')).url)).text()
    const lines = text.trimEnd().split('\r\n')
    expect(lines).toHaveLength(1 + 45)
    expect(text.startsWith('timestamp,')).toBe(true)
    expect(lines.slice(1).every((line) => line.includes(',SOL,'))).toBe(true)
  })

  it('T135: has no transactions, by which payers could be looked up on chain', async () => {
    const { ask, follow, makeLink } = setUp(2)
    const [header = ''] = (await (await follow((await makeLink()).url)).text()).split('\r\n')
    expect(header.split(',')).toEqual(paymentColumns.filter((column) => column !== 'tx' && column !== 'refundTx'))
    const [own = ''] = (await (await ask('')).text()).split('\r\n')
    expect(own.split(',')).toEqual(expect.arrayContaining(['tx', 'refundTx']))
  })

  it('T136: cannot be made to give more than it was made for', async () => {
    const { follow, makeLink } = setUp(100)
    const { url } = await makeLink('&token=SOL')
    for (const more of [
      '&token=USDC',
      '&from=2020-01-01',
      '&format=csv',
      '&format=json',
      '&link=x',
      '&status=',
      '&x=1',
    ]) {
      expect((await follow(`${url}${more}`)).status).toBe(400)
    }
    expect((await follow(url.replace('format=csv', 'format=json'))).status).toBe(400)
    expect((await follow(url.replace('format=csv', 'format=xlsx'))).status).toBe(400)
  })

  it('T136: is refused, and the store not asked, when it was made up, changed or made for something else', async () => {
    const { follow, makeLink, kv } = setUp(3)
    const { url } = await makeLink()
    const before = kv.calls()
    const token = new URL(url).searchParams.get('link') ?? ''
    for (const wrong of [
      '',
      'x',
      'A'.repeat(64),
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      `${token}A`,
    ]) {
      expect((await follow(url.replace(token, wrong))).status).toBe(403)
    }
    expect(kv.calls()).toBe(before)
  })

  it('ends with its time', async () => {
    const { clock, follow, links, makeLink } = setUp(3, { linkTtlSeconds: 60 })
    const { url } = await makeLink()
    clock.pass(59_999)
    expect((await follow(url)).status).toBe(200)
    clock.pass(1)
    expect((await follow(url)).status).toBe(403)
    expect(await (await links()).json()).toEqual({ links: [] })
  })

  it('T244: ends when the wallet that created it is no longer an owner, also during a download', async () => {
    let owners = ['owner-wallet']
    const { follow, makeLink } = setUp(3_000, { isOwner: (wallet) => owners.includes(wallet) })
    const { url } = await makeLink()
    const reader = (await follow(url)).body?.getReader() ?? expect.fail()
    await reader.read()
    owners = []
    const rest = async () => {
      while (!(await reader.read()).done);
    }
    await expect(rest()).rejects.toThrow('the link was revoked')
    expect((await follow(url)).status).toBe(403)
    owners = ['owner-wallet']
    expect((await follow(url)).status).toBe(200)
  })

  it('T140: is kept as a hash only, and the list has nothing that opens it', async () => {
    const { links, makeLink, kv } = setUp(3)
    const { url, id } = await makeLink('&endpoint=/a')
    const token = new URL(url).searchParams.get('link') ?? ''
    const list = await (await links()).text()
    for (const text of [JSON.stringify([...kv.kept]), list]) {
      expect(text).toContain(id)
      expect(text).not.toContain(token.slice(0, 16))
    }
    expect(JSON.parse(list)).toEqual({
      links: [
        {
          id,
          query: 'endpoint=%2Fa',
          owner: 'owner-wallet',
          madeAt: '2026-01-31T12:00:00.000Z',
          validUntil: '2026-02-07T12:00:00.000Z',
        },
      ],
    })
  })

  it('is revoked at once, also for current readers, and on every server', async () => {
    const { follow, links, makeLink, parts } = setUp(5_000)
    const { url, id } = await makeLink()
    const reader = (await follow(url)).body?.getReader()
    await reader?.read()
    expect(await (await links(`/${id}`, 'DELETE')).json()).toEqual({ revoked: true })
    const rest = async () => {
      for (;;) if ((await reader?.read())?.done) return 'whole'
    }
    await expect(rest()).rejects.toThrow('revoked')
    expect((await follow(url)).status).toBe(403)
    const other = createExports(parts)
    expect((await other.handle(new Request(url), '')).status).toBe(403)
    expect((await links(`/${id}`, 'DELETE')).status).toBe(404)
  })

  it('does not let the list of links be used for anything else on the shelf', async () => {
    const { links, kv, clock } = setUp(1)
    await kv.put('session:abc', 'x', clock.now() + 1000)
    for (const path of ['/session:abc', '/..%2Fsession:abc', '/', '/a/b']) {
      expect((await links(path, 'DELETE')).status).toBe(404)
    }
    expect(kv.kept.has('session:abc')).toBe(true)
    expect((await links('', 'POST')).status).toBe(405)
    expect((await links('/x')).status).toBe(405)
  })

  it('is one of a hundred at the most, and of two downloads', async () => {
    const { ask, follow, makeLink } = setUp(2_000)
    const { url } = await makeLink()
    for (let index = 1; index < 100; index += 1) await makeLink()
    expect((await ask('?format=sheets')).status).toBe(409)
    const statuses = (await Promise.all([follow(url), follow(url), follow(url), ask('')])).map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 503, 200])
  })

  it('is not made for a page of another site, and nothing is exported to one', async () => {
    const { exports, kv } = setUp(1)
    for (const site of ['cross-site', 'same-site']) {
      for (const format of ['sheets', 'csv']) {
        const headers = { 'sec-fetch-site': site }
        const request = new Request(`${base}/api/analytics/export?format=${format}`, { headers })
        expect((await exports.handle(request, '')).status).toBe(403)
      }
    }
    expect(kv.kept.size).toBe(0)
  })

  it('has the address under which the service is known', async () => {
    const { makeLink } = setUp(1, { publicUrl: 'https://pay.example/shop/' })
    expect((await makeLink()).url).toMatch(/^https:\/\/pay\.example\/shop\/api\/analytics\/export\?/)
  })
})

describe('rows written into a Google spreadsheet', () => {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const email = 'books@project.iam.gserviceaccount.com'
  const privateKey = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const credentials = { client_email: email, private_key: privateKey }
  const options = { credentials, spreadsheetId: 'spreadsheet-0123456789', range: 'Päyments!A:Q' }
  const clock = createHandClock()
  const http = createHttpTransport()
  let google: Google
  const open = (more: object = {}): SheetsPort => {
    const parts = { post: http.post, clock, apiUrl: google.url, tokenUrl: `${google.url}/token` }
    const reading = openGoogleSheets({ ...options, ...more }, parts)
    if (reading.kind !== 'sheets') throw new Error(reading.problems.join())
    return reading.sheets
  }
  beforeAll(async () => {
    google = await startGoogle({ email, publicKey: keys.publicKey }, clock.now)
  })
  beforeEach(() => {
    google.values.length = 0
  })
  afterAll(async () => {
    await google.close()
    await http.close()
  })

  it('T137: arrive as raw text below a header, and again as the same sheet', async () => {
    const { ask } = setUp(2_500, { sheets: open() })
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await ask('?format=sheets', 'POST')
      expect(await answer.json()).toEqual({ written: 2_500 })
      expect(google.values).toHaveLength(2_501)
      expect(google.values[0]).toEqual([...paymentColumns])
      expect(google.values[2_500]?.slice(0, 6)).toEqual([
        '2026-01-01T00:41:39.000Z',
        'request-2499',
        'payer-0',
        '/api/weather',
        'SOL',
        '2.5',
      ])
    }
  })

  it('are sent with one access token for an hour', async () => {
    const sheets = open()
    const before = google.tokensGiven()
    for (let turn = 0; turn < 3; turn += 1) expect(await sheets.append([['a']])).toEqual({ kind: 'done' })
    expect(google.tokensGiven()).toBe(before + 1)
    clock.pass(3_590_000)
    expect(await sheets.append([['a']])).toEqual({ kind: 'done' })
    expect(google.tokensGiven()).toBe(before + 2)
  })

  it('T140: report a failure in one sentence, without the response of Google', async () => {
    const { ask, logged } = setUp(2_500, { sheets: open() })
    google.answerWith(200, 200, 200, 429)
    const answer = await ask('?format=sheets', 'POST')
    expect(answer.status).toBe(502)
    const text = await answer.text()
    expect(JSON.parse(text).detail).toBe("After 1000 rows: Google's rate limit is reached; wait a minute.")
    expect(text + JSON.stringify(logged)).not.toMatch(/secret|ya29|PRIVATE/)
    expect((await ask('?format=sheets', 'POST')).status).toBe(200)
  })

  it.each([
    [403, /share it with its client_email/],
    [404, /does not find the spreadsheet/],
    [500, /status 500/],
  ])('explain the next step when Google responds with %i', async (status, why) => {
    google.answerWith(status)
    expect(await open().clear()).toEqual({ kind: 'failed', why: expect.stringMatching(why) })
  })

  it('are refused by Google for another key or another account', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    })
    const foreign = { client_email: email, private_key: other.toString() }
    expect(await open({ credentials: foreign }).clear()).toMatchObject({
      why: 'Google did not accept the service account',
    })
  })

  it('T143: connect only to the addresses of Google, for any address in the account file', async () => {
    const asked: string[] = []
    const post = async (url: string) => {
      asked.push(url)
      return { status: 200, text: JSON.stringify({ access_token: 'a', expires_in: 3_600 }) }
    }
    const evil = { ...credentials, token_uri: 'http://169.254.169.254/token', auth_uri: 'http://127.0.0.1/' }
    const reading = openGoogleSheets({ ...options, credentials: evil }, { post, clock })
    expect(reading.kind === 'sheets' && (await reading.sheets.clear())).toEqual({ kind: 'done' })
    expect(asked).toEqual([
      'https://oauth2.googleapis.com/token',
      'https://sheets.googleapis.com/v4/spreadsheets/spreadsheet-0123456789/values/P%C3%A4yments!A%3AQ:clear',
    ])
  })

  it('say so when Google cannot be reached', async () => {
    const reading = openGoogleSheets(options, {
      post: http.post,
      clock,
      apiUrl: 'http://127.0.0.1:1',
      tokenUrl: 'http://127.0.0.1:1',
    })
    expect(reading.kind === 'sheets' && (await reading.sheets.clear())).toEqual({
      kind: 'failed',
      why: 'Google could not be reached',
    })
  })

  it('are written by one server at a time', async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow: SheetsPort = {
      clear: () => gate.then(() => ({ kind: 'done' })),
      append: async () => ({ kind: 'done' }),
    }
    const { ask, parts } = setUp(1, { sheets: slow })
    const first = ask('?format=sheets', 'POST')
    const other = createExports(parts)
    const second = await other.handle(new Request(`${base}/api/analytics/export?format=sheets`, { method: 'POST' }), '')
    expect(second.status).toBe(409)
    release()
    expect((await first).status).toBe(200)
    expect((await ask('?format=sheets', 'POST')).status).toBe(200)
  })

  it('T245: are written by one server at a time also if each page takes long', async () => {
    const statuses: number[] = []
    const slow: SheetsPort = {
      clear: async () => ({ kind: 'done' }),
      append: async () => {
        made.clock.pass(55_000)
        const ordered = new Request(`${base}/api/analytics/export?format=sheets`, { method: 'POST' })
        statuses.push((await other.handle(ordered, '')).status)
        return { kind: 'done' }
      },
    }
    const made = setUp(20_000, { sheets: slow })
    const other = createExports({ ...made.parts, sheets: { ...slow, append: async () => ({ kind: 'done' }) } })
    expect((await made.ask('?format=sheets', 'POST')).status).toBe(502)
    expect(statuses.length).toBeGreaterThan(5)
    expect(new Set(statuses)).toEqual(new Set([409]))
  })

  it('T140: need a usable key, and report problems without it', () => {
    const home = mkdtempSync(join(tmpdir(), 'paystile-test-'))
    const file = join(home, 'account.json')
    writeFileSync(file, JSON.stringify({ type: 'service_account', ...credentials }))
    const parts = { post: http.post, clock }
    const { credentials: _, ...bare } = options
    const read = (more: object) => {
      const reading = openGoogleSheets({ ...bare, ...more }, parts)
      return reading.kind === 'problems' ? reading.problems : []
    }
    expect(read({ credentialsFile: file })).toEqual([])
    expect(read({})).toEqual(['sheets needs either credentialsFile or credentials'])
    expect(read({ credentialsFile: join(home, 'none'), spreadsheetId: '', range: '' })).toHaveLength(3)
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
    expect(read({ credentials: { client_email: email, private_key: ec.toString() } })).toEqual([
      'sheets.credentials holds no RSA key',
    ])
    const broken = read({ credentials: { client_email: email, private_key: privateKey.slice(0, 300) } })
    expect(broken).toEqual([expect.stringContaining('cannot be read')])
    rmSync(home, { recursive: true })
  })
})
