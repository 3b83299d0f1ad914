/** Writes the files of `paystile init`. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { envFileName, readEnvFile } from '../../host/env-file.ts'
import { freshSecret } from '../../host/home.ts'
import type { Answers } from './init-answers.ts'

export const configName = 'paystile.yaml'
export const usualPort = 8402

export interface Written {
  readonly written: readonly string[]
  /** Files without changes. */
  readonly kept: readonly string[]
  /** Other users can read `.env`. */
  readonly isEnvOpen: boolean
}

/** Refuses to replace a configuration without `force`. Secrets are never replaced. */
export function writeFiles(directory: string, yaml: string, { network }: Answers, force: boolean): Written {
  mkdirSync(directory, { recursive: true })
  const env = writeSecret(directory, network)
  writeFileSync(join(directory, configName), yaml, { flag: force ? 'w' : 'wx' })
  const ignored = ignoreSecrets(directory)
  const files = [[configName, true] as const, [envFileName, env] as const, ...ignored]
  const reading = readEnvFile(directory)
  return {
    written: files.filter(([, isWritten]) => isWritten).map(([name]) => name),
    kept: files.filter(([, isWritten]) => !isWritten).map(([name]) => name),
    isEnvOpen: reading.kind === 'read' && reading.isOpen,
  }
}

/** Adds the secret unless there is one. The rest of the file is unchanged. */
function writeSecret(directory: string, network: Answers['network']): boolean {
  const path = join(directory, envFileName)
  const lines = [
    '# The secret that authenticates payment requests. Keep it private, out of git, and backed up:',
    '# without it, customers can no longer claim their payments.',
    `PAYSTILE_SECRET=${freshSecret()}`,
    ...(network === 'mainnet'
      ? [
          '',
          '# Your Solana nodes, separated by commas. With two nodes, both must agree on every payment.',
          '# PAYSTILE_RPC=https://one.example/key,https://two.example/key',
        ]
      : []),
    '',
  ].join('\n')
  const reading = readEnvFile(directory)
  if (reading.kind === 'read') {
    if (reading.values['PAYSTILE_SECRET']) return false
    const isEnded = /(^|\n)$/.test(readFileSync(path, 'utf8'))
    appendFileSync(path, `${isEnded ? '' : '\n'}${lines}`)
    return true
  }
  writeFileSync(path, lines, { mode: 0o600, flag: 'wx' })
  return true
}

const secretPlaces = [envFileName, '.paystile/'] as const

/** Keeps the secret and the ledger out of git. */
function ignoreSecrets(directory: string): readonly (readonly [string, boolean])[] {
  const path = join(directory, '.gitignore')
  const isThere = existsSync(path)
  if (!isThere && !existsSync(join(directory, '.git'))) return []
  const text = isThere ? readFileSync(path, 'utf8') : ''
  const known = new Set(text.split('\n').map((line) => line.trim().replace(/^\/|\/$/g, '')))
  const missing = secretPlaces.filter((place) => !known.has(place.replace(/\/$/, '')))
  if (missing.length === 0) return [['.gitignore', false]]
  appendFileSync(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`)
  return [['.gitignore', true]]
}

const networkWords: Readonly<Record<Answers['network'], string>> = {
  localnet: 'A local chain inside this program, with test money. It ends with the program.',
  devnet: 'The public test network of Solana, with test money.',
  mainnet: 'Real money.',
}

/** The configuration, with comments on everything that a new user may want to change. */
export function configText(answers: Answers & { readonly recipient: string }): string {
  const { upstream, path, price, token, network, recipient } = answers
  return [
    '# Configuration of the paystile gateway. After a change, run: npx paystile doctor',
    '',
    `# ${networkWords[network]} (localnet, devnet or mainnet)`,
    `network: ${network}`,
    '',
    '# The wallet that receives payments. paystile needs only its address, not its key.',
    `recipient: ${scalar(recipient)}`,
    '',
    '# Your own service. Make it reachable only through paystile, or clients can bypass the payment.',
    `upstream: ${scalar(upstream)}`,
    '',
    '# Where paystile listens. Keep this host behind a proxy on this machine; 0.0.0.0 accepts calls from everywhere.',
    'listen:',
    '  host: 127.0.0.1',
    `  port: ${usualPort}`,
    '',
    '# The token of the prices: USDC, SOL or NATIVE.',
    `token: ${token}`,
    ...tokenLines(answers),
    '',
    '# The routes. All other paths return 404.',
    '# A path is exact, or has variable parts: /users/:id (one segment), /files/* (all below). The default method is GET.',
    'routes:',
    `  - path: ${scalar(path)}`,
    `    price: ${decimal(price)}`,
    '  # - path: /health',
    '  #   free: true',
    ...networkLines(network),
    '',
  ].join('\n')
}

function tokenLines({ network, token }: Answers): readonly string[] {
  if (network !== 'devnet') return []
  const need = token === 'SOL' ? 'To accept USDC and NATIVE, too, create' : `${token} must be created first: create`
  return [
    `# ${need} your own test tokens, and add the printed lines here:`,
    '#   npx paystile wallet new faucet.json',
    '#   npx paystile mints create faucet.json --network devnet',
  ]
}

function networkLines(network: Answers['network']): readonly string[] {
  if (network === 'localnet') return []
  const ledger = [
    '',
    `# The ledger of payments. The default is .paystile/${network}.sqlite in the directory where paystile starts.`,
    '# For several servers: postgres://user:password@host/database, preferably as PAYSTILE_LEDGER in .env.',
    `# ledger: ./payments.sqlite`,
  ]
  if (network === 'devnet') return ledger
  return [
    '',
    '# The public address of this service.',
    '# publicUrl: https://api.example.com',
    '# The number of proxies in front that set X-Forwarded-For.',
    '# trustProxy: 1',
    ...ledger,
  ]
}

/** Quotes a text that YAML would read as another type. */
function scalar(text: string): string {
  return stringify(text, { lineWidth: 0 }).trimEnd()
}

/** A number if that preserves the spelling, otherwise text. */
function decimal(text: string): string {
  return String(Number(text)) === text ? text : `"${text}"`
}
