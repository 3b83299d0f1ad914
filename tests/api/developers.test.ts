/** A developer proves a wallet and a host; everybody else, with anything less, proves nothing. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSites } from '../../src/api/auth/origins.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { formatDeveloperText, readDeveloperHost } from '../../src/core/payouts/developers.ts'
import { createDocumentReader } from '../../src/host/net/developer-documents.ts'
import { genesis, type Host, openHost, origin, setUpDevelopers, told } from './developer-fixture.ts'
import { createPerson } from './people.ts'

const dayMs = 86_400_000
const developer = createPerson()
const other = createPerson()
let host: Host
let fixture: ReturnType<typeof setUpDevelopers>

beforeEach(async () => {
  host = await openHost({ wallet: developer.address, service: origin })
  fixture = setUpDevelopers([host.name, 'api.example.com'])
})
afterEach(async () => {
  host.close()
  await fixture.close()
})

describe('POST /developers', () => {
  it('verifies a host for the wallet that signed and that its document names, for 30 days', async () => {
    const response = await fixture.register(developer, host.name)
    const from = fixture.clock.now()
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        host: host.name,
        wallet: developer.address,
        from: new Date(from).toISOString(),
        until: new Date(from + 30 * dayMs).toISOString(),
      },
    ])
    expect(fixture.ledger.rows).toEqual([
      { host: host.name, wallet: developer.address, from, until: from + 30 * dayMs, isRevoked: false },
    ])
    expect(host.asked).toEqual(['GET /.well-known/paystile-developer.json'])
    expect(fixture.logged).toEqual([{ event: 'developer.verified', host: host.name, wallet: developer.address }])
  })

  it.each([
    ['its origin with a slash', { service: `${origin}/` }],
    ['its id', { service: 'weather' }],
    ['more beside it', { service: origin, name: 'me' }],
  ])('takes a document that names the service by %s', async (_what, entry) => {
    host.say({ wallet: developer.address, ...entry })
    expect((await fixture.register(developer, host.name)).status).toBe(200)
  })

  it('takes a list, and finds the wallet in it', async () => {
    const entries = [other, developer].map(({ address }) => ({ wallet: address, service: origin }))
    host.say(entries)
    expect((await fixture.register(developer, host.name)).status).toBe(200)
  })

  it('verifies again: the one before ends, and the time begins anew', async () => {
    await fixture.register(developer, host.name)
    fixture.clock.pass(20 * dayMs)
    expect((await fixture.register(developer, host.name)).status).toBe(200)
    const [before, after] = fixture.ledger.rows
    expect(before?.until).toBe(after?.from)
    expect(after?.until).toBe(fixture.clock.now() + 30 * dayMs)
  })

  it('follows the current document: another wallet takes over when the document names it', async () => {
    await fixture.register(developer, host.name)
    fixture.clock.pass(dayMs)
    expect(await told(fixture.register(other, host.name))).toMatch(/^403 document_refused/)
    host.say({ wallet: other.address, service: origin })
    fixture.clock.pass(5_000)
    expect((await fixture.register(other, host.name)).status).toBe(200)
    expect((await fixture.list()).developers).toEqual([expect.objectContaining({ wallet: other.address })])
  })

  it('takes the signature of a wallet that puts a header before the message', async () => {
    const body = fixture.bodyFor('register', developer, host.name)
    const facts = { purpose: 'register', host: host.name, wallet: developer.address, origin, genesis } as const
    const text = Buffer.from(formatDeveloperText({ ...facts, issuedAt: Date.parse(body.issuedAt) }))
    const header = [0xff, ...Buffer.from('solana offchain'), 0, 0, text.length & 255, text.length >> 8]
    const signed = Buffer.from([...header, ...text])
    const sent = { signature: encodeBase58(developer.sign(signed)), signedMessage: signed.toString('base64') }
    expect((await fixture.post('/developers', { ...body, ...sent })).status).toBe(200)
  })

  it('reports all problems of a body', async () => {
    const response = await fixture.post('/developers', {
      host: '',
      wallet: 'x',
      issuedAt: 'today',
      signature: '1',
      more: 1,
    })
    const { code, problems } = (await response.json()) as { code: string; problems: string[] }
    expect([response.status, code, problems.length]).toEqual([400, 'body_invalid', 5])
  })

  it('has to know its own address', async () => {
    const unnamed = setUpDevelopers([host.name], { sites: createSites(undefined) })
    expect(await told(unnamed.register(developer, host.name))).toMatch(/^501 sign_in_unconfigured/)
    await unnamed.close()
  })
})

describe('a message proves nothing', () => {
  const tamper = (said: object, sent: object = {}) => told(fixture.register(developer, host.name, { said, sent }))

  it.each([
    ['for another host', { host: 'api.example.com' }],
    ['for another service', { origin: 'https://evil.example' }],
    ['for the same service by http', { origin: 'http://pay.example' }],
    ['for another chain', { genesis: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' }],
    ['for another wallet', { wallet: other.address }],
    ['of another purpose', { purpose: 'revoke' }],
  ])('when it is %s', async (_what, said) => {
    expect(await tamper(said)).toMatch(/^403 message_refused .*the signature does not match the wallet/)
    expect([host.asked, fixture.ledger.rows]).toEqual([[], []])
  })

  it('when its time was changed, is long ago or yet to come', async () => {
    const now = fixture.clock.now()
    const at = (ms: number) => new Date(now + ms).toISOString()
    expect(await tamper({ issuedAt: now }, { issuedAt: at(1) })).toMatch(/^403 message_refused .*signature/)
    expect(await tamper({ issuedAt: now - 300_000 })).toMatch(/^403 message_refused .*older than five minutes/)
    expect(await tamper({ issuedAt: now + 60_001 })).toMatch(/^403 message_refused .*check the clock/)
    expect(host.asked).toEqual([])
    expect(await tamper({ issuedAt: now - 299_000 })).toBe('200')
    expect(await tamper({ issuedAt: now + 60_000 })).toBe('200')
  })

  it('with the signature of another wallet', async () => {
    const { signature } = fixture.bodyFor('register', other, host.name)
    expect(await tamper({}, { signature })).toMatch(/^403 message_refused/)
    expect(host.asked).toEqual([])
  })

  it('when it was used before, also after a revocation', async () => {
    const body = fixture.bodyFor('register', developer, host.name)
    expect((await fixture.post('/developers', body)).status).toBe(200)
    expect(await told(fixture.post('/developers', body))).toMatch(/^403 message_refused .*already been used/)
    expect((await fixture.revoke(developer, host.name)).status).toBe(200)
    expect(await told(fixture.post('/developers', body))).toMatch(/^403 message_refused .*already been used/)
    expect((await fixture.list()).developers).toEqual([])
  })

  it('when twenty bring it at once: one is verified', async () => {
    const body = fixture.bodyFor('register', developer, host.name)
    const peers = Array.from({ length: 20 }, (_, index) => `203.0.113.${index}`)
    const answers = await Promise.all(peers.map((peer) => fixture.post('/developers', body, { peer })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(fixture.ledger.rows).toHaveLength(1)
    expect(host.asked).toHaveLength(1)
  })
})

describe('a document proves nothing', () => {
  const refused = async () => {
    const answer = await told(fixture.register(developer, host.name))
    expect(fixture.ledger.rows).toEqual([])
    return answer
  }

  it.each([
    ['names another wallet', { wallet: other.address, service: origin }],
    ['is for another service', { wallet: developer.address, service: 'https://evil.example' }],
    ['is for a path of the service', { wallet: developer.address, service: `${origin}/x` }],
    ['is for a service whose name begins so', { wallet: developer.address, service: `${origin}.evil.example` }],
    ['is for nobody', []],
    [
      'puts two things together that stand apart',
      [
        { wallet: developer.address, service: 'x' },
        { wallet: other.address, service: origin },
      ],
    ],
  ])('that %s', async (_what, document) => {
    host.say(document)
    expect(await refused()).toMatch(/^403 document_refused .*it does not name this wallet for this service/)
  })

  it('without a valid document, and explains its correct form', async () => {
    host.answer((_request, response) => void response.writeHead(404).end())
    expect(await refused()).toBe(
      `403 document_refused The document at /.well-known/paystile-developer.json is not valid: it does not exist (404). Add ${JSON.stringify({ wallet: developer.address, service: origin })} to it.`,
    )
  })

  it('on the other side of a redirect', async () => {
    const elsewhere = await openHost({ wallet: developer.address, service: origin })
    host.answer((_request, response) => {
      response.writeHead(302, { location: `http://${elsewhere.name}/.well-known/paystile-developer.json` }).end()
    })
    expect(await refused()).toMatch(/^403 document_refused .*redirects/)
    expect(elsewhere.asked).toEqual([])
    elsewhere.close()
  })

  it('that is huge', async () => {
    host.answer((_request, response) => {
      const entry = JSON.stringify({ wallet: developer.address, service: origin })
      response.end(`[${entry}${`,${entry}`.repeat(1_000)}]`)
    })
    expect(await refused()).toMatch(/^403 document_refused .*more than 10000 bytes/)
  })

  it('of a host that has trouble, which may come again', async () => {
    host.answer((_request, response) => void response.writeHead(500).end('{}'))
    const answer = await fixture.register(developer, host.name)
    expect(answer.headers.get('retry-after')).toBe('30')
    expect(await told(Promise.resolve(answer))).toBe('503 document_unavailable Not verified: the host returned 500.')
    host.say({ wallet: developer.address, service: origin })
    fixture.clock.pass(5_000)
    expect((await fixture.register(developer, host.name)).status).toBe(200)
  })
})

describe('T143: no document is requested', () => {
  it('for a host that the operator does not name, in any spelling', async () => {
    const asked: string[] = []
    const named = ['api.example.com', host.name, 'xn--bcher-kva.example']
    const spying = setUpDevelopers(named, {
      readDocument: async (name) => {
        asked.push(name)
        return { kind: 'document', entries: [{ wallet: developer.address, service: origin }] }
      },
    })
    const spellings = [
      'example.com',
      'evil.example',
      'API.example.com',
      'api.example.com.',
      'api.example.com:443',
      'api.example.com:8080',
      'api.example.com/',
      'api.example.com/x',
      'api.example.com?',
      'api.example.com#',
      'https://api.example.com',
      '//api.example.com',
      'user@api.example.com',
      'api.example.com@evil.example',
      'api.example.com\\@evil.example',
      ' api.example.com',
      'api.example.com\n',
      'api.example.com\u0000',
      'api%2eexample.com',
      'api.example。com',
      'ａpi.example.com',
      'bücher.example',
      'XN--BCHER-KVA.example',
      'localhost',
      '127.0.0.1',
      '0x7f.1',
      '2130706433',
      '[::1]',
      '169.254.169.254',
      'toString',
      '__proto__',
    ]
    for (const spelling of spellings) {
      const body = spying.bodyFor('register', developer, spelling)
      const answer = await told(spying.post('/developers', body, { peer: `203.0.113.${spellings.indexOf(spelling)}` }))
      expect([spelling, answer]).toEqual([spelling, '404 host_unknown No route of this service uses that host.'])
    }
    expect(asked).toEqual([])
    for (const name of named) expect((await spying.register(developer, name)).status).toBe(200)
    expect(asked).toEqual(named)
    await spying.close()
  })

  it('before the message is good', async () => {
    await fixture.register(developer, host.name, { sent: { signature: encodeBase58(new Uint8Array(64)) } })
    expect(host.asked).toEqual([])
  })

  it('repeatedly: after five requests, all requests within five seconds share one result', async () => {
    host.say([])
    for (let index = 0; index < 30; index += 1) {
      const body = fixture.bodyFor('register', createPerson(), host.name)
      await fixture.post('/developers', body, { peer: `203.0.113.${index}` })
    }
    expect(host.asked).toHaveLength(5)
    fixture.clock.pass(5_000)
    await fixture.post('/developers', fixture.bodyFor('register', createPerson(), host.name), { peer: '203.0.113.99' })
    expect(host.asked).toHaveLength(6)
  })

  it('for a name that resolves to a private address', async () => {
    const port = host.name.split(':')[1]
    const documents = createDocumentReader('mainnet')
    const inner = setUpDevelopers([`localhost:${port}`], { readDocument: documents.read })
    expect(await told(inner.register(developer, `localhost:${port}`))).toBe(
      '503 document_unavailable Not verified: the host resolves to a private network.',
    )
    expect(host.asked).toEqual([])
    await inner.close()
    await documents.close()
  })
})

it('a client with too many attempts waits, and other clients do not', async () => {
  const statuses: number[] = []
  for (let index = 0; index < 25; index += 1) {
    statuses.push((await fixture.post('/developers', {}, { peer: '203.0.113.7' })).status)
  }
  expect(statuses.filter((status) => status === 429)).toHaveLength(5)
  expect(await told(fixture.post('/developers/revoke', {}, { peer: '203.0.113.7' }))).toMatch(/^429 rate_limited/)
  expect((await fixture.register(developer, host.name)).status).toBe(200)
})

describe('POST /developers/revoke', () => {
  beforeEach(async () => {
    await fixture.register(developer, host.name)
    fixture.clock.pass(1_000)
  })
  const held = async () => (await fixture.list()).developers.length

  it('by the wallet that it is for, at once', async () => {
    const answer = await fixture.revoke(developer, host.name)
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { host: host.name, wallet: developer.address, revoked: true },
    ])
    expect(fixture.ledger.rows).toEqual([expect.objectContaining({ until: fixture.clock.now(), isRevoked: true })])
    expect(await held()).toBe(0)
    fixture.clock.pass(1)
    expect(await told(fixture.revoke(developer, host.name))).toBe('404 not_verified The host is not verified.')
  })

  it('by a signed-in owner, and by a local user', async () => {
    const owner = { kind: 'owner', wallet: other.address } as const
    expect((await fixture.post('/developers/revoke', { host: host.name }, { access: owner })).status).toBe(200)
    expect(await held()).toBe(0)
    fixture.clock.pass(5_000)
    await fixture.register(developer, host.name)
    const local = { kind: 'open' } as const
    expect((await fixture.post('/developers/revoke', { host: host.name }, { access: local })).status).toBe(200)
    expect(await told(fixture.post('/developers/revoke', { host: host.name }, { access: owner }))).toMatch(/^404/)
  })

  it('by a stranger changes nothing, for any signature and body', async () => {
    const strangers = [
      fixture.revoke(other, host.name),
      fixture.post('/developers/revoke', { host: host.name }),
      fixture.post(
        '/developers/revoke',
        { host: host.name },
        { access: { kind: 'stranger', wallet: developer.address } },
      ),
      fixture.revoke(other, host.name, { said: { wallet: developer.address }, sent: { wallet: developer.address } }),
      fixture.revoke(developer, host.name, { said: { host: 'api.example.com' } }),
      fixture.revoke(developer, host.name, { said: { purpose: 'register' } }),
      fixture.revoke(developer, host.name, { said: { origin: 'https://evil.example' } }),
      fixture.revoke(developer, host.name, { said: { issuedAt: fixture.clock.now() - 300_000 } }),
      fixture.post('/developers/revoke', { host: host.name, wallet: developer.address }),
    ]
    const codes = (await Promise.all(strangers.map(told))).map((text) => text.split(' ').slice(0, 2).join(' '))
    expect(codes).toEqual([
      '403 message_refused',
      '401 sign_in_required',
      '403 not_owner',
      '403 message_refused',
      '403 message_refused',
      '403 message_refused',
      '403 message_refused',
      '403 message_refused',
      '400 body_invalid',
    ])
    expect(await held()).toBe(1)
  })

  it('by a message that was used before changes nothing', async () => {
    const body = fixture.bodyFor('revoke', developer, host.name)
    expect((await fixture.post('/developers/revoke', body)).status).toBe(200)
    fixture.clock.pass(5_000)
    expect((await fixture.register(developer, host.name)).status).toBe(200)
    expect(await told(fixture.post('/developers/revoke', body))).toMatch(/^403 message_refused .*already been used/)
    expect(await held()).toBe(1)
  })

  it('works for a host that the operator names no more', async () => {
    const without = setUpDevelopers([], { book: fixture.book, clock: fixture.clock })
    expect((await without.revoke(developer, host.name, { said: { issuedAt: fixture.clock.now() } })).status).toBe(200)
    await without.close()
  })
})

describe('GET /developers', () => {
  it('lists verified hosts for every client, and all known hosts only for owners', async () => {
    await fixture.register(developer, host.name)
    const from = fixture.clock.now()
    const line = {
      host: host.name,
      wallet: developer.address,
      from: new Date(from).toISOString(),
      until: new Date(from + 30 * dayMs).toISOString(),
    }
    const about = { service: origin, id: 'weather', network: 'localnet', genesis, time: new Date(from).toISOString() }
    const open = { ...about, developers: [line] }
    expect(await fixture.list()).toEqual(open)
    expect(await fixture.list({ kind: 'owner', wallet: other.address })).toEqual({
      ...open,
      hosts: [host.name, 'api.example.com'],
    })
    fixture.clock.pass(30 * dayMs)
    expect((await fixture.list()).developers).toEqual([])
  })
})

it('two changes to one host do not cross: a look that began before another was verified does not undo that', async () => {
  await fixture.register(developer, host.name)
  fixture.clock.pass(1)
  await Promise.all([
    fixture.book.prolong(host.name, developer.address),
    fixture.book.assign(host.name, other.address),
    fixture.book.end(host.name, developer.address),
  ])
  expect((await fixture.book.current(host.name))?.wallet).toBe(other.address)
  await fixture.kv.put(`developers:change:${host.name}`, '', fixture.clock.now() + 60_000)
  expect(await fixture.book.end(host.name, other.address)).toBe('busy')
})

it('the host of an upstream is written as developers have to write it', () => {
  expect(readDeveloperHost('https://API.example.com:443/v1')).toBe('api.example.com')
})

it('a service without an address of its own is known by this machine’s, and one that has some by those alone', () => {
  const knows = (origin: string, ...given: [string?, string[]?]) => createSites(...given).knows(origin)
  expect(['http://127.0.0.1:8402', 'http://localhost'].map((one) => knows(one))).toEqual([true, true])
  expect(['https://evil.example', 'http://127.0.0.1/x', 'nonsense', ''].map((one) => knows(one))).toEqual(
    Array(4).fill(false),
  )
  const given = ['https://pay.example', ['https://b.example']] as [string, string[]]
  expect(['https://pay.example', 'https://b.example', 'http://127.0.0.1'].map((one) => knows(one, ...given))).toEqual([
    true,
    true,
    false,
  ])
})
