/** Sessions against other sites, other names, other people's cookies, and time. */
import { describe, expect, it } from 'vitest'
import { createSignIn } from '../../src/api/auth/sign-in.ts'
import { SignInError, signInWith } from '../../src/client/sign-in.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { base, cookieOf, createPerson, owner, type Person, setUp, stranger } from './people.ts'

const tokenOf = async (response: Response) => ((await response.json()) as { token: string }).token
const json = { 'content-type': 'application/json' }

describe('another site', () => {
  const messageAt = async (url: string, headers: Record<string, string>, more = {}) => {
    const { signIn } = setUp(more)
    const body = JSON.stringify({ address: owner.address })
    const request = new Request(`${url}/sign-in/nonce`, { method: 'POST', headers: { ...json, ...headers }, body })
    const answer = await signIn.handle(request, { isLoopback: true })
    return { status: answer.status, ...((await answer.json()) as { message?: string; code?: string }) }
  }

  it('gets no message of its own by relaying requests under its own name', async () => {
    const { message } = await messageAt(base, { host: 'evil.example' })
    expect(message).toMatch(/^api\.example wants you/)
    expect(message).toContain('\nURI: https://api.example\n')
  })

  it('T136: gets none at all where the service does not know its own name, nor by a name that points here', async () => {
    const nameless = { publicUrl: undefined }
    for (const host of [
      'evil.example',
      '192.0.2.7',
      'localhost.evil.example',
      '127.0.0.1.nip.io',
      'localhost@evil.example',
    ]) {
      expect(await messageAt('http://127.0.0.1:8080', { host }, nameless)).toMatchObject({
        status: 501,
        code: 'sign_in_unconfigured',
      })
    }
    for (const host of ['localhost:8080', '127.0.0.1:8080', '[::1]:8080']) {
      const { message } = await messageAt('http://127.0.0.1:8080', { host }, nameless)
      expect(message).toContain(`${host} wants you`)
      expect(message).toContain(`\nURI: http://${host}\n`)
    }
  })

  it('has no use for a message that was signed for it', async () => {
    const elsewhere = setUp({ publicUrl: 'https://evil.example' })
    const here = setUp()
    // The same secret at both, so that the name alone decides.
    const { message } = await elsewhere.messageFor(owner)
    const body = { address: owner.address, message, signature: encodeBase58(owner.sign(message)) }
    expect(await (await here.post('/sign-in', body)).json()).toMatchObject({
      status: 401,
      detail: expect.stringContaining('the message is for another site'),
    })
  })

  it('has no use for one of the same service on another network', async () => {
    const { message } = await setUp({ network: 'devnet' }).messageFor(owner)
    const body = { address: owner.address, message, signature: encodeBase58(owner.sign(message)) }
    expect((await setUp().post('/sign-in', body)).status).toBe(401)
  })

  it('may be one of our own under a second name', async () => {
    const { signIn } = setUp({ origins: ['https://pay.example'] })
    const request = new Request('https://pay.example/sign-in/nonce', {
      method: 'POST',
      headers: { ...json, origin: 'https://pay.example' },
      body: JSON.stringify({ address: owner.address }),
    })
    const { message } = (await (await signIn.handle(request, { isLoopback: false })).json()) as { message: string }
    expect(message).toMatch(/^pay\.example wants you/)
  })

  it.each([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://api.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://api.example' },
  ])('cannot start or end a session from its page: %j', async (headers) => {
    const { enter, post, asks } = setUp()
    expect((await enter(owner, headers)).status).toBe(403)
    expect((await post('/sign-in/nonce', { address: owner.address }, headers)).status).toBe(403)
    const cookie = cookieOf(await enter(owner))
    expect((await post('/sign-out', {}, { cookie, ...headers })).status).toBe(403)
    expect(await asks({ cookie })).toBeDefined()
    expect(await asks({ cookie, ...headers })).toBeUndefined()
    expect(await asks({ cookie, ...headers }, 'DELETE')).toBeUndefined()
  })

  it('cannot have a cookie used for a change; our own page can, and a bearer token always', async () => {
    const { enter, asks } = setUp()
    const response = await enter(owner)
    const [cookie, token] = [cookieOf(response), await tokenOf(response)]
    for (const method of ['POST', 'DELETE', 'PUT', 'PATCH']) {
      expect(await asks({ cookie }, method)).toBeUndefined()
      expect(await asks({ cookie, 'sec-fetch-site': 'same-origin' }, method)).toBeDefined()
      expect(await asks({ cookie, 'sec-fetch-site': 'none' }, method)).toBeDefined()
      expect(await asks({ cookie, origin: base }, method)).toBeDefined()
      expect(await asks({ authorization: `Bearer ${token}` }, method)).toBeDefined()
      expect(await asks({ authorization: `Bearer ${token}`, 'sec-fetch-site': 'cross-site' }, method)).toBeDefined()
    }
  })
})

