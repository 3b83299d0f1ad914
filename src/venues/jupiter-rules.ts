/**
 * Checks an instruction from Jupiter. It must be one of its two swaps with an exact input, for exactly this order, from
 * the wallet's account into the wallet's account, and it must contain the required minimum.
 *
 * Only the two swaps with amounts at fixed offsets before the route are accepted. In older ones the amounts follow the
 * route. An instruction longer than the part that its program reads could show amounts there that do not count.
 */
import { findTokenAccount, wrappedSol } from '../chain/accounts/programs.ts'
import type { ExchangeBounds } from '../chain/send/simulate-effects.ts'
import type { ForeignInstruction } from '../chain/wallets/swap.ts'

export const jupiterProgram = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4'

export type SwapExpectation = Pick<ExchangeBounds, 'wallet' | 'sell' | 'buy' | 'units' | 'minimum'>

/** The layout of an instruction: data by byte offset, accounts by index. */
interface Layout {
  /** The offset of the sold amount. The quoted amount, slippage and fees follow it. */
  readonly amounts: number
  readonly authority: number
  readonly source: number
  readonly destination: number
  readonly sourceMint: number
  readonly destinationMint: number
  readonly sourceProgram: number
  readonly destinationProgram: number
  /** The account that can redirect the proceeds. The program's own address means none. */
  readonly elsewhere: number | undefined
  readonly self: number
}

const layouts: Readonly<Record<string, Layout>> = {
  // route_v2
  bb64facc31c4af14: {
    amounts: 8,
    authority: 0,
    source: 1,
    destination: 2,
    sourceMint: 3,
    destinationMint: 4,
    sourceProgram: 5,
    destinationProgram: 6,
    elsewhere: 7,
    self: 9,
  },
  // shared_accounts_route_v2
  d19853937cfed8e9: {
    amounts: 9,
    authority: 1,
    source: 2,
    destination: 5,
    sourceMint: 6,
    destinationMint: 7,
    sourceProgram: 8,
    destinationProgram: 9,
    elsewhere: undefined,
    self: 11,
  },
}
const amountsBytes = 22
const mostAccounts = 64
const wholeBps = 10_000n

/** The reason why an instruction is not the ordered swap. Undefined if it is. */
export async function findSwapFault(
  { program, accounts, data }: ForeignInstruction,
  expected: SwapExpectation,
): Promise<string | undefined> {
  const { wallet, units, minimum } = expected
  if (program !== jupiterProgram) return 'it calls a program other than Jupiter'
  const layout = layouts[formatHex(data.subarray(0, 8))]
  if (!layout || data.length < layout.amounts + amountsBytes) return 'it is an unknown kind of swap'
  const view = new DataView(data.buffer, data.byteOffset + layout.amounts, amountsBytes)
  const quoted = view.getBigUint64(8, true)
  const slippageBps = BigInt(view.getUint16(16, true))
  if (view.getBigUint64(0, true) !== units) return 'it sells another amount than ordered'
  if ((quoted * (wholeBps - slippageBps)) / wholeBps < minimum) return 'its minimum is too low'
  if (view.getUint16(18, true) !== 0 || view.getUint16(20, true) !== 0) return 'it charges a platform fee'
  if (accounts.length > mostAccounts) return 'it refers to too many accounts'
  if (accounts.some(({ address, isSigner }) => isSigner && address !== wallet)) return 'it requires another signer'
  return findMisplaced(accounts, layout, expected)
}

function formatHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

async function findMisplaced(
  accounts: ForeignInstruction['accounts'],
  layout: Layout,
  { wallet, sell = wrappedSol, buy = wrappedSol }: SwapExpectation,
): Promise<string | undefined> {
  const [source, destination] = await Promise.all(
    [sell, buy].map((mint) => findTokenAccount(wallet, mint.address, mint.tokenProgram)),
  )
  const places: readonly (readonly [number, string | undefined])[] = [
    [layout.authority, wallet],
    [layout.source, source],
    [layout.destination, destination],
    [layout.sourceMint, sell.address],
    [layout.destinationMint, buy.address],
    [layout.sourceProgram, sell.tokenProgram],
    [layout.destinationProgram, buy.tokenProgram],
    [layout.self, jupiterProgram],
  ]
  if (places.some(([place, account]) => accounts[place]?.address !== account))
    return 'its accounts differ from the order'
  const elsewhere = layout.elsewhere === undefined ? undefined : accounts[layout.elsewhere]?.address
  if (elsewhere !== undefined && elsewhere !== jupiterProgram && elsewhere !== destination)
    return 'the proceeds would go to another account'
  return undefined
}
