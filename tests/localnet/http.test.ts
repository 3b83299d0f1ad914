import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { client, newWallet } from './client.ts'

let localnet: Localnet
let rpc: ReturnType<typeof client>
beforeAll(async () => {
  localnet = await startLocalnet()
  rpc = client(localnet)
})
afterAll(() => localnet.close())

/** A request as text, where fetch would not let us choose the headers. */
async function raw(head: string, body = ''): Promise<string> {
  const { port } = new URL(localnet.rpcUrl)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
    })
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

const slotCall = '{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
const json = 'Content-Type: application/json'

describe('JSON-RPC over HTTP', () => {
  it.each([
    ['{', -32700],
    ['', -32700],
    ['[]', -32600],
    ['1', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"getSlot"}', -32600],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"getSlot"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"getSlots"}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"getSlot","params":{}}', -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"getBalance","params":[]}', -32602],
  ])('answers %s with %i', async (body, code) => {
    const response = await rpc.post(body)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } })
  })

  it('answers a batch in order, errors and all, and leaves notifications unanswered', async () => {
    const calls = [
      { jsonrpc: '2.0', id: 'a', method: 'getHealth' },
      { jsonrpc: '2.0', method: 'getHealth' },
      7,
      { jsonrpc: '2.0', id: 'b', method: 'nothing' },
      { jsonrpc: '2.0', id: null, method: 'getGenesisHash' },
    ]
    const answers = (await (await rpc.post(JSON.stringify(calls))).json()) as unknown[]
    expect(answers).toMatchObject([
      { id: 'a', result: 'ok' },
      { id: null, error: { code: -32600 } },
      { id: 'b', error: { code: -32601 } },
      { id: null, result: localnet.genesisHash },
    ])
    expect(await (await rpc.post('{"jsonrpc":"2.0","method":"getHealth"}')).text()).toBe('')
  })

  it('writes 64-bit numbers bare', async () => {
    const text = await (
      await rpc.post(
        JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'getAccountInfo',
          params: [localnet.faucetAddress, { commitment: 'processed' }],
        }),
      )
    ).text()
    expect(text).toContain('"rentEpoch":18446744073709551615')
    expect(text).toMatch(/"lamports":\d{18},/)
  })

  it('reads 64-bit numbers whole', async () => {
    const { error } = (await (
      await rpc.post('{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"minContextSlot":18446744073709551615}]}')
    ).json()) as { error: { code: number } }
    expect(error.code).toBe(-32016)
    const { address } = await newWallet()
    const airdrop = `{"jsonrpc":"2.0","id":1,"method":"requestAirdrop","params":["${address}",9007199254740993]}`
    await rpc.post(airdrop)
    expect(localnet.getAccount(address)?.lamports).toBe(9007199254740993n)
  })

  it('takes no more than 50 KiB', async () => {
    const fits = await rpc.post(slotCall.padEnd(50 * 1024))
    expect(fits.status).toBe(200)
    const large = await rpc.post(slotCall.padEnd(50 * 1024 + 1))
    expect(large.status).toBe(413)
    expect((await rpc.post('x'.repeat(2_000_000))).status).toBe(413)
  })

  it('takes POST and JSON only', async () => {
    expect((await fetch(localnet.rpcUrl)).status).toBe(405)
    expect((await fetch(localnet.rpcUrl, { method: 'POST', body: slotCall })).status).toBe(415)
    expect((await rpc.post(slotCall, { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200)
    expect(
      (
        await fetch(`${localnet.rpcUrl}/elsewhere`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{}',
        })
      ).status,
    ).toBe(404)
    expect(await (await fetch(`${localnet.rpcUrl}/health`)).text()).toBe('ok')
  })
})

