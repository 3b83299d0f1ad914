/** `fetch` that pays: every way of calling it, every token, and what the caller hears on the way. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createWallet } from '../../src/chain/keys/keypair.ts'
import { fetchTransport } from '../../src/chain/rpc/fetch-transport.ts'
import { createFetchWith402 } from '../../src/client/fetch.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import { createNodes } from '../../src/client/nodes.ts'
import type { PaymentOffer } from '../../src/client/options.ts'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { adapters, type Content, type Serve } from '../harness/adapters.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { buy, type ClientFixture, createClientFixture, expectError, hasProof } from './client-fixture.ts'

const serveExpress = adapters.find(([name]) => name === 'Express 5')?.[1] as Serve
let fixture: ClientFixture
let shop: Shop
let seen: string[] = []

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 }, serveExpress, (target): Content => {
    seen.push(target)
    return target === '/free' ? { body: 'free' } : { body: 'the secret' }
  })
})
afterAll(() => fixture.close())

describe('a purchase', () => {
  it('pays once and brings the resource with its receipt', async () => {
    await fixture.received()
    const response = await fetchWith402(`${shop.url}/data`, fixture.options({ tokens: ['USDC'] }))
    expect([response.status, await response.text()]).toEqual([200, 'the secret'])
    expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject({ token: 'USDC', amount: '0.01' })
    expect(await fixture.received()).toBe(1)
  })

  it('works in both shapes of the call, and with a URL or a Request', async () => {
    const options = fixture.options()
    const calls = [
      fetchWith402(`${shop.url}/data`, options),
      fetchWith402(`${shop.url}/data`, undefined, options),
      fetchWith402(new URL(`${shop.url}/data`), { headers: { 'x-mine': '1' } }, options),
      fetchWith402(`${shop.url}/data`, { ...options, headers: { 'x-mine': '1' }, method: 'get' }),
      fetchWith402(new Request(`${shop.url}/data`, { headers: { 'x-mine': '1' } }), options),
    ]
    for (const answer of await Promise.all(calls)) expect(await answer.text()).toBe('the secret')
    expect(await fixture.received()).toBe(5)
  })

  it.each(['USDC', 'SOL', 'NATIVE'] as const)('pays in %s', async (token) => {
    const all = await fixture.open({ acceptedMints: ['USDC', 'SOL', 'NATIVE'], waitSeconds: 5 })
    const response = await fetchWith402(`${all.url}/data`, fixture.options({ tokens: [token] }))
    expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject({ token })
    expect(await response.text()).toBe('the secret')
  })

  it('takes the first of the tokens that the server accepts and the wallet has', async () => {
    const all = await fixture.open({ acceptedMints: ['USDC', 'SOL', 'NATIVE'], waitSeconds: 5 })
    const tokenOf = async (options: Parameters<ClientFixture['options']>[0]) => {
      const { events } = await buy(`${all.url}/data`, fixture.options(options))
      return events.flatMap((event) => (event.kind === 'paying' ? [event.token] : []))
    }
    expect(await tokenOf({})).toEqual(['USDC'])
    expect(await tokenOf({ tokens: ['NATIVE', 'USDC'] })).toEqual(['NATIVE'])
    const poor = await newSigner()
    await fixture.world.localnet.fund(poor.address, { SOL: 1_000_000_000n, NATIVE: 10_000_000_000n })
    expect(await tokenOf({ wallet: poor, tokens: ['USDC', 'NATIVE', 'SOL'] })).toEqual(['NATIVE'])
    expect(await tokenOf({ wallet: poor, tokens: ['USDC', 'SOL'] })).toEqual(['SOL'])
    await fixture.received()
  })

  it('opens the token account of a recipient that has none yet', async () => {
    const fresh = await newSigner()
    const empty = await fixture.open({ recipient: fresh.address, waitSeconds: 5 })
    expect((await buy(`${empty.url}/data`, fixture.options())).text).toBe('the secret')
  })

  it('sends a body twice, and the same one', async () => {
    const bodies: string[] = []
    const echo = await fixture.front(shop.url, (request) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()))
      return false
    })
    for (const body of [
      '{"a":1}',
      new TextEncoder().encode('{"a":1}'),
      new Blob(['{"a":1}']),
      new URLSearchParams('a=1'),
    ]) {
      const response = await fetchWith402(`${echo}/data`, { method: 'POST', body }, fixture.options())
      expect(await response.text()).toBe('the secret')
    }
    const request = new Request(`${echo}/data`, { method: 'POST', body: '{"a":1}' })
    expect((await fetchWith402(request, fixture.options())).status).toBe(200)
    expect(bodies).toEqual([...Array(6).fill('{"a":1}'), 'a=1', 'a=1', '{"a":1}', '{"a":1}'])
    const form = new FormData()
    form.set('a', '1')
    const response = await fetchWith402(`${echo}/data`, { method: 'POST', body: form }, fixture.options())
    expect([response.status, bodies.length, bodies.at(-1)]).toEqual([200, 12, bodies.at(-2)])
    await expectError(
      fetchWith402(
        `${echo}/data`,
        { method: 'POST', body: new Blob(['x']).stream(), duplex: 'half' } as RequestInit,
        fixture.options(),
      ),
      'body_not_replayable',
    )
    expect(await fixture.received()).toBe(6)
  })

  it.each([
    [
      'a form',
      () => {
        const form = new FormData()
        form.set('a', '1')
        return form
      },
    ],
    ['a blob', () => new Blob(['a=1'])],
  ] as const)('redeems a payment for %s that was not delivered with the next call', async (_name, body) => {
    let isDown = true
    const flaky = await fixture.front(shop.url, (request, response) => {
      if (!isDown || !request.headers['payment-proof']) return false
      response.writeHead(502).end()
      return true
    })
    const journal = createMemoryJournal()
    const post = () =>
      fetchWith402(
        `${flaky}/data`,
        { method: 'POST', body: body() },
        { ...fixture.options(), journal, timeoutMs: isDown ? 2_000 : 20_000 },
      )
    await expectError(post(), 'paid_not_delivered')
    isDown = false
    expect((await post()).status).toBe(200)
    expect(await fixture.received()).toBe(1)
  })

  it('signs by the clock of the server when its own is slow', async () => {
    await fixture.received()
    const clock = { now: () => Date.now() - 400_000, monotonic: () => performance.now() }
    const nodes = createNodes({ transport: fetchTransport, findLocalnet: () => undefined })
    const buyer = createFetchWith402({ clock, nodes, journal: createMemoryJournal, defaultRpc: undefined })
    const shown: string[] = []
    const front = await fixture.front(shop.url, (request) => {
      if (hasProof(request)) shown.push(String(request.headers['payment-proof']))
      return false
    })
    const response = await buyer(`${front}/data`, fixture.options({ proof: 'sig' }))
    expect([response.status, shown.length]).toEqual([200, 2])
    expect(await fixture.received()).toBe(1)
  })

  it.each([
    ['is slow', 600_000, 0],
    ['is set back meanwhile', 0, 600_000],
  ])('T161: does not pay a challenge that ended during the approval if its clock %s', async (_name, slowMs, backMs) => {
    await fixture.received()
    let [now, elapsed] = [Date.now() - slowMs, performance.now()]
    const clock = { now: () => now, monotonic: () => elapsed }
    const nodes = createNodes({ transport: fetchTransport, findLocalnet: () => undefined })
    const buyer = createFetchWith402({ clock, nodes, journal: createMemoryJournal, defaultRpc: undefined })
    const approve = () => {
      now += 400_000 - backMs
      elapsed += 400_000
      return true
    }
    await expectError(buyer(`${shop.url}/data`, fixture.options({ approve })), 'challenge_expiring', /too late/)
    expect(await fixture.received()).toBe(0)
  })

  it('proves by signature where asked to, and from another machine', async () => {
    const strict = await fixture.open({ proofBinding: 'required', waitSeconds: 5 })
    expect((await buy(`${strict.url}/data`, fixture.options({ proof: 'sig' }))).text).toBe('the secret')
    expect((await buy(`${strict.url}/data`, fixture.options({ proof: 'claim' }))).text).toBe('the secret')
    expect(await fixture.received()).toBe(2)
  })

  it('announces the hash of a secret, and shows the secret with the proof only', async () => {
    const headers: [string | undefined, string | undefined][] = []
    const noted = await fixture.front(shop.url, (request) => {
      headers.push([
        request.headers['payment-accept'] as string | undefined,
        request.headers['payment-proof'] as string | undefined,
      ])
      return false
    })
    await buy(`${noted}/data`, fixture.options())
    const claim = /claim=([\w-]+)$/.exec(headers[1]?.[1] ?? '')?.[1] ?? ''
    expect(headers).toEqual([
      [`claim=${createHash('sha256').update(claim).digest('base64url')}`, undefined],
      [undefined, expect.stringContaining('; claim=')],
    ])
    await fixture.received()
  })

  it('ignores responses that ask for no money, and other payment protocols', async () => {
    const plain = await fixture.host((request, response) => {
      response.statusCode = request.url === '/free' ? 200 : 402
      response.end(request.url === '/json' ? '{"amount":"1"}' : 'plain')
    })
    for (const [path, status] of [
      ['/free', 200],
      ['/other', 402],
      ['/json', 402],
    ] as const) {
      const response = await fetchWith402(`${plain}${path}`, fixture.options())
      expect([path, response.status]).toEqual([path, status])
      expect(await response.text()).toMatch(/plain|amount/)
    }
    expect(await fixture.received()).toBe(0)
  })
})

describe('before paying', () => {
  it('a server that does not answer is given up in one sentence', async () => {
    const silent = await fixture.host(() => {})
    await expectError(
      fetchWith402(`${silent}/data`, fixture.options({ timeoutMs: 100 })),
      'server_unavailable',
      /did not respond in time/,
    )
    const hasty = { signal: AbortSignal.timeout(20) }
    await expect(fetchWith402(`${silent}/data`, hasty, fixture.options())).rejects.toThrow(/aborted due to timeout/)
  })

  it('an address without its host is explained, and belongs to the page in a browser', async () => {
    await expect(fetchWith402('/data', fixture.options())).rejects.toThrow(
      new TypeError('fetchWith402: "/data" is not a full address, such as https://api.example.com/report.'),
    )
    vi.stubGlobal('location', new URL(`${shop.url}/page/`))
    onTestFinished(() => void vi.unstubAllGlobals())
    expect((await fetchWith402('/data', fixture.options({ dryRun: true }))).status).toBe(402)
  })

  it('an unreachable server is named with the reason, and the cause is kept', async () => {
    const url = await fixture.host((_request, response) => response.destroy())
    const failure = expect(fetchWith402(`${url}/data?key=secret`, fixture.options())).rejects
    await failure.toMatchObject({
      name: 'PaymentError',
      code: 'server_unavailable',
      message: expect.stringContaining(`${url}/data cannot be reached: the server closed the connection`),
      cause: expect.any(TypeError),
    })
    expect(await fixture.received()).toBe(0)
  })

  it('a dry run pays nothing and gives the challenge to read', async () => {
    const response = await fetchWith402(`${shop.url}/data`, fixture.options({ dryRun: true }))
    expect(response.status).toBe(402)
    expect(await response.json()).toMatchObject({ amount: '0.01', currency: 'USDC' })
    await expectError(
      fetchWith402(`${shop.url}/data`, fixture.options({ dryRun: true, maxPrice: { USDC: '0.001' } })),
      'price_too_high',
    )
    expect(await fixture.received()).toBe(0)
  })

  it('a confirmation is requested, and only true confirms', async () => {
    const offers: PaymentOffer[] = []
    const ask = (answer: unknown) =>
      fixture.options({
        approve: (offer) => {
          offers.push(offer)
          return answer as boolean
        },
      })
    for (const answer of [false, undefined, 'yes', 1]) {
      await expectError(
        fetchWith402(`${shop.url}/data`, ask(answer)),
        'declined',
        /Paying 0\.01 USDC to 127\.0\.0\.1:\d+ was declined/,
      )
    }
    await expect(
      fetchWith402(`${shop.url}/data`, fixture.options({ approve: () => Promise.reject(new Error('gone')) })),
    ).rejects.toThrow('gone')
    expect(await fixture.received()).toBe(0)
    expect((await buy(`${shop.url}/data`, ask(Promise.resolve(true)))).text).toBe('the secret')
    expect(offers.at(-1)).toMatchObject({
      url: `${shop.url}/data`,
      amount: '0.01',
      token: 'USDC',
      network: 'localnet',
      recipient: fixture.world.recipient.address,
    })
    expect(await fixture.received()).toBe(1)
  })

  it.each(['approves the payment', 'signs it'])(
    'T232: pays nothing if its caller aborts while a person %s',
    async (moment) => {
      const abort = new AbortController()
      const own = await createWallet(fixture.payer)
      const wallet = {
        ...own,
        signTransaction: (transaction: Uint8Array) => {
          abort.abort(new Error('too late'))
          return own.signTransaction(transaction)
        },
      }
      const approve = async () => {
        abort.abort(new Error('too late'))
        return true
      }
      const options = fixture.options({ budget: { perDay: { USDC: '0.01' } } })
      const more = moment === 'signs it' ? { wallet } : { approve }
      await expect(fetchWith402(`${shop.url}/data`, { ...options, ...more, signal: abort.signal })).rejects.toThrow(
        'too late',
      )
      expect(await fixture.received()).toBe(0)
      // The budget is as it was.
      expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
      expect(await fixture.received()).toBe(1)
    },
  )

  it.each<[string, bigint, bigint, RegExp]>([
    ['no token', 1_000_000_000n, 0n, /holds 0 USDC and needs 0\.01/],
    ['too little of it', 1_000_000_000n, 9_999n, /holds 0\.009999 USDC and needs 0\.01/],
    ['nothing for the fee', 0n, 1_000_000n, /has 0 SOL and needs 0\.00090588 for the fees/],
    ['only the SOL that it must keep', 890_880n, 1_000_000n, /has 0\.00089088 SOL and needs 0\.00090588/],
  ])('a wallet with %s is told so', async (_name, SOL, USDC, words) => {
    const wallet = await newSigner()
    if (SOL + USDC > 0n) await fixture.world.localnet.fund(wallet.address, { ...(SOL && { SOL }), USDC })
    const error = await expectError(
      fetchWith402(`${shop.url}/data`, fixture.options({ wallet })),
      'insufficient_funds',
      words,
    )
    expect(error.message).toContain(wallet.address)
    expect(error.message).toContain(`npx paystile faucet ${wallet.address} `)
  })

  it('a wallet that does not sign leaves the budget as it was', async () => {
    const options = fixture.options({ budget: { perDay: { USDC: '0.01' } } })
    const { address } = fixture.payer
    const refuse = () => Promise.reject(new Error('the user pressed no'))
    const wallet = { address, signTransaction: refuse, signMessage: refuse } as never
    await expectError(fetchWith402(`${shop.url}/data`, { ...options, wallet }), 'declined', /the user pressed no/)
    expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })

  it.each<[string, object, RegExp]>([
    ['no wallet', { wallet: undefined }, /wallet is missing/],
    ['a misspelled option', { maxPrise: {} }, /maxPrise is not an option \(did you mean maxPrice\?\)/],
    ['tokens that are none', { tokens: ['btc'] }, /tokens must be a list/],
    ['a price that is none', { maxPrice: { USDC: '1e3' } }, /maxPrice\.USDC must be a plain decimal/],
    ['a token that is none', { budget: { perDay: { btc: 1 } } }, /budget\.perDay\.btc is not a token code/],
    ['a budget that is text', { budget: 'x' as never }, /^fetchWith402: budget must be \{ perDay, perHost \}[^;]*$/],
    ['a budget that is a number', { budget: 5 as never }, /budget must be \{ perDay, perHost \}/],
    ['no budget at all', { budget: null as never }, /budget must be \{ perDay, perHost \}/],
    [
      'a Map as budget',
      { budget: new Map([['perDay', { USDC: 1 }]]) as never },
      /budget must be \{ perDay, perHost \}/,
    ],
    [
      'a Map of a day',
      { budget: { perDay: new Map([['USDC', 1]]) as never } },
      /budget\.perDay must be amounts by token/,
    ],
    ['a list of prices', { maxPrice: ['1', '2'] as never }, /^fetchWith402: maxPrice must be amounts by token[^;]*$/],
    [
      'a mint without its program',
      { mints: { NATIVE: { address: '1'.repeat(32), decimals: 6 } as never } },
      /mints\.NATIVE: must be \{ address, decimals, tokenProgram \}/,
    ],
    ['a misspelled budget', { budget: { perday: { USDC: 1 } } }, /budget\.perday is not an option/],
    ['a network that is none', { network: 'testnet' }, /network testnet is not known/],
    ['a recipient that is no list', { recipients: 'nobody' }, /recipients must be a list of addresses/],
    ['a recipient that is no address', { recipients: ['nobody'] }, /recipients must be a list of addresses/],
    ['a price that is no table', { maxPrice: 5 }, /maxPrice must be amounts by token/],
    ['a timeout without end', { timeoutMs: Number.POSITIVE_INFINITY }, /timeoutMs must be a number of milliseconds/],
    ['a timeout that is text', { timeoutMs: '5000' as never }, /timeoutMs must be a number of milliseconds/],
    ['a timeout of nothing', { timeoutMs: 0 }, /timeoutMs must be a number of milliseconds/],
    ['a proof that is none', { proof: 'signature' as never }, /proof must be 'claim' or 'sig'/],
    ['a node that is none', { rpc: 8899 as never }, /rpc must be the http or https address of a node/],
    ['a node without its scheme', { rpc: ['127.0.0.1:8899'] }, /rpc must be the http or https address of a node/],
    ['a WebSocket as node', { rpc: 'wss://node.example' }, /rpc must be the http or https address of a node/],
    ['a list without nodes', { rpc: [] }, /rpc must be the http or https address of a node/],
    [
      'half a journal',
      { journal: { ...createMemoryJournal(), change: undefined } as never },
      /journal must be an object such as createMemoryJournal\(\), with all of its methods/,
    ],
    ['the path of a journal', { journal: 'payments.sqlite' as never }, /journal must be an object/],
    ['an approval that is no function', { approve: true as never }, /approve must be a function/],
    ['a listener that is none', { onEvent: 'log' as never }, /onEvent must be a function/],
    ['a fetch that is none', { fetch: {} as never }, /fetch must be a function/],
    ['a permission that is text', { allowHttp: 'false' as never }, /allowHttp must be true or false/],
    ['a dry run that is text', { dryRun: 'false' as never }, /dryRun must be true or false/],
    ['a wallet that cannot sign', { wallet: {} }, /wallet must be the result of initAgentWallet\(\)/],
  ])('%s is said before anything is sent', async (_name, more, words) => {
    seen = []
    await expect(fetchWith402(`${shop.url}/data`, fixture.options(more))).rejects.toThrow(words)
    await expect(fetchWith402(`${shop.url}/data`, fixture.options(more))).rejects.toBeInstanceOf(TypeError)
    expect(seen).toEqual([])
  })
})

it('a limit beside the options of fetch is refused, because it would have no effect', async () => {
  seen = []
  const init = { method: 'POST', maxPrice: { USDC: '0.001' } }
  await expect(fetchWith402(`${shop.url}/data`, init, fixture.options())).rejects.toThrow(
    'fetchWith402: maxPrice belongs to the last argument, with wallet.',
  )
  expect(seen).toEqual([])
})

describe('on the way', () => {
  it('reports the events in order', async () => {
    const { events } = await buy(`${shop.url}/data`, fixture.options())
    expect(events.map((event) => event.kind)).toEqual(['paying', 'sent', 'confirmed', 'delivered'])
    expect(await fixture.received()).toBe(1)
  })

  it.each<[string, () => void]>([
    ['throws', () => fail()],
    ['rejects', async () => fail()],
  ])('a listener that %s has no effect', async (_name, onEvent) => {
    const response = await fetchWith402(`${shop.url}/data`, fixture.options({ onEvent }))
    expect(await response.text()).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })

  it.each<[string, (signal: AbortSignal) => [string | Request, RequestInit | undefined]]>([
    ['of the call', (signal) => [`${shop.url}/data`, { signal }]],
    ['of the Request', (signal) => [new Request(`${shop.url}/data`, { signal }), undefined]],
  ])('an abort signal %s ends it, and the next call uses the payment', async (_name, call) => {
    const stop = new AbortController()
    const options = fixture.options({
      onEvent: (event) => {
        if (event.kind === 'confirmed') stop.abort(new Error('enough'))
      },
    })
    await expect(fetchWith402(...call(stop.signal), options)).rejects.toThrow(/^enough$/)
    expect(await fixture.received()).toBe(1)
    const { text, events } = await buy(`${shop.url}/data`, { ...options, onEvent: () => {} })
    expect([text, events.map((event) => event.kind)]).toEqual(['the secret', ['resumed', 'delivered']])
    expect(await fixture.received()).toBe(0)
  })
})

function fail(): never {
  throw new Error('the listener broke')
}
