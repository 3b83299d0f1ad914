/**
 * The data directory: `PAYSTILE_HOME`, or `.paystile` in the user's home.
 *
 * Each local chain has a directory named by its genesis hash, with all data that is useless without that chain. While
 * the chain runs, its `localnet.json` tells other programs of the same user how to reach it. A client never takes a
 * node's address from a challenge, because such a node could have a payment signed for another chain.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from './alive.ts'
import { createWallClock } from './clock.ts'

export function homeDirectory(): string {
  return process.env['PAYSTILE_HOME'] || join(homedir(), '.paystile')
}

export function localnetDirectory(genesis: string): string {
  return join(homeDirectory(), 'localnets', genesis)
}

/** A running local chain, as other programs find it. */
export interface LocalnetNote {
  readonly genesis: string
  readonly rpcUrl: string
  readonly pid: number
  readonly startedAt: number
  /** A funded wallet of the demo, if there is one. */
  readonly walletFile?: string
}

const noteName = 'localnet.json'
/** This file exists only for a chain that is kept on purpose. */
const chainFileName = 'chain.sqlite'

export function announceLocalnet(about: Omit<LocalnetNote, 'pid' | 'startedAt'>): void {
  const note: LocalnetNote = { ...about, pid: process.pid, startedAt: createWallClock().now() }
  const directory = localnetDirectory(note.genesis)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(join(directory, noteName), `${JSON.stringify(note)}\n`, { mode: 0o600 })
}

/** Removes the announcement, and all data of a chain that is not kept. */
export function withdrawLocalnet(genesis: string): void {
  const directory = localnetDirectory(genesis)
  if (existsSync(join(directory, chainFileName))) rmSync(join(directory, noteName), { force: true })
  else rmSync(directory, { recursive: true, force: true })
}

/** The running local chains, in the order of their start. Data of dead processes is removed. */
export function findLocalnets(): readonly LocalnetNote[] {
  const parent = join(homeDirectory(), 'localnets')
  if (!existsSync(parent)) return []
  const notes = readdirSync(parent).flatMap((genesis) => {
    const note = readNote(join(parent, genesis, noteName))
    if (note && isAlive(note.pid)) return [note]
    if (note) withdrawLocalnet(genesis)
    return []
  })
  return notes.sort((one, other) => one.startedAt - other.startedAt)
}

/** The chain that started last, or the chain with this genesis hash. */
export function findLocalnet(genesis?: string): LocalnetNote | undefined {
  return findLocalnets().findLast((note) => genesis === undefined || note.genesis === genesis)
}

/** The genesis hashes of the chains that were started with `--keep`. */
export function keptLocalnets(): readonly string[] {
  const parent = join(homeDirectory(), 'localnets')
  if (!existsSync(parent)) return []
  return readdirSync(parent).filter((genesis) => existsSync(join(parent, genesis, chainFileName)))
}

function readNote(path: string): LocalnetNote | undefined {
  try {
    const note = JSON.parse(readFileSync(path, 'utf8')) as LocalnetNote
    return typeof note.rpcUrl === 'string' && Number.isInteger(note.pid) && Number.isInteger(note.startedAt)
      ? note
      : undefined
  } catch {
    return undefined
  }
}

/** The default ledger of services on a local chain. */
export function localLedgerFile(directory: string): string {
  return join(directory, 'ledger.sqlite')
}

/** The options of the demo's service, including key paths, for commands beside it. */
export function localServiceFile(directory: string): string {
  return join(directory, 'service.json')
}

export function localSecretFile(directory: string): string {
  return join(directory, 'secret')
}

/** The keyring of a local chain: created once, stored with its data, and shared by all services on it. */
export function localSecret(directory: string): string {
  const path = localSecretFile(directory)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  // Linked into place, so that no process reads a partial file and the first of two writers wins.
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, freshSecret(), { mode: 0o600 })
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8').trim()
}

export function freshSecret(): string {
  return `1:${randomBytes(32).toString('base64url')}`
}

/** The default ledger of a service, below its working directory. */
export function usualLedger(network: string): string {
  mkdirSync('.paystile', { recursive: true, mode: 0o700 })
  return join('.paystile', `${network}.sqlite`)
}
