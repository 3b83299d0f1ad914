/** Swaps through Jupiter on a chain: honest ones, and what a hostile answer cannot do. */
import { address, createNoopSigner, type Instruction } from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import {
  AuthorityType,
  getApproveInstruction,
  getCloseAccountInstruction,
  getSetAuthorityInstruction,
} from '@solana-program/token'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { wrappedSol } from '../../src/chain/accounts/programs.ts'
import type { Wallet } from '../../src/chain/keys/keypair.ts'
import { decodeTransaction } from '../../src/chain/read/decode.ts'
import { decodeAddress, encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { Mint } from '../../src/core/money/tokens.ts'
import type { Signing } from '../../src/core/payouts/outgoing-wallet.ts'
import type { Quoting, VenueQuote } from '../../src/core/payouts/venue.ts'
import { jupiterProgram } from '../../src/venues/jupiter-rules.ts'
import { asJson, type Jupiter, type Mischief, openJupiter, transfer } from './jupiter-service.ts'
import { newWallet, openTrade, type Trade } from './venue-fixture.ts'

let trade: Trade
let jupiter: Jupiter
let wallet: Wallet
let stranger: Wallet
beforeAll(async () => {
  trade = await openTrade()
  jupiter = await openJupiter(trade)
  stranger = await trade.taker()
})
afterAll(async () => {
  await jupiter.close()
  await trade.close()
})
beforeEach(async () => {
  jupiter.be({})
  wallet = await trade.taker()
})

type Code = 'SOL' | 'USDC' | 'NATIVE'
const quoted = (quoting: Quoting): VenueQuote => {
  if (quoting.kind !== 'quoted') throw new Error(quoting.why)
  return quoting.quote
}
const signed = (signing: Signing) => {
  if (signing.kind !== 'signed') throw new Error(signing.why)
  return signing.signed
}
/** Quotes and signs, with the minimum that slippage leaves. */
const swap = async (sell: Code, buy: Code, units: bigint, by: Wallet = wallet): Promise<Signing> => {
  const venue = jupiter.venue(by)
  const quote = quoted(await venue.quote(trade.order(sell, buy, units)))
  return venue.sign(quote, { memo: 'paystile:jup', minimum: (quote.units * 9_950n) / 10_000n })
}
const accountOf = (owner: string, mint: Mint) => trade.world.tokenAccount(owner, mint)

describe('a swap', () => {
  it.each([
    ['NATIVE', 'USDC', 100_000_000_000n, 9_990_000n],
    ['SOL', 'USDC', 1_000_000_000n, 149_850_000n],
    ['USDC', 'SOL', 150_000_000n, 999_000_000n],
    ['USDC', 'NATIVE', 1_000_000n, 9_990_000_000n],
  ] as const)('of %s for %s gives the quoted amount, and costs the fee', async (sell, buy, units, gives) => {
    const before = await trade.holds(wallet.address)
    const bytes = signed(await swap(sell, buy, units))
    expect(await trade.land(bytes)).toBeNull()
    const after = await trade.holds(wallet.address)
    for (const token of ['SOL', 'USDC', 'NATIVE'] as const) {
      const moved = (token === buy ? gives : 0n) - (token === sell ? units : 0n)
      expect(after[token] - before[token], token).toBe(moved - (token === 'SOL' ? 25_000n : 0n))
    }
    // Nothing is left wrapped.
    expect(trade.world.localnet.getAccount(await accountOf(wallet.address, wrappedSol))).toBeUndefined()
  })

  it('through accounts of the program is taken as well', async () => {
    const other = await openTrade()
    const shared = await openJupiter(other, 'shared')
    const taker = await other.taker()
    const venue = shared.venue(taker)
    const quote = quoted(await venue.quote(other.order('SOL', 'USDC', 1_000_000_000n)))
    const minimum = (quote.units * 9_950n) / 10_000n
    const bytes = signed(await venue.sign(quote, { memo: 'paystile:shared', minimum }))
    expect(await other.land(bytes)).toBeNull()
    await shared.close()
    await other.close()
  })

  it('opens a missing account for the received token, and leaves the wrapped SOL of the wallet alone', async () => {
    const bare = await newWallet()
    await trade.world.localnet.fund(bare.address, { SOL: 3_000_000_000n })
    expect(await trade.land(signed(await swap('SOL', 'USDC', 1_000_000_000n, bare)))).toBeNull()
    expect((await trade.holds(bare.address)).USDC).toBe(149_850_000n)
    const account = await wrap(bare, 500_000_000n)
    expect(await trade.land(signed(await swap('SOL', 'USDC', 100_000_000n, bare)))).toBeNull()
    expect(trade.world.localnet.getAccount(account)?.lamports).toBe(502_039_280n)
  })

  it('is asked for as the documentation says, with the key', async () => {
    const venue = jupiter.venue(wallet, { apiKey: 'k3y' })
    const quote = quoted(await venue.quote(trade.order('SOL', 'USDC', 1_000_000_000n)))
    expect([quote.units, quote.least]).toEqual([149_850_000n, 149_100_750n])
    await venue.sign(quote, { memo: 'paystile:x', minimum: 1n })
    const [asked, posted] = jupiter.asked.slice(-2)
    expect(asked?.path).toBe('/swap/v1/quote')
    expect(Object.fromEntries(asked?.query ?? [])).toEqual({
      inputMint: wrappedSol.address,
      outputMint: trade.world.usdc.address,
      amount: '1000000000',
      slippageBps: '50',
      swapMode: 'ExactIn',
      restrictIntermediateTokens: 'true',
      instructionVersion: 'V2',
      maxAccounts: '48',
    })
    expect(posted?.path).toBe('/swap/v1/swap-instructions')
    expect(posted?.body).toMatchObject({
      userPublicKey: wallet.address,
      wrapAndUnwrapSol: false,
      useSharedAccounts: false,
      quoteResponse: { outAmount: '149850000', contextSlot: 299_283_763, timeTaken: 0.015257836 },
    })
    for (const { headers } of [asked, posted].flatMap((one) => one ?? [])) expect(headers['x-api-key']).toBe('k3y')
  })

  it('asks for accounts of the program where tokens come in between', async () => {
    jupiter.be({ quote: (honest) => ({ ...honest, routePlan: [{}, {}] }) })
    await swap('NATIVE', 'USDC', 100_000_000_000n)
    expect(jupiter.asked.at(-1)?.body).toMatchObject({ useSharedAccounts: true })
  })

  it('names accounts by lookup tables, which are read from the chain', async () => {
    const pool = jupiter.scriptedProgram.vault.address
    const entries = await Promise.all([accountOf(pool, trade.world.native), accountOf(pool, trade.world.usdc)])
    const table = plantTable(entries)
    jupiter.be({ answer: (honest) => ({ ...honest, addressLookupTableAddresses: [table] }) })
    const bytes = signed(await swap('NATIVE', 'USDC', 100_000_000_000n))
    const decoding = decodeTransaction(bytes.wire)
    expect(decoding.kind === 'transaction' && decoding.transaction.lookups).toMatchObject([{ writable: { length: 2 } }])
    expect(await trade.land(bytes)).toBeNull()
  })
})

describe('T156: a hostile quote', () => {
  it.each<readonly [string, object]>([
    ['another token to sell', { inputMint: wrappedSol.address }],
    ['another token to buy', { outputMint: wrappedSol.address }],
    ['another amount', { inAmount: '1' }],
    ['nothing', { outAmount: '0' }],
    ['a number', { outAmount: 9_990_000 }],
    ['a threshold above what comes', { otherAmountThreshold: '99999999' }],
    ['no threshold', { otherAmountThreshold: undefined }],
    ['another kind of swap', { swapMode: 'ExactOut' }],
    ['more slippage', { slippageBps: 51 }],
    ['no route', { routePlan: [] }],
    ['no route at all', { routePlan: undefined }],
    ['a route without end', { routePlan: Array.from({ length: 17 }, () => ({})) }],
  ])('of %s is not taken', async (_name, lie) => {
    jupiter.be({ quote: (honest) => ({ ...honest, ...lie }) })
    expect(await jupiter.venue(wallet).quote(trade.order('NATIVE', 'USDC', 100_000_000_000n))).toEqual({
      kind: 'unavailable',
      why: "Jupiter's quote differs from the request",
    })
  })

  it('with a lower threshold tells so: it is judged by the rules of conversion', async () => {
    jupiter.be({ quote: (honest) => ({ ...honest, otherAmountThreshold: '1' }) })
    const quote = quoted(await jupiter.venue(wallet).quote(trade.order('NATIVE', 'USDC', 100_000_000_000n)))
    expect(quote.least).toBe(1n)
  })

  it('and a refusal are told apart', async () => {
    jupiter.be({
      status: 400,
      quote: () => ({ error: 'Could not find any route', errorCode: 'COULD_NOT_FIND_ANY_ROUTE' }),
    })
    expect(await jupiter.venue(wallet).quote(trade.order('NATIVE', 'USDC', 1n))).toEqual({
      kind: 'refused',
      why: 'the venue says: Could not find any route',
    })
    jupiter.be({ status: 401, quote: () => ({ error: 'no key' }) })
    expect(await jupiter.venue(wallet).quote(trade.order('NATIVE', 'USDC', 1n))).toEqual({
      kind: 'unavailable',
      why: 'the venue returned 401',
    })
  })
})

/** None of these is ever signed. */
describe('T156: a hostile instruction', () => {
  const unsignable = async (mischief: Mischief, why: string | RegExp) => {
    jupiter.be(mischief)
    const signing = await swap('NATIVE', 'USDC', 100_000_000_000n)
    expect(signing.kind).not.toBe('signed')
    expect('why' in signing ? signing.why : '').toMatch(why)
  }

  it.each<readonly [string, Mischief, string]>([
    [
      'calls another program',
      { swap: (honest) => ({ ...honest, programId: wrappedSol.tokenProgram }) },
      'a program other than Jupiter',
    ],
    [
      'is of an older kind, whose amounts stand behind the route',
      { discriminator: 'e517cb977ae3ad2a' },
      'an unknown kind of swap',
    ],
    ['is no swap', { discriminator: '0000000000000000' }, 'an unknown kind of swap'],
    ['is cut short', { swap: (honest) => ({ ...honest, data: 'u2T6zDHErxQ=' }) }, 'an unknown kind of swap'],
    ['sells more', { amounts: ([sold, ...rest]) => [sold + 1n, ...rest] }, 'another amount than ordered'],
    ['sells less', { amounts: ([sold, ...rest]) => [sold - 1n, ...rest] }, 'another amount than ordered'],
    [
      'is content with less than was quoted',
      { amounts: ([sold, quote, ...rest]) => [sold, quote - 10n, ...rest] },
      'its minimum is too low',
    ],
    [
      'allows more slippage',
      { amounts: ([sold, quote, , ...rest]) => [sold, quote, 51, ...rest] },
      'its minimum is too low',
    ],
    [
      'allows slippage beyond all',
      { amounts: ([sold, quote, , ...rest]) => [sold, quote, 65_535, ...rest] },
      'its minimum is too low',
    ],
    [
      'takes a platform fee',
      { amounts: ([sold, quote, slip, , last]) => [sold, quote, slip, 1, last] },
      'charges a platform fee',
    ],
    [
      'takes what comes beyond the quote',
      { amounts: ([sold, quote, slip, fee]) => [sold, quote, slip, fee, 1] },
      'charges a platform fee',
    ],
    [
      'has somebody else sign',
      {
        swap: (honest) => ({
          ...honest,
          accounts: [
            ...(honest['accounts'] as object[]),
            { pubkey: trade.deskWallet.address, isSigner: true, isWritable: false },
          ],
        }),
      },
      'requires another signer',
    ],
    [
      'names more accounts than can be',
      {
        swap: (honest) => ({
          ...honest,
          accounts: [
            ...(honest['accounts'] as object[]),
            ...Array.from({ length: 64 }, () => ({ pubkey: jupiterProgram, isSigner: false, isWritable: false })),
          ],
        }),
      },
      'too many accounts',
    ],
  ])('that %s is not taken', async (_name, mischief, why) => {
    await unsignable(mischief, why)
  })

  it.each([
    ['authority', 0],
    ['source', 1],
    ['destination', 2],
    ['mint that is sold', 3],
    ['mint that is bought', 4],
    ['program of the sold', 5],
    ['program of the bought', 6],
    ['program itself', 9],
  ] as const)('with another %s is not taken', async (_name, place) => {
    const other = await accountOf(stranger.address, trade.world.usdc)
    await unsignable({ accounts: (honest) => honest.with(place, other) }, 'its accounts differ from the order')
  })

  it('that sends the received tokens elsewhere is refused', async () => {
    const other = await accountOf(stranger.address, trade.world.usdc)
    await unsignable({ accounts: (honest) => honest.with(7, other) }, 'the proceeds would go to another account')
  })

  it.each<readonly [string, unknown]>([
    ['nothing', undefined],
    ['text', 'swap'],
    ['no program', { accounts: [], data: '' }],
    ['no accounts', { programId: jupiterProgram, data: '' }],
    ['accounts that are none', { programId: jupiterProgram, accounts: [7], data: '' }],
    [
      'an address that is none',
      { programId: jupiterProgram, accounts: [{ pubkey: 'me', isSigner: false, isWritable: false }], data: '' },
    ],
    [
      'roles that are none',
      {
        programId: jupiterProgram,
        accounts: [{ pubkey: jupiterProgram, isSigner: 'no', isWritable: false }],
        data: '',
      },
    ],
    ['data that is none', { programId: jupiterProgram, accounts: [], data: '*' }],
    ['data without end', { programId: jupiterProgram, accounts: [], data: 'A'.repeat(4_000) }],
  ])('of %s cannot be read', async (_name, instruction) => {
    await unsignable(
      { answer: (honest) => ({ ...honest, swapInstruction: instruction }) },
      'Jupiter returned no readable swap',
    )
  })

  it.each<readonly [string, unknown]>([
    ['no list', undefined],
    ['an address that is none', ['me']],
    ['too many', Array.from({ length: 17 }, () => jupiterProgram)],
  ])('with lookup tables that are %s cannot be read', async (_name, tables) => {
    const answer: Mischief['answer'] = (honest) => ({ ...honest, addressLookupTableAddresses: tables })
    await unsignable({ answer }, 'Jupiter returned no readable swap')
  })

  it('with lookup tables that are none, of others, or being closed is not taken', async () => {
    const closing = plantTable([], 5n)
    const foreign = plantTable([], undefined, jupiterProgram)
    const cut = await accountOf(stranger.address, trade.world.usdc)
    for (const table of [closing, foreign, cut, (await newWallet()).address]) {
      const answer: Mischief['answer'] = (honest) => ({ ...honest, addressLookupTableAddresses: [table] })
      await unsignable({ answer }, 'its lookup tables cannot be read')
    }
  })
})

describe('T156: a hostile swap, which looks like an honest one,', () => {
  const { usdc, native } = { usdc: () => trade.world.usdc, native: () => trade.world.native }
  const owner = () => createNoopSigner(address(wallet.address))
  /** Tried out, it is seen for what it does, and not signed. */
  const seenThrough = async (
    steps: NonNullable<Mischief['steps']>,
    why: string,
    sell: Code = 'NATIVE',
    buy: Code = 'USDC',
  ) => {
    jupiter.be({ steps })
    const units = sell === 'SOL' ? 1_000_000_000n : sell === 'USDC' ? 150_000_000n : 100_000_000_000n
    expect(await swap(sell, buy, units)).toEqual({ kind: 'impossible', why })
  }

  it('that pays a unit less than the minimum', async () => {
    await seenThrough(async ([take]) => [take as Instruction, await paid(9_940_049n)], 'it gives less than the minimum')
    jupiter.be({ steps: async ([take]) => [take as Instruction, await paid(9_940_050n)] })
    expect(await swap('NATIVE', 'USDC', 100_000_000_000n)).toMatchObject({ kind: 'signed' })
  })

  const paid = async (units: bigint) => {
    const pool = jupiter.scriptedProgram.vault.address
    return transfer(usdc(), await accountOf(pool, usdc()), await accountOf(wallet.address, usdc()), pool, units)
  }

  it('that pays nothing', async () => {
    await seenThrough(([take]) => [take as Instruction], 'it gives less than the minimum')
  })

  it('that takes a unit more than was ordered', async () => {
    const more = async () =>
      transfer(
        native(),
        await accountOf(wallet.address, native()),
        await accountOf(stranger.address, native()),
        wallet.address,
        1n,
      )
    await seenThrough(async (honest) => [...honest, await more()], 'it takes more than ordered')
  })

  it('that takes the earlier balance of the bought token', async () => {
    const back = async () =>
      transfer(
        usdc(),
        await accountOf(wallet.address, usdc()),
        await accountOf(stranger.address, usdc()),
        wallet.address,
        5_000_000n,
      )
    await seenThrough(async (honest) => [...honest, await back()], 'it gives less than the minimum')
  })

  it('that takes of another token of the wallet', async () => {
    const theft = async () =>
      transfer(
        native(),
        await accountOf(wallet.address, native()),
        await accountOf(stranger.address, native()),
        wallet.address,
        1n,
      )
    await seenThrough(
      async (honest) => [...honest, await theft()],
      'it writes to an account of another token of the wallet',
      'SOL',
    )
  })

  it('that takes of another token of the wallet, which only a lookup table names', async () => {
    const [own, theirs] = await Promise.all([wallet, stranger].map(({ address: one }) => accountOf(one, native())))
    if (!own || !theirs) throw new Error('no accounts')
    const table = plantTable([own, theirs])
    jupiter.be({
      steps: (honest) => [...honest, transfer(native(), own, theirs, wallet.address, 1n)],
      answer: (honest) => ({ ...honest, addressLookupTableAddresses: [table] }),
    })
    expect(await swap('SOL', 'USDC', 1_000_000_000n)).toEqual({
      kind: 'impossible',
      why: 'it writes to an account of another token of the wallet',
    })
  })

  it('that takes SOL beside the fee', async () => {
    const theft = () =>
      getTransferSolInstruction({ source: owner(), destination: address(stranger.address), amount: 1n })
    await seenThrough((honest) => [...honest, theft()], 'it takes SOL in addition to the fee')
  })

  it('that takes more SOL than was ordered', async () => {
    const theft = () =>
      getTransferSolInstruction({ source: owner(), destination: address(stranger.address), amount: 1n })
    await seenThrough((honest) => [...honest, theft()], 'it takes more than ordered', 'SOL')
  })

  it('that pays SOL which the wallet had wrapped itself', async () => {
    await wrap(wallet, 5_000_000_000n)
    await seenThrough(([take]) => [take as Instruction], 'it gives less than the minimum', 'USDC', 'SOL')
  })

  const rights = 'another account would gain rights to a token account of the wallet'
  it('that approves a delegate', async () => {
    const approval = async () =>
      getApproveInstruction({
        source: await accountOf(wallet.address, usdc()),
        delegate: address(stranger.address),
        owner: owner(),
        amount: 1n,
      })
    await seenThrough(async (honest) => [...honest, await approval()], rights)
  })

  it('that lets another wallet close an account', async () => {
    const closer = async () =>
      getSetAuthorityInstruction({
        owned: await accountOf(wallet.address, native()),
        owner: owner(),
        authorityType: AuthorityType.CloseAccount,
        newAuthority: address(stranger.address),
      })
    await seenThrough(async (honest) => [...honest, await closer()], rights)
  })

  it('that gives an account away', async () => {
    const gift = async () =>
      getSetAuthorityInstruction({
        owned: await accountOf(wallet.address, native()),
        owner: owner(),
        authorityType: AuthorityType.AccountOwner,
        newAuthority: address(stranger.address),
      })
    await seenThrough(
      async (honest) => [...honest, await gift()],
      'a token account of the wallet would change its owner',
    )
  })

  it('that closes an account of the wallet', async () => {
    const held = await trade.holds(wallet.address)
    const account = await accountOf(wallet.address, native())
    const close = getCloseAccountInstruction({ account, destination: address(wallet.address), owner: owner() })
    const all = async () =>
      transfer(
        native(),
        account,
        await accountOf(jupiter.scriptedProgram.vault.address, native()),
        wallet.address,
        held.NATIVE,
      )
    jupiter.be({ steps: async ([, pay]) => [await all(), pay as Instruction, close] })
    expect(await swap('NATIVE', 'USDC', held.NATIVE)).toEqual({
      kind: 'impossible',
      why: 'a token account of the wallet would change its owner',
    })
  })

  it('that makes something else of the wallet itself', async () => {
    const assign: Instruction = {
      programAddress: address('11111111111111111111111111111111'),
      accounts: [{ address: address(wallet.address), role: 3 }],
      data: Uint8Array.from([1, 0, 0, 0, ...new Uint8Array(32).fill(9)]),
    }
    await seenThrough((honest) => [...honest, assign], 'the wallet would no longer be a plain wallet')
  })

  it('that fails is not signed either', async () => {
    jupiter.be({ steps: async ([take]) => [take as Instruction, await paid(10n ** 15n)] })
    expect(await swap('NATIVE', 'USDC', 100_000_000_000n)).toMatchObject({
      kind: 'impossible',
      why: expect.stringContaining('it would fail'),
    })
  })
})

describe('T156: any other response of Jupiter', () => {
  it('is not in the transaction: setup, cleanup, tips, compute budget and token ledger are not its business', async () => {
    const theft = asJson(
      transfer(
        trade.world.native,
        await accountOf(wallet.address, trade.world.native),
        await accountOf(stranger.address, trade.world.native),
        wallet.address,
        7n,
      ),
    )
    jupiter.be({
      answer: (honest) => ({
        ...honest,
        tokenLedgerInstruction: theft,
        computeBudgetInstructions: [theft],
        setupInstructions: [theft],
        cleanupInstruction: theft,
        otherInstructions: [theft],
      }),
    })
    const bytes = signed(await swap('NATIVE', 'USDC', 100_000_000_000n))
    const decoding = decodeTransaction(bytes.wire)
    if (decoding.kind === 'malformed') throw new Error(decoding.why)
    const { keys, instructions, signatures } = decoding.transaction
    expect(signatures).toHaveLength(1)
    expect(instructions.map(({ program }) => encodeBase58(keys[program] ?? new Uint8Array()))).toEqual([
      'ComputeBudget111111111111111111111111111111',
      'ComputeBudget111111111111111111111111111111',
      'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
      jupiterProgram,
    ])
    expect(await trade.land(bytes)).toBeNull()
    expect((await trade.holds(wallet.address)).NATIVE).toBe(900_000_000_000n)
  })
})

/** Gives a wallet wrapped SOL in its own account, as the pool has it. */
async function wrap(owner: Wallet, lamports: bigint): Promise<string> {
  const { localnet } = trade.world
  const like = localnet.getAccount(await accountOf(jupiter.scriptedProgram.vault.address, wrappedSol))
  if (!like) throw new Error('the pool has no wrapped SOL')
  const data = like.data.slice()
  data.set(decodeAddress(owner.address) ?? [], 32)
  new DataView(data.buffer).setBigUint64(64, lamports, true)
  const account = await accountOf(owner.address, wrappedSol)
  localnet.setAccount(account, { ...like, lamports: lamports + 2_039_280n, data })
  localnet.advanceSlots(1)
  return account
}

let tables = 0

/** Plants a lookup table. */
function plantTable(
  entries: readonly string[],
  closedAt = 2n ** 64n - 1n,
  owner = 'AddressLookupTab1e1111111111111111111111111',
): string {
  const keys = entries.map((one) => decodeAddress(one) ?? new Uint8Array())
  const head = new Uint8Array(56)
  const view = new DataView(head.buffer)
  view.setUint32(0, 1, true)
  view.setBigUint64(4, closedAt, true)
  tables += 1
  const table = encodeBase58(new Uint8Array(32).fill(100 + tables))
  trade.world.localnet.setAccount(table, {
    lamports: 10_000_000n,
    owner,
    data: new Uint8Array(Buffer.concat([head, ...keys])),
    executable: false,
    rentEpoch: 2n ** 64n - 1n,
  })
  trade.world.localnet.advanceSlots(2)
  return table
}
