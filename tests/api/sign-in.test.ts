/** Signing in as wallets and programs do it, and as those do who would like to be somebody else. */
import { describe, expect, it } from 'vitest'
import * as authAnswers from '../../src/api/auth/answers.ts'
import { createSignIn } from '../../src/api/auth/sign-in.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { parseSignIn } from '../../src/core/protocol/sign-in-text.ts'
import { createHandClock } from './fake-services.ts'
import { base, cookieOf, owner, type Person, setUp, stranger } from './people.ts'

describe('the message', () => {
  it('is fixed byte by byte', async () => {
    const { messageFor } = setUp()
    const { message, nonce, expiresAt } = await messageFor(owner)
    expect(message).toBe(
      `api.example wants you to sign in with your Solana account:
${owner.address}

Sign in to see your payments. This signs no transaction and moves no money.

URI: https://api.example
Version: 1
Chain ID: solana:mainnet
Nonce: ${nonce}
Issued At: 2026-01-31T12:00:00.000Z
Expiration Time: 2026-01-31T12:05:00.000Z`,
    )
    expect(nonce).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
    expect(expiresAt).toBe('2026-01-31T12:05:00.000Z')
  })

  it('is given to any number of people, and nothing is stored for it', async () => {
    const { messageFor, kv } = setUp()
    const nonces = new Set<string>()
    for (let index = 0; index < 200; index += 1) nonces.add((await messageFor(stranger)).nonce)
    expect(nonces.size).toBe(200)
    expect(kv.calls()).toBe(0)
  })

  it('is read only as it would be written', async () => {
    const { message } = await setUp().messageFor(owner)
    expect(parseSignIn(message)).toMatchObject({ host: 'api.example', address: owner.address, network: 'mainnet' })
    const changed = [
      `${message}\n`,
      message.replace('moves no money', 'moves all money'),
      message.replace('Version: 1', 'Version: 2'),
      message.replaceAll('\n', '\r\n'),
      message.replace('12:05:00.000Z', '12:05:00Z'),
      message.replace('solana:mainnet', 'solana:testnet'),
      '',
      'x'.repeat(1000),
    ]
    for (const text of changed) expect(parseSignIn(text)).toBeUndefined()
  })

  it('and all other answers are as /openapi.json has them', async () => {
    const { messageFor, enter, post, signIn } = setUp()
    const who = async (headers: Record<string, string>) =>
      authAnswers.signedIn.parse(
        await (await signIn.handle(new Request(`${base}/sign-in`, { headers }), { isLoopback: false })).json(),
      )
    authAnswers.signInMessage.parse(await messageFor(owner))
    const { token } = authAnswers.session.parse(await (await enter(owner)).json())
    expect(await who({})).toEqual({ signedIn: false })
    const bearer = { authorization: `Bearer ${token}` }
    expect(await who(bearer)).toMatchObject({ signedIn: true, wallet: owner.address })
    expect(authAnswers.signedOut.parse(await (await post('/sign-out', {}, bearer)).json())).toEqual({ signedOut: true })
  })

  it('needs the address of a wallet, in JSON', async () => {
    const { post, signIn } = setUp()
    for (const body of [{}, { address: 'x' }, { address: 5 }, null, [], 'text']) {
      const answer = await post('/sign-in/nonce', body)
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'body_invalid'])
    }
    const plain = new Request(`${base}/sign-in/nonce`, { method: 'POST', body: '{}' })
    expect((await signIn.handle(plain, { isLoopback: false })).status).toBe(415)
  })
})

