/**
 * The wallet of an agent: a key file in the form of Solana's own tools (64 numbers), readable by its owner only.
 */
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Wallet } from '../chain/keypair.ts'
import { createWallet } from '../chain/keypair.ts'
import { createIdentity } from '../host/ed25519.ts'
import { homeDirectory } from '../host/home.ts'

export interface AgentWallet extends Wallet {
  readonly path: string
  /** True when the file was made by this call. */
  readonly created: boolean
}

export interface AgentWalletOptions {
  /** The key file. Default: `PAYSTILE_WALLET`, or `wallet.json` in `PAYSTILE_HOME` (`~/.paystile`). */
  readonly path?: string
  /** False refuses to make a wallet where there is none. */
  readonly create?: boolean
}

export function agentWalletPath(): string {
  return process.env['PAYSTILE_WALLET'] || join(homeDirectory(), 'wallet.json')
}

/**
 * Initializes the wallet of an agent or bot: loads its key file, or makes one.
 *
 * A new wallet is empty. On a localnet, `npx paystile faucet` fills it.
 *
 * @example
 * const wallet = await initAgentWallet()
 * const response = await fetchWith402('https://api.example.com/report', { wallet, tokens: ['USDC'] })
 */
export async function initAgentWallet(options: AgentWalletOptions = {}): Promise<AgentWallet> {
  const path = options.path ?? agentWalletPath()
  const created = options.create !== false && makeKeyFile(path)
  const wallet = await createWallet(readKeyFile(path)).catch((error: unknown) => {
    throw new Error(`The key file ${path} cannot be used: ${error instanceof Error ? error.message : error}.`)
  })
  return { ...wallet, path, created }
}

/** The 64 numbers of a key file. Throws one sentence that names the file. */
export function readKeyFile(path: string): readonly number[] {
  let text: string
  try {
    const file = statSync(path)
    if (file.isDirectory()) throw new Error('it is a directory; name a file')
    if (process.platform !== 'win32' && (file.mode & 0o077) !== 0) {
      throw new Error(`others can read it; chmod 600 ${path} keeps it to you`)
    }
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = missing ? `it does not exist; npx paystile wallet new ${path} makes one` : (error as Error).message
    throw new Error(`The key file ${path} cannot be read: ${why}.`)
  }
  const numbers = parseNumbers(text)
  if (numbers === undefined) throw new Error(`The key file ${path} does not hold 64 numbers from 0 to 255.`)
  return numbers
}

function parseNumbers(text: string): readonly number[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isByte = (item: unknown) => Number.isInteger(item) && Number(item) >= 0 && Number(item) <= 255
    return Array.isArray(value) && value.length === 64 && value.every(isByte) ? value : undefined
  } catch {
    return undefined
  }
}

/** Makes a key file where there is none, without ever overwriting one. True when it did. */
export function makeKeyFile(path: string): boolean {
  if (existsSync(path)) return false
  const seed = crypto.getRandomValues(new Uint8Array(32))
  const numbers = [...seed, ...createIdentity(seed).publicKey]
  const draft = `${path}.${crypto.randomUUID()}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(draft, `${JSON.stringify(numbers)}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft)
    seed.fill(0)
    numbers.fill(0)
  }
}
