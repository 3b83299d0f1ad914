import { describe, expect, it } from 'vitest'
import { knownMints, token2022Program } from '../../core/money/tokens.ts'
import { type Call, callOneByOne, type Rpc, type RpcAnswer } from '../rpc/rpc.ts'
import { createInspector } from './recipient.ts'

const usdc = knownMints.localnet.USDC ?? { address: '', decimals: 0, tokenProgram: '' }
const recipient = '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS'
const system = '11111111111111111111111111111111'
const genesis = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'

const mintData = (decimals: number) => {
  const data = new Uint8Array(82)
  data.set([decimals, 1], 44)
  return Buffer.from(data).toString('base64')
}
const account = (data: string, owner: string, lamports: unknown = 1_000_000_000) => ({
  owner,
  data: [data, 'base64'],
  lamports,
  executable: false,
})
const wallet = (lamports: unknown) => account('', system, lamports)
const mint = (decimals = 6, owner: string = usdc.tokenProgram) => account(mintData(decimals), owner)

type Told = Readonly<Record<string, unknown>>
const unavailable: RpcAnswer = { kind: 'unavailable', why: 'the node cannot be reached' }
/** A node that tells these results by method, and the right chain unless told otherwise. */
const node = (told: Told): Call => {
  const all: Told = { getGenesisHash: genesis, ...told }
  return async (method) => (method in all ? { kind: 'answered', result: all[method] } : unavailable)
}
const holding = (...value: readonly unknown[]) => node({ getMultipleAccounts: { value } })
const rpcOf = (...calls: readonly Call[]): Rpc => ({
  nodes: calls.map((call, index) => ({ name: `node ${index + 1}`, call, callWithGenesis: callOneByOne(call) })),
  call: calls[0] ?? (async () => unavailable),
  close: () => {},
})
const ask = (...calls: readonly Call[]) =>
  createInspector(rpcOf(...calls), genesis)({ recipient, mints: { USDC: usdc } })
const good = holding(wallet(1_000_000), mint(), null)

describe('the inspection of a recipient', () => {
  it('is read in one question, and one about the chain', async () => {
    const asked: string[] = []
    const call: Call = (method, params) => {
      asked.push(method)
      return good(method, params)
    }
    expect(await ask(call)).toMatchObject({
      kind: 'seen',
      wallet: { kind: 'wallet', leastLamports: 0n },
      tokens: { USDC: { mint: { kind: 'mint', traits: { decimals: 6 } }, account: { kind: 'absent' } } },
    })
    expect(asked).toEqual(['getMultipleAccounts', 'getGenesisHash'])
  })

  it.each([
    ['is silent about its chain', undefined, 'a node did not return its genesis hash'],
    ['is of another chain', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', 'a node belongs to another chain'],
  ])('tells the reason if a node %s', async (_name, getGenesisHash, why) => {
    const value = [wallet(1_000_000), mint(), null]
    expect(await ask(node({ getMultipleAccounts: { value }, getGenesisHash }))).toEqual({ kind: 'unknown', why })
  })

  it('is asked once by many at the same time, and anew later', async () => {
    let times = 0
    const call: Call = (method, params) => {
      times += method === 'getMultipleAccounts' ? 1 : 0
      return good(method, params)
    }
    const inspect = createInspector(rpcOf(call), genesis)
    const question = { recipient, mints: { USDC: usdc } }
    await Promise.all([inspect(question), inspect(question), inspect({ recipient, mints: {} })])
    expect(times).toBe(2)
    await inspect(question)
    expect(times).toBe(3)
  })

  it.each([
    ['out of reach', async () => unavailable],
    ['refusing', async () => ({ kind: 'refused', code: -32005, message: 'behind', data: undefined }) as const],
    ['answering something else', node({ getMultipleAccounts: { value: 'nonsense' } })],
    ['answering too little', holding(wallet(1), mint())],
    ['answering too much', holding(wallet(1), mint(), null, null)],
    ['answering without data', holding(wallet(1), { owner: usdc.tokenProgram }, null)],
    ['answering bad base64', holding(wallet(1), account('%%%', usdc.tokenProgram), null)],
    ['answering for no account of ours', holding()],
    [
      'of another chain',
      node({ getMultipleAccounts: { value: [wallet(1_000_000), mint(), null] }, getGenesisHash: 'other' }),
    ],
    ['that does not know the epoch', holding(wallet(1_000_000), mint(6, token2022Program), null)],
  ] satisfies readonly [string, Call][])('leaves it open: a node %s', async (_what, call) => {
    expect(await ask(call)).toMatchObject({ kind: 'unknown' })
  })

  it.each([
    ['a program', { ...wallet(1_000_000), executable: true }, 'a program'],
    ['a token account', account(mintData(6), usdc.tokenProgram), 'a token account or a mint'],
    ['an account of Token-2022', account('', token2022Program), 'a token account or a mint'],
  ])('tells %s from a wallet', async (_what, own, what) => {
    const told = node({ getMultipleAccounts: { value: [own, mint(), null] }, getEpochInfo: { epoch: 1 } })
    expect(await ask(told)).toMatchObject({ wallet: { kind: 'unspendable', what } })
  })

  it.each([
    ['nothing', null, 890_880n],
    ['a little', wallet(880), 890_000n],
    ['one lamport too little', wallet(890_879), 1n],
    ['just enough', wallet(890_880), 0n],
    ['more than a number holds', wallet('18446744073709551615'), 0n],
  ])('tells how much must come to a wallet with %s', async (_what, own, leastLamports) => {
    expect(await ask(holding(own, mint(), null))).toMatchObject({ wallet: { leastLamports } })
  })

  it('takes the rent of an account from the chain', async () => {
    const value = [null, mint(), null]
    const told = node({ getMultipleAccounts: { value }, getMinimumBalanceForRentExemption: 500 })
    expect(await ask(told)).toMatchObject({ wallet: { leastLamports: 500n } })
  })
})

describe('several nodes', () => {
  const liar = holding(wallet(1_000_000), mint(9), null)
  const silent: Call = async () => unavailable

  it.each<[string, readonly Call[], unknown]>([
    ['two that agree', [good, good], { kind: 'seen' }],
    ['two that do not', [good, liar], { kind: 'unknown', why: 'the nodes do not agree' }],
    [
      'two against a liar',
      [liar, good, good],
      { kind: 'seen', tokens: { USDC: { mint: { traits: { decimals: 6 } } } } },
    ],
    ['one that is left', [silent, good], { kind: 'seen' }],
    ['none that is left', [silent, silent], { kind: 'unknown', why: 'the node cannot be reached' }],
  ])('%s', async (_what, calls, outcome) => {
    expect(await ask(...calls)).toMatchObject(outcome as object)
  })

  it('may have seen different balances of a wallet that has enough', async () => {
    expect(await ask(good, holding(wallet(2_000_000), mint(), null))).toMatchObject({ kind: 'seen' })
  })
})
