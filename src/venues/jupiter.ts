/**
 * Jupiter finds a route through the pools of the chain: it quotes, and returns the instruction for the swap.
 *
 * Only that instruction of its answer is used, after it is verified to be the ordered swap (`jupiter-rules.ts`). The
 * rest of the transaction is built here, and the whole is simulated before it is signed.
 */
import { readFunds } from '../chain/accounts/balances.ts'
import { readLookupTables } from '../chain/accounts/lookup-tables.ts'
import { wrappedSol } from '../chain/accounts/programs.ts'
import { readLifetime } from '../chain/send/send.ts'
import { composeSwap, type ForeignInstruction } from '../chain/wallets/swap.ts'
import { decodeAddress } from '../core/encoding/base58.ts'
import { type Fields, isFields } from '../core/encoding/fields.ts'
import type { Signing } from '../core/payouts/outgoing-wallet.ts'
import type { Quoting, SwapOrder, Venue, VenueQuote } from '../core/payouts/venue.ts'
import type { Post } from '../core/ports/sheets.ts'
import type { Get } from '../core/runtime.ts'
import { finish, openingRent, readPriority, type VenueParts } from './exchange-transaction.ts'
import { findSwapFault } from './jupiter-rules.ts'
import { askVenue, readAmount } from './responses.ts'

export interface JupiterParts extends VenueParts {
  readonly get: Get
  readonly post: Post
  readonly url?: string | undefined
  readonly apiKey?: string | undefined
}

const jupiterUrl = 'https://api.jup.ag/swap/v1'

const askMs = 5_000
/** The number of accounts that fit into a transaction besides the wallet's own. */
const mostRouteAccounts = 48
const mostHops = 16
const mostTables = 16
const computeUnits = 1_000_000
const microLamports = 20_000n

export function createJupiterVenue(parts: JupiterParts): Venue {
  return {
    name: 'jupiter',
    quote: (order) => quote(order, parts),
    sign: (one, { memo, minimum }) => sign(one, memo, minimum, parts),
  }
}

function createUrl({ url = jupiterUrl }: JupiterParts, path: string): URL {
  const address = new URL(url)
  address.pathname = `${address.pathname.replace(/\/+$/, '')}/${path}`
  return address
}

function createHeaders({ apiKey }: JupiterParts): Readonly<Record<string, string>> {
  return { accept: 'application/json', ...(apiKey !== undefined && { 'x-api-key': apiKey }) }
}

async function quote(order: SwapOrder, parts: JupiterParts): Promise<Quoting> {
  const url = createUrl(parts, 'quote')
  const { sell = wrappedSol, buy = wrappedSol, units, slippageBps } = order
  const question = {
    inputMint: sell.address,
    outputMint: buy.address,
    amount: units.toString(),
    slippageBps: slippageBps.toString(),
    swapMode: 'ExactIn',
    restrictIntermediateTokens: 'true',
    // The versions with amounts at fixed offsets, before any variable data.
    instructionVersion: 'V2',
    maxAccounts: mostRouteAccounts.toString(),
  }
  for (const [name, value] of Object.entries(question)) url.searchParams.set(name, value)
  const { signal } = new AbortController()
  const answer = await askVenue(() => parts.get(url.href, { timeoutMs: askMs, signal, headers: createHeaders(parts) }))
  return answer.kind === 'answered' ? (readQuote(answer.json, order) ?? unreadable) : answer
}

const unreadable = { kind: 'unavailable', why: "Jupiter's quote differs from the request" } as const

interface Ticket {
  /** The unmodified response, which is sent back as it is. */
  readonly quoteResponse: Fields
  readonly hops: number
}

function readQuote(json: Fields, order: SwapOrder): Quoting | undefined {
  const { sell = wrappedSol, buy = wrappedSol, units, slippageBps } = order
  if (json['inputMint'] !== sell.address || json['outputMint'] !== buy.address) return undefined
  if (json['swapMode'] !== 'ExactIn' || json['slippageBps'] !== slippageBps) return undefined
  if (readAmount(json['inAmount']) !== units) return undefined
  const [out, least] = [readAmount(json['outAmount']), readAmount(json['otherAmountThreshold'])]
  if (out === undefined || least === undefined || least > out) return undefined
  const { routePlan } = json
  const hops = Array.isArray(routePlan) ? routePlan.length : 0
  if (hops < 1 || hops > mostHops) return undefined
  const ticket: Ticket = { quoteResponse: json, hops }
  return { kind: 'quoted', quote: { order, units: out, least, ticket } }
}