describe('signing in', () => {
  it('gives a session as a cookie and as a bearer token', async () => {
    const { asks, enter } = setUp()
    const response = await enter(owner)
    const body = (await response.json()) as { token: string }
    expect(body).toEqual({
      token: expect.stringMatching(/^[\w-]{64}$/),
      expiresAt: '2026-02-01T00:00:00.000Z',
      wallet: owner.address,
      owner: true,
    })
    expect(response.headers.get('set-cookie')).toBe(
      `__Host-paystile_session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure`,
    )
    expect(response.headers.get('cache-control')).toContain('no-store')
    expect(await asks({ cookie: `a=b; ${cookieOf(response)}; c=d` })).toMatchObject({ wallet: owner.address })
    expect(await asks({ authorization: `Bearer ${body.token}` })).toMatchObject({ wallet: owner.address })
    expect(await asks({})).toBeUndefined()
  })

  it('is open to every wallet, and tells owners apart', async () => {
    const { enter, signIn } = setUp()
    expect(await (await enter(stranger)).json()).toMatchObject({ wallet: stranger.address, owner: false })
    const { token } = (await (await enter(owner)).json()) as { token: string }
    const ask = (headers: Record<string, string>) =>
      signIn.handle(new Request(`${base}/sign-in`, { headers }), { isLoopback: false }).then((one) => one.json())
    expect(await ask({ authorization: `Bearer ${token}` })).toEqual({
      signedIn: true,
      wallet: owner.address,
      owner: true,
      expiresAt: '2026-02-01T00:00:00.000Z',
    })
    expect(await ask({})).toEqual({ signedIn: false })
  })

  it.each([
    ['base58', (bytes: Uint8Array) => encodeBase58(bytes)],
    ['base64', (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')],
    ['base64url', (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')],
  ])('takes a signature in %s', async (_name, encode) => {
    const { messageFor, post } = setUp()
    const { message } = await messageFor(owner)
    const signature = encode(owner.sign(message))
    expect((await post('/sign-in', { address: owner.address, message, signature })).status).toBe(200)
  })

  it('takes no other signature, message, wallet or format', async () => {
    const { messageFor, post, kv } = setUp()
    const { message } = await messageFor(owner)
    const { message: forStranger } = await messageFor(stranger)
    const right = { address: owner.address, message, signature: encodeBase58(owner.sign(message)) }
    const bad = owner.sign(message)
    bad[0] = (bad[0] ?? 0) ^ 1
    const attempts = [
      { ...right, signature: encodeBase58(stranger.sign(message)) },
      { ...right, signature: encodeBase58(bad) },
      { ...right, address: stranger.address },
      { ...right, address: stranger.address, signature: encodeBase58(stranger.sign(message)) },
      { ...right, message: forStranger, signature: encodeBase58(owner.sign(forStranger)) },
      { ...right, message: `${message} ` },
      ...[`${message} `, message.replace('12:05', '12:59'), message.replace('12:00:00', '12:00:01')].map((text) => ({
        ...right,
        message: text,
        signature: encodeBase58(owner.sign(text)),
      })),
    ]
    for (const attempt of attempts) {
      const answer = await post('/sign-in', attempt)
      expect(await answer.json()).toMatchObject({ status: 401, code: 'sign_in_failed' })
    }
    expect(kv.kept.size).toBe(0)
    expect((await post('/sign-in', right)).status).toBe(200)
  })

  it('names all that is missing or wrong in a body', async () => {
    const { post } = setUp()
    const wrong = { message: '', signature: 'x', signedMessage: '?', anything: 'else' }
    expect(await (await post('/sign-in', wrong)).json()).toMatchObject({
      status: 400,
      problems: [
        'address is missing',
        'message must be the message, unchanged',
        'signature must be 64 bytes in base58 or base64',
        'signedMessage must be in base64',
      ],
    })
  })

  it('takes a message once, however many bring it at the same time, on however many servers', async () => {
    const { messageFor, parts, post, kv } = setUp()
    const { message } = await messageFor(owner)
    const body = { address: owner.address, message, signature: encodeBase58(owner.sign(message)) }
    const other = createSignIn(parts)
    const request = () =>
      new Request(`${base}/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        index % 2 ? post('/sign-in', body) : other.handle(request(), { isLoopback: false }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 401)])
    expect([...kv.kept.keys()].filter((name) => name.startsWith('session:'))).toHaveLength(1)
  })

  it('takes a message for five minutes, and none from the future', async () => {
    const { clock, messageFor, parts, post } = setUp()
    const [early, late] = [await messageFor(owner), await messageFor(owner)]
    const body = (message: string) => ({
      address: owner.address,
      message,
      signature: encodeBase58(owner.sign(message)),
    })
    clock.pass(299_999)
    expect((await post('/sign-in', body(early.message))).status).toBe(200)
    clock.pass(1)
    expect(await (await post('/sign-in', body(late.message))).json()).toMatchObject({
      detail: 'Sign-in failed: the message has expired. Request a new message and sign it.',
    })
    const ahead = createHandClock(clock.now() + 60_000)
    const fast = createSignIn({ ...parts, clock: ahead })
    const asked = new Request(`${base}/sign-in/nonce`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ address: owner.address }),
    })
    const { message } = (await (await fast.handle(asked, { isLoopback: false })).json()) as { message: string }
    expect((await post('/sign-in', body(message))).status).toBe(401)
    clock.pass(40_000)
    expect((await post('/sign-in', body(message))).status).toBe(200)
  })

  it('refuses keys with forgeable signatures', async () => {
    const { post, messageFor } = setUp()
    // The neutral point: with a strict verifier no signature under it is valid.
    const weak = {
      ...owner,
      address: encodeBase58(Uint8Array.from({ length: 32 }, (_, index) => (index === 0 ? 1 : 0))),
    }
    const { message } = await messageFor(weak)
    const signature = new Uint8Array(64)
    signature[0] = 1
    const answer = await post('/sign-in', { address: weak.address, message, signature: encodeBase58(signature) })
    expect(answer.status).toBe(401)
  })
})

describe('a hardware wallet', () => {
  const domain = Buffer.concat([Buffer.from([0xff]), Buffer.from('solana offchain')])
  const counted = (text: string) =>
    Buffer.concat([Buffer.from([text.length & 0xff, text.length >> 8]), Buffer.from(text)])
  const short = (text: string, format: number) => Buffer.concat([domain, Buffer.from([0, format]), counted(text)])
  const long = (text: string, format: number, application: Uint8Array, signers: readonly Person[]) =>
    Buffer.concat([
      domain,
      Buffer.from([0]),
      application,
      Buffer.from([format, signers.length]),
      ...signers.map(({ publicKey }) => publicKey),
      counted(text),
    ])
  const nobody = new Uint8Array(32)
  const wallet = new Uint8Array(32).fill(3)
  const enterAs = async (wrap: (text: string) => Uint8Array, isTold: boolean) => {
    const { messageFor, post } = setUp()
    const { message } = await messageFor(owner)
    const signed = wrap(message)
    const signedMessage = isTold ? Buffer.from(signed).toString('base64') : undefined
    const signature = encodeBase58(owner.sign(signed))
    return (await post('/sign-in', { address: owner.address, message, signature, signedMessage })).status
  }

  it.each([
    ['the short header, as ASCII', (text: string) => short(text, 0)],
    ['the short header, as UTF-8', (text: string) => short(text, 1)],
    ['the long header, as ASCII', (text: string) => long(text, 0, nobody, [owner])],
    ['the long header, as UTF-8', (text: string) => long(text, 1, nobody, [owner])],
    ['no header', (text: string) => Buffer.from(text)],
  ])('signs under %s', async (_name, wrap) => {
    expect(await enterAs(wrap, false)).toBe(200)
    expect(await enterAs(wrap, true)).toBe(200)
  })

  it('shows the signed message if its header names an application', async () => {
    expect(await enterAs((text) => long(text, 1, wallet, [owner]), true)).toBe(200)
    expect(await enterAs((text) => long(text, 1, wallet, [owner]), false)).toBe(401)
  })

  it.each([
    ['another text', (text: string) => short(`${text} `, 1)],
    ['a text with something before it', (text: string) => Buffer.from(`I agree to everything.\n${text}`)],
    ['a later version of the header', (text: string) => short(text, 1).fill(1, 16, 17)],
    ['a format that hardware has not', (text: string) => short(text, 2)],
    ['a header for two signers', (text: string) => long(text, 1, nobody, [owner, stranger])],
    ['a header for another signer', (text: string) => long(text, 1, nobody, [stranger])],
    ['a length that is wrong', (text: string) => short(text, 1).fill(9, 18, 19)],
  ])('does not sign in with %s', async (_name, wrap) => {
    expect(await enterAs(wrap, true)).toBe(401)
    expect(await enterAs(wrap, false)).toBe(401)
  })
})
