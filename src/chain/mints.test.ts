import { describe, expect, it } from 'vitest'
import { knownMints, token2022Program } from '../core/network.ts'
import { probeMints } from './mints.ts'
import type { Answer, Rpc } from './rpc.ts'

const usdc = knownMints.localnet.USDC ?? { address: '', decimals: 0, tokenProgram: '' }
const mintData = (decimals: number, initialized = 1) => {
  const data = new Uint8Array(82)
  data[44] = decimals
  data[45] = initialized
  return Buffer.from(data).toString('base64')
}
const account = (data: string, owner = usdc.tokenProgram) => ({ owner, data: [data, 'base64'], lamports: 1 })
const answering = (answer: Answer): Rpc => ({
  nodes: [],
  call: async () => answer,
  close: () => {},
})
const holding = (value: unknown): Rpc => answering({ kind: 'answered', result: { value } })

describe('probeMints', () => {
  it('is content with a mint as configured, and with none at all', async () => {
    expect(await probeMints(holding([account(mintData(6))]), { USDC: usdc })).toEqual({ kind: 'good' })
    expect(await probeMints(answering({ kind: 'unavailable', why: 'x' }), {})).toEqual({ kind: 'good' })
  })

  it.each([
    ['T51: other decimals', [account(mintData(9))], 'has 9 decimals and not 6'],
    ['T74: no such account', [null], 'does not exist on this chain'],
    ['another program', [account(mintData(6), token2022Program)], `belongs to the program ${token2022Program}`],
    ['a token account', [account(Buffer.alloc(40).toString('base64'))], 'is not a mint'],
    ['a mint that was never made', [account(mintData(6, 0))], 'is not a mint'],
  ])('%s is told', async (_what, value, words) => {
    const probe = await probeMints(holding(value), { USDC: usdc })
    expect(probe).toEqual({ kind: 'bad', problems: [expect.stringContaining(`mints.USDC: ${usdc.address} ${words}`)] })
  })

  it.each([
    ['out of reach', answering({ kind: 'unavailable', why: 'the node cannot be reached' })],
    ['refusing', answering({ kind: 'refused', code: -32005, message: 'behind', data: undefined })],
    ['answering something else', holding('nonsense')],
    ['answering too little', holding([])],
    ['answering without data', holding([{ owner: usdc.tokenProgram }])],
    ['answering bad base64', holding([account('%%%')])],
  ])('a node %s leaves it open', async (_what, rpc) => {
    expect(await probeMints(rpc, { USDC: usdc })).toMatchObject({ kind: 'unknown' })
  })
})
