import { describe, expect, it } from 'vitest'
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import { knownMints, type Mint, splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import { absent, type ChainAccount } from '../accounts/account.ts'
import { systemProgram } from '../accounts/programs.ts'
import { callOneByOne, type Rpc, type RpcAnswer } from '../rpc/rpc.ts'
import { type BalanceChange, type ExchangeBounds, findBreach, simulateEffects } from './simulate-effects.ts'

const { NATIVE: native, USDC: usdc } = knownMints.localnet as { NATIVE: Mint; USDC: Mint }
const wrappedSol = 'So11111111111111111111111111111111111111112'
const key = (byte: number) => encodeBase58(new Uint8Array(32).fill(byte))
const [wallet, stranger] = [key(1), key(2)]
const rent = 2_039_280n

interface Tokens {
  readonly mint: string
  readonly owner?: string
  readonly units?: bigint
  readonly delegate?: string
  readonly delegated?: bigint
  readonly closer?: string
  readonly program?: string
  readonly lamports?: bigint
}

function tokens(options: Tokens): ChainAccount {
  const { mint, owner = wallet, units = 0n, delegate, delegated = 0n, closer, program = splTokenProgram } = options
  const data = new Uint8Array(165)
  const view = new DataView(data.buffer)
  data.set(decodeAddress(mint) ?? [], 0)
  data.set(decodeAddress(owner) ?? [], 32)
  view.setBigUint64(64, units, true)
  if (delegate !== undefined) {
    view.setUint32(72, 1, true)
    data.set(decodeAddress(delegate) ?? [], 76)
  }
  data[108] = 1
  view.setBigUint64(121, delegated, true)
  if (closer !== undefined) {
    view.setUint32(129, 1, true)
    data.set(decodeAddress(closer) ?? [], 133)
  }
  const isWrapped = mint === wrappedSol
  return { lamports: options.lamports ?? (isWrapped ? rent + units : rent), owner: program, data, executable: false }
}
const sol = (lamports: bigint): ChainAccount => ({
  lamports,
  owner: systemProgram,
  data: new Uint8Array(),
  executable: false,
})

const bounds: ExchangeBounds = { wallet, sell: native, buy: usdc, units: 100n, minimum: 50n, fee: 10n, rent: 0n }
const fees: BalanceChange = { address: wallet, before: sol(1_000n), after: sol(990n) }
const sold = (before: Tokens, after: Tokens): BalanceChange => ({
  address: key(3),
  before: tokens(before),
  after: tokens(after),
})
const paid = sold({ mint: native.address, units: 100n }, { mint: native.address, units: 0n })
const got: BalanceChange = {
  address: key(4),
  before: tokens({ mint: usdc.address, units: 7n }),
  after: tokens({ mint: usdc.address, units: 57n }),
}

describe('an exchange of two mints', () => {
  const judge = (changes: readonly BalanceChange[], more: Partial<ExchangeBounds> = {}) =>
    findBreach(changes, { ...bounds, ...more })

  it('keeps its bounds to the unit', () => {
    expect(judge([fees, paid, got])).toBeUndefined()
    expect(judge([fees, paid, got], { units: 99n })).toBe('it takes more than ordered')
    expect(judge([fees, paid, got], { minimum: 51n })).toBe('it gives less than the minimum')
    expect(judge([fees, paid, got], { fee: 9n })).toBe('it takes SOL in addition to the fee')
    expect(judge([fees, paid, got], { fee: 9n, rent: 1n })).toBeUndefined()
  })

  it('may open the account for the received token', () => {
    const opened = { address: key(4), before: absent, after: tokens({ mint: usdc.address, units: 50n }) }
    const spent = { address: wallet, before: sol(rent + 1_000n), after: sol(990n) }
    expect(judge([spent, paid, opened], { rent })).toBeUndefined()
    expect(judge([spent, paid, opened], { rent: rent - 1n })).toBe('it takes SOL in addition to the fee')
  })

  it('counts all accounts of the wallet, and no other accounts', () => {
    const second = {
      ...sold({ mint: native.address, units: 5n }, { mint: native.address, units: 4n }),
      address: key(5),
    }
    expect(judge([fees, paid, second, got])).toBe('it takes more than ordered')
    const theirs = {
      ...got,
      before: tokens({ mint: usdc.address, owner: stranger }),
      after: tokens({ mint: usdc.address, owner: stranger, units: 50n }),
    }
    expect(judge([fees, paid, theirs])).toBe('it gives less than the minimum')
  })

  it.each<readonly [string, BalanceChange, string]>([
    [
      'a token account that changes hands',
      sold({ mint: native.address, units: 100n }, { mint: native.address, owner: stranger }),
      'a token account of the wallet would change its owner',
    ],
    [
      'one that is closed',
      { address: key(3), before: tokens({ mint: native.address }), after: absent },
      'a token account of the wallet would change its owner',
    ],
    [
      'a delegate',
      sold({ mint: native.address }, { mint: native.address, delegate: stranger, delegated: 1n }),
      'another account would gain rights to a token account of the wallet',
    ],
    [
      'more for a delegate',
      sold(
        { mint: native.address, delegate: stranger, delegated: 1n },
        { mint: native.address, delegate: stranger, delegated: 2n },
      ),
      'another account would gain rights to a token account of the wallet',
    ],
    [
      'another delegate',
      sold(
        { mint: native.address, delegate: key(8), delegated: 1n },
        { mint: native.address, delegate: stranger, delegated: 1n },
      ),
      'another account would gain rights to a token account of the wallet',
    ],
    [
      'somebody who may close it',
      sold({ mint: native.address }, { mint: native.address, closer: stranger }),
      'another account would gain rights to a token account of the wallet',
    ],
    [
      'a new account with a delegate',
      {
        address: key(3),
        before: absent,
        after: tokens({ mint: usdc.address, units: 50n, delegate: stranger, delegated: 50n }),
      },
      'another account would gain rights to a token account of the wallet',
    ],
    [
      'an account of another token of the wallet',
      sold({ mint: key(9), units: 5n }, { mint: key(9), units: 5n }),
      'it writes to an account of another token of the wallet',
    ],
    [
      'wrapped SOL of the wallet, which is not traded',
      sold({ mint: wrappedSol, units: 5n }, { mint: wrappedSol, units: 5n }),
      'it writes to an account of another token of the wallet',
    ],
  ])('T156: breaks them with %s', (_name, change, why) => {
    expect(judge([fees, paid, got, change])).toBe(why)
  })

  it('T156: breaks them when the wallet itself becomes something else', () => {
    const nonce = { ...sol(990n), data: new Uint8Array(80) }
    expect(judge([{ ...fees, after: nonce }, paid, got])).toBe('the wallet would no longer be a plain wallet')
    const given = { ...sol(990n), owner: stranger }
    expect(judge([{ ...fees, after: given }, paid, got])).toBe('the wallet would no longer be a plain wallet')
    expect(judge([paid, got])).toBe('the wallet is not among the accounts')
  })

  it('leaves rights alone that were there before', () => {
    const had = { mint: native.address, delegate: stranger, delegated: 5n, closer: key(8) }
    expect(judge([fees, sold({ ...had, units: 100n }, had), got])).toBeUndefined()
  })

  it('reads accounts of Token-2022, and takes its mints for none', () => {
    const program = token2022Program
    const extended = (account: ChainAccount, kind: number): ChainAccount => {
      const data = new Uint8Array(170)
      data.set(account.data)
      data[165] = kind
      return { ...account, data }
    }
    const change = (kind: number): BalanceChange => ({
      address: key(4),
      before: extended(tokens({ mint: usdc.address, program, units: 7n }), kind),
      after: extended(tokens({ mint: usdc.address, program, units: 57n }), kind),
    })
    expect(judge([fees, paid, change(2)])).toBeUndefined()
    expect(judge([fees, paid, change(1)])).toBe('it gives less than the minimum')
  })
})

describe('an exchange with SOL', () => {
  const selling: ExchangeBounds = { ...bounds, sell: undefined, units: 100n, rent: 0n }
  const buying: ExchangeBounds = { ...bounds, buy: undefined, minimum: 50n, rent: 0n }
  const own = (before: bigint, after: bigint): BalanceChange => ({
    address: wallet,
    before: sol(before),
    after: sol(after),
  })

  it('takes the ordered amount and the fee, to the lamport', () => {
    expect(findBreach([own(1_000n, 890n), got], selling)).toBeUndefined()
    expect(findBreach([own(1_000n, 889n), got], selling)).toBe('it takes more than ordered')
  })

  it('gives the minimum, less the fee, to the lamport', () => {
    expect(findBreach([own(1_000n, 1_040n), paid], buying)).toBeUndefined()
    expect(findBreach([own(1_000n, 1_039n), paid], buying)).toBe('it gives less than the minimum')
  })

  it('may wrap and unwrap it on the way', () => {
    const passing = { address: key(5), before: absent, after: absent }
    expect(findBreach([own(1_000n, 890n), got, passing], selling)).toBeUndefined()
    const left = { address: key(5), before: absent, after: tokens({ mint: wrappedSol, units: 100n }) }
    expect(findBreach([own(rent + 1_000n, 990n - 100n), got, left], selling)).toBeUndefined()
  })

  it('T156: is not paid by unwrapping the wrapped SOL of the wallet', () => {
    const had = tokens({ mint: wrappedSol, units: 1_000n })
    const unwrapped = { address: key(5), before: had, after: absent }
    expect(findBreach([own(1_000n, 990n + had.lamports), paid, unwrapped], buying)).toBe(
      'it gives less than the minimum',
    )
    expect(findBreach([own(1_000n, 1_040n + had.lamports), paid, unwrapped], buying)).toBeUndefined()
    expect(findBreach([own(1_000n, 990n), paid, unwrapped], buying)).toBe('it gives less than the minimum')
  })
})

describe('a simulation', () => {
  const addresses = [wallet]
  const account = { lamports: 5, owner: systemProgram, data: ['', 'base64'], executable: false }
  const ask = async (...answers: readonly Partial<Record<string, RpcAnswer>>[]) => {
    const nodes = answers.map((table, index) => {
      const call = async (method: string): Promise<RpcAnswer> => {
        if (method === 'getGenesisHash') return table[method] ?? { kind: 'answered', result: 'ours' }
        return table[method] ?? { kind: 'unavailable', why: 'silent' }
      }
      return { name: `${index}`, call, callWithGenesis: callOneByOne(call) }
    })
    const rpc: Rpc = { nodes, call: async () => ({ kind: 'unavailable', why: '' }), close: () => {} }
    return simulateEffects(rpc, 'ours', new Uint8Array([1]), addresses)
  }
  const told = (value: unknown): RpcAnswer => ({ kind: 'answered', result: { context: { slot: 7 }, value } })
  const known = { getMultipleAccounts: told([account]) }

  it('reports the balances before and after', async () => {
    const ran = await ask({
      simulateTransaction: told({ err: null, accounts: [{ ...account, lamports: 4 }] }),
      ...known,
    })
    expect(ran).toMatchObject({ kind: 'ran', changes: [{ before: { lamports: 5n }, after: { lamports: 4n } }] })
  })

  it('asks the next node where one is of no help, and says that it fails where one says so', async () => {
    const failing = { simulateTransaction: told({ err: { InstructionError: [3, { Custom: 1 }] }, accounts: [null] }) }
    expect(await ask({}, failing)).toEqual({ kind: 'failed', why: '{"InstructionError":[3,{"Custom":1}]}' })
  })

  it('believes a node on which it runs more than one on which it fails', async () => {
    const failing = { simulateTransaction: told({ err: { InstructionError: [3, { Custom: 1 }] }, accounts: [null] }) }
    const running = { simulateTransaction: told({ err: null, accounts: [account] }), ...known }
    expect(await ask(failing, running)).toMatchObject({ kind: 'ran' })
  })

  it.each<readonly [string, Partial<Record<string, RpcAnswer>>]>([
    ['nothing', {}],
    [
      'a node of another chain',
      {
        simulateTransaction: told({ err: null, accounts: [account] }),
        ...known,
        getGenesisHash: { kind: 'answered', result: 'theirs' },
      },
    ],
    ['a refusal', { simulateTransaction: { kind: 'refused', code: -32602, message: 'no', data: undefined } }],
    ['a block that it does not know', { simulateTransaction: told({ err: 'BlockhashNotFound', accounts: null }) }],
    ['no outcome', { simulateTransaction: told({ accounts: [account] }), ...known }],
    ['other accounts', { simulateTransaction: told({ err: null, accounts: [] }), ...known }],
    ['accounts of another shape', { simulateTransaction: told({ err: null, accounts: [{ lamports: -1 }] }), ...known }],
    ['nothing of before', { simulateTransaction: told({ err: null, accounts: [account] }) }],
    [
      'no slot',
      { simulateTransaction: { kind: 'answered', result: { value: { err: null, accounts: [account] } } }, ...known },
    ],
  ])('says nothing on %s', async (_name, answers) => {
    expect(await ask(answers)).toMatchObject({ kind: 'unavailable' })
  })
})
