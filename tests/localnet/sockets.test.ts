import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { build, client, frozen, memo, newWallet, pay } from './client.ts'

const sol = 1_000_000_000n

let localnet: Localnet
let rpc: ReturnType<typeof client>
const sockets: WebSocket[] = []
beforeEach(async () => {
  localnet = await startLocalnet(frozen)
  rpc = client(localnet)
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate()
  await localnet.close()
})

interface Notice {
  readonly method: string
  readonly params: { readonly result: unknown; readonly subscription: number }
}

async function open(url = localnet.wsUrl, options: Record<string, unknown> = {}) {
  const socket = new WebSocket(url, options)
  sockets.push(socket)
  await once(socket, 'open')
  const notices: Notice[] = []
  const waiting = new Map<number, (answer: { result?: unknown; error?: { code: number } }) => void>()
  let serial = 0
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString()) as Record<string, unknown>
    if ('method' in message) notices.push(message as unknown as Notice)
    else waiting.get(message['id'] as number)?.(message)
  })
  const ask = (method: string, ...params: unknown[]) =>
    new Promise<{ result?: unknown; error?: { code: number; message?: string } }>((resolve) => {
      const id = ++serial
      waiting.set(id, resolve)
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  /** All notifications there are, once an answer has come back on the same line. */
  const heard = async () => {
    await new Promise((done) => setImmediate(done))
    await ask('nothing')
    return notices.splice(0)
  }
  return { socket, ask, heard, notices }
}

async function funded() {
  const wallet = await newWallet()
  await localnet.fund(wallet.address, { SOL: 10n * sol })
  return wallet
}

describe('subscriptions', () => {
  it('tell of slots and roots', async () => {
    const { ask, heard } = await open()
    const { result: slots } = await ask('slotSubscribe')
    const { result: roots } = await ask('rootSubscribe')
    const slot = localnet.slot()
    localnet.advanceSlots(1)
    expect(await heard()).toEqual([
      {
        jsonrpc: '2.0',
        method: 'slotNotification',
        params: { result: { parent: slot, root: 0, slot: slot + 1 }, subscription: slots },
      },
    ])
    localnet.advanceSlots(33)
    const both = await heard()
    expect(both.filter(({ method }) => method === 'slotNotification')).toHaveLength(32)
    expect(both.filter(({ method }) => method === 'rootNotification').map(({ params }) => params)).toEqual(
      Array.from({ length: slot + 34 - 32 }, (_, index) => ({ result: index + 1, subscription: roots })),
    )
  })

  it('tell of a signature once, at the commitment asked for', async () => {
    const { ask, heard } = await open()
    const payer = await funded()
    const { wire, signature } = await build(payer, [memo('x')], await rpc.blockhash())
    const ids = new Map<unknown, string>()
    for (const commitment of ['processed', 'confirmed', 'finalized']) {
      ids.set((await ask('signatureSubscribe', signature, { commitment })).result, commitment)
    }
    const told = async () => (await heard()).map(({ params }) => ids.get(params.subscription))
    await rpc.send(wire)
    expect(await told()).toEqual(['processed'])
    localnet.advanceSlots(1)
    expect(await told()).toEqual(['confirmed'])
    localnet.advanceSlots(31)
    expect(await told()).toEqual(['finalized'])
    localnet.advanceSlots(5)
    expect(await told()).toEqual([])
  })

  it('tell at once of a signature that is already there, and of a failure', async () => {
    const { ask, heard } = await open()
    const payer = await funded()
    const { wire, signature } = await build(
      payer,
      [pay(payer, localnet.faucetAddress, 100n * sol)],
      await rpc.blockhash(),
    )
    await rpc.send(wire, { skipPreflight: true })
    localnet.advanceSlots(1)
    await ask('signatureSubscribe', signature, { commitment: 'confirmed' })
    const [notice] = await heard()
    expect(notice?.params.result).toMatchObject({ value: { err: { InstructionError: [0, { Custom: 1 }] } } })
  })

  it('tell that a transaction was received, when asked to', async () => {
    const { ask, heard } = await open()
    const payer = await funded()
    const { wire, signature } = await build(payer, [memo('x')], await rpc.blockhash())
    await ask('signatureSubscribe', signature, { commitment: 'processed', enableReceivedNotification: true })
    await rpc.send(wire)
    expect((await heard()).map(({ params }) => (params.result as { value: unknown }).value)).toEqual([
      'receivedSignature',
      { err: null },
    ])
  })

  it('tell of accounts and programs as they change', async () => {
    const { ask, heard } = await open()
    const [payer, payee] = [await funded(), await newWallet()]
    const { result: account } = await ask('accountSubscribe', payee.address, {
      encoding: 'base64',
      commitment: 'confirmed',
    })
    const { result: program } = await ask('programSubscribe', '11111111111111111111111111111111', {
      encoding: 'base64',
      commitment: 'processed',
      filters: [{ dataSize: 0 }],
    })
    const { wire } = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    await rpc.send(wire)
    const first = await heard()
    expect(first.map(({ params }) => params.subscription)).toEqual([program, program])
    expect(first.map(({ params }) => (params.result as { value: { pubkey: string } }).value.pubkey).sort()).toEqual(
      [payer.address, payee.address].sort(),
    )
    localnet.advanceSlots(1)
    const second = await heard()
    expect(second.filter(({ params }) => params.subscription === account)).toMatchObject([
      {
        method: 'accountNotification',
        params: { result: { value: { lamports: 1e9, owner: '11111111111111111111111111111111' } } },
      },
    ])
    localnet.advanceSlots(3)
    expect((await heard()).filter(({ params }) => params.subscription === account)).toEqual([])
  })

  it('tell that an account is gone', async () => {
    const { ask, heard } = await open()
    const payer = await funded()
    await ask('accountSubscribe', payer.address, { encoding: 'base64', commitment: 'processed' })
    const { wire } = await build(payer, [pay(payer, localnet.faucetAddress, 10n * sol - 5_000n)], await rpc.blockhash())
    await rpc.send(wire)
    expect((await heard())[0]?.params.result).toMatchObject({ value: { lamports: 0, space: 0 } })
  })

  it('tell of logs, all or those that mention an address', async () => {
    const { ask, heard } = await open()
    const [payer, payee] = [await funded(), await newWallet()]
    const { result: all } = await ask('logsSubscribe', 'all', { commitment: 'confirmed' })
    const { result: some } = await ask('logsSubscribe', { mentions: [payee.address] }, { commitment: 'confirmed' })
    const mentioned = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    const other = await build(payer, [memo('x')], await rpc.blockhash())
    await rpc.send(mentioned.wire)
    await rpc.send(other.wire)
    expect(await heard()).toEqual([])
    localnet.advanceSlots(1)
    const told = (await heard()).map(({ params }) => [
      params.subscription,
      (params.result as { value: { signature: string; logs: string[] } }).value.signature,
    ])
    expect(told).toEqual([
      [all, mentioned.signature],
      [all, other.signature],
      [some, mentioned.signature],
    ])
    expect((await ask('logsSubscribe', { mentions: ['a', 'b'] })).error?.code).toBe(-32602)
  })

  it('report blocks and the changes of slots', async () => {
    const { ask, heard } = await open()
    const payer = await funded()
    const { result: blocks } = await ask(
      'blockSubscribe',
      { mentionsAccountOrProgram: payer.address },
      {
        commitment: 'confirmed',
        encoding: 'json',
        transactionDetails: 'signatures',
        maxSupportedTransactionVersion: 0,
        showRewards: false,
      },
    )
    const { result: updates } = await ask('slotsUpdatesSubscribe')
    const { wire, signature } = await build(payer, [memo('x')], await rpc.blockhash())
    const slot = localnet.slot()
    await rpc.send(wire)
    localnet.advanceSlots(1)
    const told = await heard()
    expect(told.find(({ params }) => params.subscription === blocks)?.params.result).toMatchObject({
      context: { slot },
      value: { slot, err: null, block: { signatures: [signature], parentSlot: slot - 1 } },
    })
    expect(
      told.filter(({ params }) => params.subscription === updates).map(({ params }) => params.result),
    ).toMatchObject([
      { type: 'frozen', slot, stats: { numSuccessfulTransactions: 1, numFailedTransactions: 0 } },
      { type: 'optimisticConfirmation', slot },
      { type: 'createdBank', slot: slot + 1, parent: slot },
    ])
  })

  it('report again after a fork reverted a report', async () => {
    const { ask, heard } = await open()
    const [payer, payee] = [await funded(), await newWallet()]
    await ask('accountSubscribe', payee.address, { encoding: 'base64', commitment: 'confirmed' })
    const { wire } = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    await rpc.send(wire)
    localnet.advanceSlots(1)
    expect(await heard()).toHaveLength(1)
    localnet.rollback(2)
    await rpc.send(wire)
    localnet.advanceSlots(1)
    const [again] = await heard()
    expect(again?.params.result).toMatchObject({ value: { lamports: 1e9 } })
  })

  it('end when they are told to, and only by their owner', async () => {
    const [one, other] = [await open(), await open()]
    const { result: id } = await one.ask('slotSubscribe')
    expect((await other.ask('slotUnsubscribe', id)).error?.code).toBe(-32602)
    expect((await one.ask('slotUnsubscribe', id)).result).toBe(true)
    expect((await one.ask('slotUnsubscribe', id)).error?.code).toBe(-32602)
    localnet.advanceSlots(1)
    expect(await one.heard()).toEqual([])
  })
})

describe('sockets', () => {
  it('are served on the port of the RPC and on the next', async () => {
    const url = new URL(localnet.wsUrl)
    url.port = String(Number(url.port) + 1)
    const { ask } = await open(url.href)
    expect((await ask('slotSubscribe')).result).toEqual(expect.any(Number))
    const plain = await fetch(url.href.replace('ws:', 'http:'))
    expect(plain.status).toBe(426)
  })

  it('answer nonsense with errors, and stay open', async () => {
    const { socket, ask } = await open()
    const next = () => once(socket, 'message').then(([data]) => JSON.parse(String(data)) as { error: { code: number } })
    const answered = next()
    socket.send('{')
    expect((await answered).error.code).toBe(-32700)
    expect((await ask('getSlot')).error?.code).toBe(-32601)
    expect((await ask('accountSubscribe')).error?.code).toBe(-32602)
    expect((await ask('accountSubscribe', 'x')).error?.code).toBe(-32602)
    expect((await ask('signatureSubscribe', 'x')).error?.code).toBe(-32602)
    expect((await ask('blockSubscribe', 'all', { commitment: 'processed' })).error?.code).toBe(-32602)
    socket.send('{"jsonrpc":"2.0","method":"ping"}')
    expect((await ask('slotSubscribe')).result).toEqual(expect.any(Number))
  })

  it('hold a thousand subscriptions, not more', async () => {
    const { ask } = await open()
    const answers = await Promise.all(Array.from({ length: 1_001 }, () => ask('rootSubscribe')))
    expect(answers.filter(({ result }) => result !== undefined)).toHaveLength(1_000)
    expect(answers[1_000]?.error?.code).toBe(-32602)
  })

  it('answer batches', async () => {
    const { socket } = await open()
    const answered = once(socket, 'message')
    socket.send('[{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"},{"jsonrpc":"2.0","id":2,"method":"rootSubscribe"}]')
    const [data] = await answered
    expect(JSON.parse(String(data))).toMatchObject([{ id: 1 }, { id: 2 }])
  })

  it('are refused to pages of other sites', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, { host: 'evil.example' }]) {
      await expect(open(localnet.wsUrl, { headers })).rejects.toThrow('403')
    }
    await open(localnet.wsUrl, { headers: { origin: 'http://localhost:3000' } })
  })

  it('fall silent, speak again, and drop, as told', async () => {
    const { socket, ask, notices } = await open()
    await ask('slotSubscribe')
    localnet.faults.silence(true)
    localnet.advanceSlots(3)
    await new Promise((done) => setTimeout(done, 20))
    expect(notices).toEqual([])
    localnet.faults.silence(false)
    localnet.advanceSlots(1)
    expect((await ask('rootSubscribe')).result).toEqual(expect.any(Number))
    expect(notices).toHaveLength(1)
    const closed = once(socket, 'close')
    localnet.faults.dropSockets()
    await closed
  })

  it('are closed if the client does not read', async () => {
    const { address } = await newWallet()
    const large = { lamports: 10n ** 10n, owner: localnet.faucetAddress, executable: false, rentEpoch: 0n }
    const deaf = connect(Number(new URL(localnet.wsUrl).port), '127.0.0.1')
    const key = Buffer.alloc(16).toString('base64')
    deaf.write(
      `GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    )
    await once(deaf, 'data')
    const params = [address, { encoding: 'base64', commitment: 'confirmed' }]
    const text = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'accountSubscribe', params }))
    deaf.write(Buffer.concat([Buffer.of(0x81, 0x80 | 126, 0, text.length, 0, 0, 0, 0), text]))
    await once(deaf, 'data')
    deaf.pause()
    const megabyte = 1024 * 1024
    for (let round = 0; round < 40; round++) {
      localnet.setAccount(address, { ...large, data: new Uint8Array(megabyte).fill(round) })
      localnet.advanceSlots(1)
      await new Promise((done) => setImmediate(done))
    }
    let received = 0
    deaf.on('data', (chunk) => {
      received += chunk.length
    })
    deaf.on('error', () => {})
    deaf.resume()
    await once(deaf, 'close')
    // Forty notices of 1.4 MB were due. What the kernel had taken came through, then the line was cut.
    expect(received).toBeLessThan(30 * megabyte)
  })
})
