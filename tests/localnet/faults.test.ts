import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { build, client, frozen, memo, newWallet, pay } from './client.ts'

const sol = 1_000_000_000n

let localnet: Localnet
let rpc: ReturnType<typeof client>
beforeEach(async () => {
  localnet = await startLocalnet(frozen)
  rpc = client(localnet)
})
afterEach(() => localnet.close())

const slotCall = '{"jsonrpc":"2.0","id":1,"method":"getSlot"}'

describe('faults of transport', () => {
  it('answers with a status, as often as it is told', async () => {
    localnet.faults.add({ status: 429, retryAfterSeconds: 7, times: 2 })
    const answers = [await rpc.post(slotCall), await rpc.post(slotCall), await rpc.post(slotCall)]
    expect(answers.map(({ status }) => status)).toEqual([429, 429, 200])
    expect(answers[0]?.headers.get('retry-after')).toBe('7')
  })

  it('spoils some methods and leaves the others alone', async () => {
    const end = localnet.faults.add({ status: 503, methods: ['getBalance'] })
    const balance = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBalance', params: [localnet.faucetAddress] })
    expect((await rpc.post(balance)).status).toBe(503)
    expect((await rpc.post(slotCall)).status).toBe(200)
    expect((await rpc.post(`[${slotCall},${balance}]`)).status).toBe(503)
    end()
    expect((await rpc.post(balance)).status).toBe(200)
  })

  it('resets connections', async () => {
    localnet.faults.add({ drop: true, times: 1 })
    await expect(rpc.post(slotCall)).rejects.toThrow()
    expect((await rpc.post(slotCall)).status).toBe(200)
  })

  it('takes its time', async () => {
    localnet.faults.add({ latencyMs: 40 })
    const started = performance.now()
    await rpc.post(slotCall)
    expect(performance.now() - started).toBeGreaterThan(35)
  })

  it.each(['truncated', 'html', 'empty'] as const)('answers with a body that is %s', async (body) => {
    localnet.faults.add({ body, times: 1 })
    const response = await rpc.post(slotCall)
    expect(response.status).toBe(200)
    const text = await response.text()
    expect(() => JSON.parse(text)).toThrow()
    expect((await (await rpc.post(slotCall)).json()) as object).toHaveProperty('result')
  })

  it('answers under another id, or with an error of its own', async () => {
    localnet.faults.set([{ body: 'wrong-id', times: 1 }])
    expect(await (await rpc.post(slotCall)).json()).toMatchObject({ id: 'another id' })
    localnet.faults.set([
      { error: { code: -32005, message: 'Node is behind by 42 slots', data: { numSlotsBehind: 42 } } },
    ])
    const response = await rpc.post(slotCall)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32005, message: 'Node is behind by 42 slots', data: { numSlotsBehind: 42 } },
      id: 1,
    })
  })

  it('spoils the faucet too', async () => {
    localnet.faults.add({ methods: ['/faucet'], status: 500 })
    const response = await fetch(`${localnet.rpcUrl}/faucet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).toBe(500)
  })
})

describe('faults of knowledge', () => {
  async function paid() {
    const [payer, payee] = [await newWallet(), await newWallet()]
    await localnet.fund(payer.address, { SOL: 10n * sol })
    localnet.advanceSlots(60)
    const built = await build(payer, [pay(payer, payee.address, sol)], await rpc.blockhash())
    await rpc.send(built.wire)
    localnet.advanceSlots(10)
    return { ...built, payer, payee }
  }

  it('lags: the node does not know recent slots', async () => {
    const { payee, signature } = await paid()
    const slot = localnet.slot()
    const end = localnet.faults.add({ lagSlots: 20 })
    expect(await rpc.get('getSlot', { commitment: 'processed' })).toBe(slot - 20)
    expect(await rpc.balance(payee.address)).toBe(0)
    expect(await rpc.status(signature)).toBeNull()
    expect(
      await rpc.get('getTransaction', signature, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 }),
    ).toBeNull()
    expect(await rpc.get('getSignaturesForAddress', payee.address, { commitment: 'confirmed' })).toEqual([])
    expect((await rpc.ask('getSlot', { commitment: 'processed', minContextSlot: slot })).error?.code).toBe(-32016)
    expect(
      (await rpc.value<{ lastValidBlockHeight: number }>('getLatestBlockhash', { commitment: 'processed' }))
        .lastValidBlockHeight,
    ).toBe(slot - 20 + 150)
    end()
    expect(await rpc.balance(payee.address)).toBe(1e9)
  })

  it('lies: any answer can be another', async () => {
    const { payee, signature } = await paid()
    localnet.faults.intercept((method, params, answer) => {
      if (method === 'getBalance') return { result: { context: { slot: 1 }, value: 77 } }
      if (method === 'getTransaction' && 'result' in answer) {
        expect((params as unknown[])[0]).toBe(signature)
        const found = answer.result as { meta: Record<string, unknown> }
        return { result: { ...found, meta: null } }
      }
      return answer
    })
    expect(await rpc.balance(payee.address)).toBe(77)
    expect(
      await rpc.get('getTransaction', signature, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 }),
    ).toMatchObject({ meta: null })
    expect(await rpc.get('getSlot', { commitment: 'processed' })).toBe(localnet.slot())
    localnet.faults.intercept(() => ({ error: { code: -32005, message: 'no' } }))
    expect((await rpc.ask('getHealth')).error?.code).toBe(-32005)
    localnet.faults.clear()
    expect(await rpc.balance(payee.address)).toBe(1e9)
  })
})

describe('faults of delivery', () => {
  async function ready() {
    const payer = await newWallet()
    await localnet.fund(payer.address, { SOL: 10n * sol })
    return payer
  }

  it('loses a transaction it accepted', async () => {
    const payer = await ready()
    localnet.faults.add({ methods: ['sendTransaction'], lose: true, times: 1 })
    const { wire, signature } = await build(payer, [memo('lost')], await rpc.blockhash())
    expect((await rpc.send(wire)).result).toBe(signature)
    localnet.advanceSlots(10)
    expect(await rpc.status(signature)).toBeNull()
    expect((await rpc.send(wire)).result).toBe(signature)
    expect(await rpc.status(signature)).not.toBeNull()
  })

  it('lets a transaction wait, and drops it when its blockhash dies meanwhile', async () => {
    const payer = await ready()
    localnet.faults.add({ delaySlots: 3 })
    const soon = await build(payer, [memo('soon')], await rpc.blockhash())
    await rpc.send(soon.wire)
    localnet.advanceSlots(2)
    expect(await rpc.status(soon.signature)).toBeNull()
    localnet.advanceSlots(1)
    expect(await rpc.status(soon.signature)).toMatchObject({ confirmationStatus: 'processed' })
    localnet.faults.set([{ delaySlots: 200 }])
    const late = await build(payer, [memo('late')], await rpc.blockhash())
    await rpc.send(late.wire)
    localnet.advanceSlots(250)
    expect(await rpc.status(late.signature)).toBeNull()
  })

  it('retries transactions that cannot pay their fee yet, as a node does', async () => {
    const poor = await newWallet()
    const patient = await build(poor, [memo('patient')], await rpc.blockhash())
    const hasty = await build(poor, [memo('hasty')], await rpc.blockhash())
    await rpc.send(patient.wire, { skipPreflight: true })
    await rpc.send(hasty.wire, { skipPreflight: true, maxRetries: 0 })
    localnet.advanceSlots(2)
    await localnet.fund(poor.address, { SOL: sol })
    expect(await rpc.status(patient.signature)).toMatchObject({ err: null })
    expect(await rpc.status(hasty.signature)).toBeNull()
  })
})

describe('from another process', () => {
  it('moves the clock, sets faults and drops forks over JSON-RPC', async () => {
    const slot = localnet.slot()
    expect(await rpc.get('paystile_advance', { slots: 5 })).toMatchObject({ slot: slot + 5 })
    const before = (await rpc.get<{ timeMs: number }>('paystile_clock')).timeMs
    const after = await rpc.get<{ slot: number; timeMs: number }>('paystile_advance', { seconds: 100, slots: 2 })
    expect(after.slot).toBe(slot + 7)
    expect(after.timeMs - before).toBeGreaterThanOrEqual(100_000)
    expect(await rpc.get('paystile_rollback', 3)).toEqual([])
    expect((await rpc.ask('paystile_rollback', 1000)).error).toMatchObject({ code: -32602 })
    await rpc.get('paystile_setFaults', [{ status: 503 }])
    expect((await rpc.post(slotCall)).status).toBe(503)
    await rpc.get('paystile_setFaults', [])
    expect((await rpc.post(slotCall)).status).toBe(200)
    await rpc.get('paystile_silence', true)
    await rpc.get('paystile_silence', false)
  })

  it.each([
    ['paystile_advance', {}],
    ['paystile_advance', { seconds: -1 }],
    ['paystile_advance', { seconds: '5' }],
    ['paystile_advance', { slots: 0 }],
    ['paystile_setFaults', {}],
    ['paystile_setFaults', [{ statuss: 5 }]],
    ['paystile_setFaults', [{ status: 'x' }]],
    ['paystile_setFaults', [{ status: 99 }]],
    ['paystile_setFaults', [{ body: 'rude' }]],
    ['paystile_setFaults', [5]],
    ['paystile_rollback', 'x'],
    ['paystile_silence', 1],
  ])('refuses %s(%j)', async (method, params) => {
    expect((await rpc.ask(method, params)).error?.code).toBe(-32602)
  })
})