describe('allowed origins', () => {
  it.each(['localhost', 'LOCALHOST:80', '127.0.0.1:1234', '[::1]:99'])('answers under the name %s', async (host) => {
    expect(await raw(`POST / HTTP/1.1\r\nHost: ${host}\r\n${json}`, slotCall)).toMatch(/^HTTP\/1\.1 200/)
  })

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', '', '[::2]'])(
    'refuses the name %s, which a foreign page could point here',
    async (host) => {
      expect(await raw(`POST / HTTP/1.1\r\nHost: ${host}\r\n${json}`, slotCall)).toMatch(/^HTTP\/1\.1 403/)
    },
  )

  it('lets pages of this machine in, and no others', async () => {
    const preflight = (origin: string) =>
      raw(`OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: POST`)
    const allowed = await preflight('http://localhost:5173')
    expect(allowed).toMatch(/^HTTP\/1\.1 204/)
    expect(allowed.toLowerCase()).toContain('access-control-allow-origin: http://localhost:5173')
    expect(allowed.toLowerCase()).toContain('access-control-allow-headers: content-type, solana-client')
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
      expect(await preflight(origin)).toMatch(/^HTTP\/1\.1 403/)
      expect(await raw(`POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\n${json}`, slotCall)).toMatch(
        /^HTTP\/1\.1 403/,
      )
    }
  })
})

describe('POST /faucet', () => {
  const ask = async (body: unknown) => {
    const response = await fetch(`${localnet.rpcUrl}/faucet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }

  it('gives some of everything, confirmed when it answers', async () => {
    const { address } = await newWallet()
    const { status, json: given } = await ask({ address })
    expect(status).toBe(200)
    expect(given).toMatchObject({ address, amounts: { SOL: '10', USDC: '1000', NATIVE: '1000' } })
    expect(await rpc.balance(address, 'confirmed')).toBe(10e9)
    const [signature] = given['signatures'] as string[]
    expect((await rpc.status(signature as string))?.confirmationStatus).toBe('confirmed')
  })

  it('gives one token, to the last unit', async () => {
    const { address } = await newWallet()
    expect((await ask({ address, token: 'USDC', amount: '0.000001' })).status).toBe(200)
    const owned = await rpc.value<{ account: { data: { parsed: { info: { tokenAmount: { amount: string } } } } } }[]>(
      'getTokenAccountsByOwner',
      address,
      { mint: localnet.mints.USDC?.address },
      { encoding: 'jsonParsed', commitment: 'confirmed' },
    )
    expect(owned[0]?.account.data.parsed.info.tokenAmount.amount).toBe('1')
  })

  it.each([
    ['{', /not JSON/],
    ['null', /object/],
    ['{}', /address/],
    ['{"address":"x"}', /address/],
    ['{"address":"11111111111111111111111111111112","token":"DOGE"}', /does not offer DOGE/],
    ['{"address":"11111111111111111111111111111112","amount":"1"}', /token/],
    ['{"address":"11111111111111111111111111111112","token":"SOL","amount":5}', /decimal text/],
    ['{"address":"11111111111111111111111111111112","token":"SOL","amount":"1e3"}', /decimal text/],
    ['{"address":"11111111111111111111111111111112","token":"SOL","amount":"0"}', /above zero/],
    ['{"address":"11111111111111111111111111111112","token":"SOL","amount":"1000.1"}', /at most 1000 SOL/],
    ['{"address":"11111111111111111111111111111112","token":"USDC","amount":"0.0000001"}', /decimal text/],
  ])('refuses %s', async (body, reason) => {
    const { status, json: answer } = await ask(body)
    expect(status).toBe(400)
    expect(answer['error']).toMatch(reason)
  })

  it('says why the chain refused', async () => {
    const { address } = await newWallet()
    const { status, json: answer } = await ask({ address, token: 'SOL', amount: '0.0001' })
    expect(status).toBe(422)
    expect(answer['error']).toMatch(/insufficient funds for rent/)
  })

  it('pays the same twice in one slot', async () => {
    const { address } = await newWallet()
    await Promise.all([ask({ address, token: 'SOL', amount: '1' }), ask({ address, token: 'SOL', amount: '1' })])
    expect(await rpc.balance(address)).toBe(2e9)
  })
})

describe('ports', () => {
  it('names the ports when they are taken', async () => {
    const port = Number(new URL(localnet.rpcUrl).port)
    await expect(startLocalnet({ port })).rejects.toThrow(new RegExp(`${port} and ${port + 1}`))
    await expect(startLocalnet({ port: port - 1 })).rejects.toThrow(/two free ports/)
    await expect(startLocalnet({ port: 65_535 })).rejects.toThrow(/65535/)
  })
})