async function sign(
  { order, ticket }: VenueQuote,
  memo: string,
  minimum: bigint,
  parts: JupiterParts,
): Promise<Signing> {
  const { rpc, wallet } = parts
  const { sell, buy, units } = order
  const route = await askForRoute(ticket as Ticket, parts)
  if ('kind' in route) return route
  const fault = await findSwapFault(route.swap, { wallet: wallet.address, sell, buy, units, minimum })
  // Another quote can lead to another route.
  if (fault !== undefined) return { kind: 'unavailable', why: `the swap is refused: ${fault}` }
  const accounts = [buy ?? wrappedSol, wrappedSol]
  const [block, tables, funds] = await Promise.all([
    readLifetime(rpc),
    readLookupTables(rpc.call, route.tables),
    readFunds(rpc, { wallet: wallet.address, recipient: wallet.address, mints: accounts }),
  ])
  if (!block) return { kind: 'unavailable', why: 'no node returned a recent blockhash' }
  if (!tables) return { kind: 'unavailable', why: 'its lookup tables cannot be read' }
  if (funds.kind === 'unavailable') return funds
  const [bought, wrapped] = funds.tokens
  const opens = buy !== undefined && !bought?.recipientReady
  // SOL that the owner had wrapped stays wrapped if possible.
  const unwraps = !buy || (!sell && !wrapped?.recipientReady)
  const { blockhash, lastValidBlockHeight } = block
  const budget = { computeUnits, microLamports }
  const draft = { wallet: wallet.address, sell, buy, units, memo, opens, unwraps, blockhash, ...budget, tables }
  const composed = await composeSafely({ ...draft, swap: route.swap })
  if (!composed) return { kind: 'unavailable', why: 'the swap does not fit into a transaction' }
  const bounds = { sell, buy, units, minimum, rent: opens ? openingRent : 0n }
  const priority = readPriority(computeUnits, microLamports)
  return finish({ ...composed, lastValidBlockHeight, slot: block.slot, bounds, priority }, parts)
}

/** Undefined if the parts do not form a valid transaction. */
async function composeSafely(draft: Parameters<typeof composeSwap>[0]) {
  try {
    return await composeSwap(draft)
  } catch {
    return undefined
  }
}

interface RouteAnswer {
  readonly swap: ForeignInstruction
  readonly tables: readonly string[]
}

async function askForRoute(
  { quoteResponse, hops }: Ticket,
  parts: JupiterParts,
): Promise<RouteAnswer | Extract<Signing, { kind: 'unavailable' }>> {
  const body = JSON.stringify({
    userPublicKey: parts.wallet.address,
    quoteResponse,
    // Wrapping, opening and unwrapping are done by this service's own instructions.
    wrapAndUnwrapSol: false,
    skipUserAccountsRpcCalls: true,
    // Otherwise the intermediate tokens would pass through accounts of the wallet.
    useSharedAccounts: hops > 1,
    dynamicComputeUnitLimit: false,
  })
  const headers = { ...createHeaders(parts), 'content-type': 'application/json' }
  const url = createUrl(parts, 'swap-instructions').href
  const answer = await askVenue(() => parts.post(url, { timeoutMs: askMs, headers, body }))
  if (answer.kind !== 'answered') return { kind: 'unavailable', why: answer.why }
  const swap = readInstruction(answer.json['swapInstruction'])
  const tables = readAddresses(answer.json['addressLookupTableAddresses'])
  if (!swap || !tables) return { kind: 'unavailable', why: 'Jupiter returned no readable swap' }
  return { swap, tables }
}

function readAddresses(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > mostTables) return undefined
  const addresses = [...new Set<unknown>(value)]
  return addresses.every((one): one is string => typeof one === 'string' && decodeAddress(one) !== undefined)
    ? addresses
    : undefined
}

function readInstruction(value: unknown): ForeignInstruction | undefined {
  if (!isFields(value)) return undefined
  const { programId, accounts, data } = value
  if (typeof programId !== 'string' || !Array.isArray(accounts) || typeof data !== 'string') return undefined
  const metas = accounts.flatMap((one: unknown) => readMeta(one) ?? [])
  const bytes = decodeBase64(data)
  return bytes && metas.length === accounts.length ? { program: programId, accounts: metas, data: bytes } : undefined
}

const longestData = 2_000

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return text.length > longestData ? undefined : Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function readMeta(value: unknown): ForeignInstruction['accounts'][number] | undefined {
  if (!isFields(value)) return undefined
  const { pubkey, isSigner, isWritable } = value
  if (typeof pubkey !== 'string' || !decodeAddress(pubkey)) return undefined
  if (typeof isSigner !== 'boolean' || typeof isWritable !== 'boolean') return undefined
  return { address: pubkey, isSigner, isWritable }
}
