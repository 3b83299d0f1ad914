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
    '# The secret with which paystile seals its payment requests. Keep it to yourself and out of git, and keep a copy:',
    '# without it, payments that customers have made can no longer be claimed.',
    `PAYSTILE_SECRET=${freshSecret()}`,
    ...(network === 'mainnet'
      ? [
          '',
          '# Solana nodes of your own, with commas between them. With two, both have to agree on every payment.',
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
  localnet: 'A chain inside this program, with money that is worth nothing. It ends with the program.',
  devnet: 'The public test network of Solana, with money that is worth nothing.',
  mainnet: 'Real money.',
}

/** The configuration, with comments on everything that a new user may want to change. */
export function configText(answers: Answers & { readonly recipient: string }): string {
  const { upstream, path, price, token, network, recipient } = answers
  return [
    '# What paystile charges for. After a change: npx paystile doctor',
    '',
    `# ${networkWords[network]} (localnet, devnet or mainnet)`,
    `network: ${network}`,
    '',
    '# The wallet that is paid. Its address is all that paystile needs: no key is kept here.',
    `recipient: ${scalar(recipient)}`,
    '',
    '# Your own service. Let nobody but paystile reach it: whoever can go around paystile does not pay.',
    `upstream: ${scalar(upstream)}`,
    '',
    '# Where paystile listens. Behind a proxy on this machine, leave the host as it is; 0.0.0.0 takes calls from everywhere.',
    'listen:',
    '  host: 127.0.0.1',
    `  port: ${usualPort}`,
    '',
    '# The token that prices are in: USDC, SOL or NATIVE.',
    `token: ${token}`,
    ...tokenLines(answers),
    '',
    '# What can be asked for. Everything that is not listed is not found.',
    '# A path is exact, or has parts that vary: /users/:id (one part), /files/* (all below). Without methods it is for GET.',
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
  const need = token === 'SOL' ? 'To take USDC and NATIVE too, make' : `${token} has to be made first: make`
  return [
    `# ${need} test tokens of your own, and put the lines that this prints here:`,
    '#   npx paystile wallet new faucet.json',
    '#   npx paystile mints create faucet.json --network devnet',
  ]
}

function networkLines(network: Answers['network']): readonly string[] {
  if (network === 'localnet') return []
  const ledger = [
    '',
    `# Where payments are recorded. Left out, in .paystile/${network}.sqlite beside where paystile is started.`,
    '# For several servers: postgres://user:password@host/database, best as PAYSTILE_LEDGER in .env.',
    `# ledger: ./payments.sqlite`,
  ]
  if (network === 'devnet') return ledger
  return [
    '',
    '# The address that your customers use.',
    '# publicUrl: https://api.example.com',
    '# How many proxies stand in front and tell the client in X-Forwarded-For.',
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