describe('a session', () => {
  it('ends with its time', async () => {
    const { asks, clock, enter } = setUp({ sessionSeconds: 60 })
    const response = await enter(owner)
    expect(response.headers.get('set-cookie')).toContain('Max-Age=60;')
    const authorization = `Bearer ${await tokenOf(response)}`
    clock.pass(59_999)
    expect(await asks({ authorization })).toMatchObject({ wallet: owner.address })
    clock.pass(1)
    expect(await asks({ authorization })).toBeUndefined()
  })

  it('ends everywhere when its holder signs out', async () => {
    const { asks, enter, parts, post } = setUp()
    const response = await enter(owner)
    const [cookie, token] = [cookieOf(response), await tokenOf(response)]
    const out = await post('/sign-out', {}, { cookie, origin: base })
    expect(await out.json()).toEqual({ signedOut: true })
    expect(out.headers.get('set-cookie')).toMatch(/^__Host-paystile_session=; Path=\/; Max-Age=0; /)
    expect(await asks({ cookie })).toBeUndefined()
    const other = createSignIn(parts)
    const elsewhere = new Request(`${base}/api/analytics`, { headers: { authorization: `Bearer ${token}` } })
    expect(await other.sessionOf(elsewhere)).toBeUndefined()
    expect(await (await post('/sign-out', {}, { cookie, origin: base })).json()).toEqual({ signedOut: false })
  })

  it('is new at every sign-in, and the previous one ends, so it cannot be fixed in advance', async () => {
    const { asks, enter, kv } = setUp()
    const first = cookieOf(await enter(stranger))
    const second = await enter(owner, { cookie: first, origin: base })
    expect(cookieOf(second)).not.toBe(first)
    expect(await asks({ cookie: first })).toBeUndefined()
    expect(await asks({ cookie: cookieOf(second) })).toMatchObject({ wallet: owner.address })
    expect([...kv.kept.keys()].filter((name) => name.startsWith('session:'))).toHaveLength(1)
  })

  it('is not taken from a cookie that a neighbour under the same domain could have set', async () => {
    const { asks, enter } = setUp()
    const token = await tokenOf(await enter(stranger))
    expect(await asks({ cookie: `paystile_session=${token}` })).toBeUndefined()
    expect(await asks({ cookie: `__Host-paystile_session=${token}` })).toBeDefined()
  })

  it('needs no TLS at this machine, and asks for it everywhere else', async () => {
    const local = setUp({ publicUrl: undefined })
    const post = (path: string, body: object) =>
      local.signIn.handle(
        new Request(`http://localhost:8080${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) }),
        { isLoopback: true },
      )
    const { message } = (await (await post('/sign-in/nonce', { address: owner.address })).json()) as { message: string }
    const signature = encodeBase58(owner.sign(message))
    const response = await post('/sign-in', { address: owner.address, message, signature })
    expect(response.headers.get('set-cookie')).toMatch(/^paystile_session=[\w-]{64}; .*; SameSite=Strict$/)
    const asked = new Request('http://localhost:8080/api/analytics', { headers: { cookie: cookieOf(response) } })
    expect(await local.signIn.sessionOf(asked)).toMatchObject({ wallet: owner.address })
    const plain = await setUp({ publicUrl: 'http://api.example' }).enter(owner)
    expect(plain.headers.get('set-cookie')).toContain('; Secure')
  })

  it('T140: is kept as a hash, and neither token nor message is in the log', async () => {
    const { enter, logged, kv } = setUp()
    const token = await tokenOf(await enter(owner))
    expect(kv.kept.size).toBe(2)
    expect(JSON.stringify([...kv.kept])).not.toContain(token.slice(0, 20))
    expect(logged).toEqual([{ event: 'session.started', owner: true }])
  })

  it('is not asked for at the store by a token that was made up', async () => {
    const { asks, kv } = setUp()
    for (const token of ['x', 'A'.repeat(64), '', 'A'.repeat(5000)]) {
      expect(
        await asks({ authorization: `Bearer ${token}`, cookie: `__Host-paystile_session=${token}` }),
      ).toBeUndefined()
    }
    expect(kv.calls()).toBe(0)
  })
})

describe('many sign-ins', () => {
  it('from one address are slowed down, and others are not', async () => {
    const { clock, messageFor, post } = setUp()
    const { message } = await messageFor(owner)
    const wrong = { address: owner.address, message, signature: encodeBase58(stranger.sign(message)) }
    for (let index = 0; index < 20; index += 1) expect((await post('/sign-in', wrong)).status).toBe(401)
    const limited = await post('/sign-in', wrong)
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await post('/sign-in', wrong, {}, '203.0.113.2')).status).toBe(401)
    expect((await post('/sign-in', wrong, { 'x-forwarded-for': '198.51.100.1' })).status).toBe(429)
    clock.pass(5_000)
    expect((await post('/sign-in', wrong)).status).toBe(401)
    expect((await post('/sign-in', wrong)).status).toBe(429)
  })

  it('by a proxy of our own count by the client behind it', async () => {
    const { post } = setUp({ trustProxy: 1 })
    const from = (client: string) => post('/sign-in', {}, { 'x-forwarded-for': client })
    for (let index = 0; index < 20; index += 1) expect((await from('198.51.100.1')).status).toBe(400)
    expect((await from('198.51.100.1')).status).toBe(429)
    expect((await from('198.51.100.2')).status).toBe(400)
  })
})

describe('the addresses of sign-in', () => {
  it('accept their own input', async () => {
    const { signIn } = setUp()
    const ask = async (method: string, path: string) =>
      (await signIn.handle(new Request(`${base}${path}`, { method }), { isLoopback: false })).status
    expect(await ask('DELETE', '/sign-in')).toBe(405)
    expect(await ask('GET', '/sign-in/nonce')).toBe(405)
    expect(await ask('GET', '/sign-out')).toBe(405)
    expect(await ask('GET', '/sign-in/other')).toBe(404)
  })
})

describe('signInWith', () => {
  const walletOf = (person: Person) => {
    const asked: string[] = []
    const wallet = {
      address: person.address,
      signTransaction: async (bytes: Uint8Array) => bytes,
      signMessage: async (bytes: Uint8Array) => {
        asked.push(new TextDecoder().decode(bytes))
        return person.sign(bytes)
      },
    }
    return { wallet, asked }
  }
  /** `fetch`, to a sign-in in this process. */
  const reach =
    (signIn: ReturnType<typeof setUp>['signIn']): typeof fetch =>
    (input, init) =>
      signIn.handle(new Request(input, init), { isLoopback: false })

  it('gives a token with which the wallet is known', async () => {
    const { asks, signIn } = setUp()
    const { wallet, asked } = walletOf(owner)
    const session = await signInWith(wallet, `${base}/anything?x=1`, reach(signIn))
    expect(session).toMatchObject({ wallet: owner.address, isOwner: true, expiresAt: Date.UTC(2026, 1, 1) })
    expect(await asks({ authorization: `Bearer ${session.token}` })).toMatchObject({ wallet: owner.address })
    expect(asked).toHaveLength(1)
  })

  it.each([
    ['for another site', (text: string) => text.replaceAll('api.example', 'bank.example'), /for bank\.example/],
    ['for another wallet', (text: string) => text.replace(owner.address, createPerson().address), /another wallet/],
    ['that is no sign-in', () => 'I give away everything I have', /not a sign-in/],
    ['that says more', (text: string) => `${text}\nAnd I give away everything.`, /not a sign-in/],
    ['for ever', (text: string) => text.replace('2026-01-31T12:05', '2036-01-31T12:05'), /too long/],
  ])('signs no message %s', async (_name, change, why) => {
    const { signIn } = setUp()
    const { wallet, asked } = walletOf(owner)
    const evil: typeof fetch = async (input, init) => {
      const answer = (await (await reach(signIn)(input, init)).json()) as { message: string }
      return Response.json({ ...answer, message: change(answer.message) })
    }
    await expect(signInWith(wallet, base, evil)).rejects.toThrow(why)
    expect(asked).toEqual([])
  })

  it('gives the reason of a refusal, and names unreachable parts', async () => {
    const { signIn } = setUp()
    const { wallet } = walletOf(owner)
    const foreign = { ...wallet, signMessage: async (bytes: Uint8Array) => stranger.sign(bytes) }
    const refused = signInWith(foreign, base, reach(signIn))
    await expect(refused).rejects.toBeInstanceOf(SignInError)
    await expect(refused).rejects.toMatchObject({ refusal: 'sign_in_failed' })
    await expect(signInWith(wallet, 'http://127.0.0.1:1')).rejects.toThrow('cannot be reached')
    await expect(signInWith(wallet, 'http://api.example')).rejects.toThrow('Use https')
  })
})
