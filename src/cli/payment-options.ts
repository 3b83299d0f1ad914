/** The common options of `pay` and `quote`: the request, the wallet and the limits. */
import { existsSync, readFileSync } from 'node:fs'
import type { Wallet } from '../chain/keys/keypair.ts'
import { type AgentWallet, agentWalletPath, initAgentWallet } from '../client/agent-wallet.ts'
import { type ClientOptions, listProblems } from '../client/options.ts'
import { decodeAddress } from '../core/encoding/base58.ts'
import { parseUrl } from '../core/encoding/url.ts'
import { parseUnits } from '../core/money/money.ts'
import {
  type ByToken,
  isTokenCode,
  knownCodes,
  type Mint,
  splTokenProgram,
  type TokenCode,
  token2022Program,
} from '../core/money/tokens.ts'
import { type Protocol, protocols } from '../core/protocol/protocols.ts'
import { findLocalnet } from '../host/home.ts'
import { CommandError, usage } from './output.ts'
import { readPassphrase } from './passphrase.ts'
import { nameFlags } from './payment-errors.ts'
import type { Flags, NodeFlags } from './run.ts'

export interface BuyerOptions extends NodeFlags, Flags<'request' | 'data' | 'timeout', 'allowHttp'> {
  readonly header: readonly string[]
  readonly token: readonly string[]
  readonly mint: readonly string[]
  readonly protocol: readonly string[]
}

export function readUrl(text: string): URL {
  const url = parseUrl(text)
  if (url && url.username + url.password !== '')
    throw usage('The address contains a name or password. Send them as a header: -H "Authorization: Basic …".')
  if (url && /^https?:$/.test(url.protocol)) return url
  throw usage(`"${text}" is not an http or https address. Use a full address, such as http://127.0.0.1:8402/api/moon.`)
}

/** Reads the request as `curl` does: a body implies POST. */
export function readRequest(options: BuyerOptions): RequestInit {
  const headers = new Headers()
  for (const line of options.header) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(line) ?? []
    if (name === '') throw usage(`"${line}" is not a header. Use the form "Name: value".`)
    try {
      headers.append(name, value)
    } catch {
      throw usage(`The header ${name} has characters that HTTP does not permit. Encode them.`)
    }
  }
  const body = options.data?.startsWith('@') ? readBody(options.data.slice(1)) : options.data
  if (body !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded')
  const method = options.request ?? (body === undefined ? 'GET' : 'POST')
  const request = { method, headers, ...(body !== undefined && { body }) }
  try {
    new Request('http://localhost', request)
  } catch (error) {
    throw usage(`This request cannot be sent: ${(error as Error).message.replace(/\.$/, '')}.`)
  }
  return request
}

function readBody(path: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(path))
  } catch (error) {
    throw usage(
      `The file ${path} cannot be read (${(error as NodeJS.ErrnoException).code}). Use -d @ and the path of a file, or the body itself.`,
    )
  }
}

/** Limits and paths, but no wallet: a quote needs none. */
export function readLimits(options: BuyerOptions, max: readonly string[] = []): Omit<ClientOptions, 'wallet'> {
  const tokens = options.token.map(readToken)
  const mints = Object.fromEntries(options.mint.map(readMint))
  const maxPrice = readAmounts('--max', max)
  const limits = {
    ...(tokens.length > 0 && { tokens }),
    ...(options.protocol.length > 0 && { protocols: options.protocol.map(readProtocol) }),
    ...(max.length > 0 && { maxPrice }),
    ...(options.mint.length > 0 && { mints }),
    ...(options.rpc.length > 0 && { rpc: options.rpc }),
    ...(options.network !== undefined && { network: options.network }),
    ...(options.allowHttp && { allowHttp: true }),
  }
  checkLimits(limits)
  return limits
}

/** Without this check, a wrong value would end in an exception, or only at the payment. */
export function checkLimits(limits: Omit<ClientOptions, 'wallet'>): void {
  const [problem] = listProblems(limits)
  if (problem !== undefined) throw usage(`This does not work: ${nameFlags(problem)}.`)
}

export interface Purse {
  readonly wallet: Wallet
  /** The place of the key, in words. */
  readonly name: string
}

/** The named wallet, or the wallet of the demo with this genesis hash, or the user's own. */
export async function openPurse(named: string | undefined, genesis: string | undefined): Promise<Purse> {
  const demoFile = named || genesis === undefined ? undefined : findLocalnet(genesis)?.walletFile
  const wallet = await openWallet(named || demoFile || agentWalletPath(), false)
  return { wallet, name: demoFile ? 'the demo wallet' : `wallet ${wallet.address}` }
}

export async function openWallet(path: string, create: boolean): Promise<AgentWallet> {
  if (!create && !existsSync(path)) throw new CommandError('wallet', 'wallet_unusable', explainNoWallet(path))
  try {
    const passphrase = await readPassphrase(path)
    return await initAgentWallet({ path, create, ...(passphrase !== undefined && { passphrase }) })
  } catch (error) {
    throw new CommandError('wallet', 'wallet_unusable', (error as Error).message)
  }
}

function explainNoWallet(path: string): string {
  return path === agentWalletPath()
    ? `You have no wallet yet (${path}). Create it with npx paystile wallet new, or on a localnet with npx paystile faucet.`
    : `The key file ${path} does not exist. Create it with npx paystile wallet new ${path}, or name another file.`
}

function readProtocol(name: string): Protocol {
  const found = protocols.find((one) => one === name.toLowerCase())
  if (found) return found
  throw usage(`"${name}" is not a payment protocol. Use one of ${protocols.join(', ')}.`)
}

export function readToken(code: string): TokenCode {
  const upper = code.toUpperCase()
  if (isTokenCode(upper)) return upper
  throw usage(`"${code}" is not a token. Use one of ${knownCodes.join(', ')}, or the code of another token.`)
}

/** Reads the amounts of a repeatable flag, one for each token. */
export function readAmounts(flag: string, texts: readonly string[]): ByToken<string> {
  const amounts = texts.map(readAmount)
  const again = amounts.find(([token], index) => amounts.findIndex(([other]) => other === token) < index)
  if (again) throw usage(`${flag} has two amounts of ${again[0]}. Give one for each token.`)
  return Object.fromEntries(amounts)
}

/** Reads `0.05 USDC`. */
export function readAmount(text: string): [TokenCode, string] {
  const [, amount = '', code = ''] = /^\s*([0-9.]+)\s*([A-Za-z][A-Za-z0-9]*)\s*$/.exec(text) ?? []
  if (parseUnits(amount, 9) === undefined) throw usage(`"${text}" is not an amount. Use the form "0.05 USDC".`)
  return [readToken(code), amount]
}

const mintPattern = /^([A-Za-z][A-Za-z0-9]*)=([1-9A-HJ-NP-Za-km-z]+):(\d{1,2})(:token-2022)?$/

export function readMint(text: string): [TokenCode, Mint] {
  const [, code = '', address = '', decimals = '', is2022] = mintPattern.exec(text) ?? []
  if (decodeAddress(address) === undefined)
    throw usage(
      `"${text}" is not a mint. Use ${/^[A-Za-z]\w*/.exec(text)?.[0] ?? 'NATIVE'}=<address>:<decimals>, with :token-2022 for a Token-2022 mint.`,
    )
  const tokenProgram = is2022 === undefined ? splTokenProgram : token2022Program
  return [readToken(code), { address, decimals: Number(decimals), tokenProgram }]
}
