/**
 * Checks once a day whether the hosts of verified developers still name their wallets. If a host does, its verification
 * is extended. If three checks on different days find that it does not, the verification ends. An unreachable host
 * counts neither way, and its verification only expires. Every server runs this worker, and one of them does each
 * check.
 */
import type { DeveloperBook, DocumentReading, ReadDocument } from '../core/payouts/developers.ts'
import { dayMs, verificationDays } from '../core/payouts/developers.ts'
import type { Verification } from '../core/payouts/ports/rewards.ts'
import type { KeyValueStore } from '../core/ports/kv.ts'
import type { Clock, Log } from '../core/runtime.ts'

export interface DeveloperCheckParts {
  readonly book: Pick<DeveloperBook, 'all' | 'prolong' | 'end'>
  readonly kv: KeyValueStore
  readonly clock: Clock
  readonly log: Log
  /** The hosts in the current rules. Other hosts are not checked. */
  readonly hosts: () => readonly string[]
  readonly readDocument: ReadDocument
  /** Whether a document names a wallet for the rewards at this service. */
  readonly isNamed: (reading: DocumentReading, wallet: string) => boolean
}

const everyMs = 3_600_000
const firstMs = 60_000
/**
 * The time after which another server takes over a host if a server died during a check or could not reach the host.
 */
const turnMs = 600_000
const mostMisses = 3
/** A verification is extended when less than half of its time is left. */
const prolongMs = (verificationDays / 2) * dayMs

export function startDeveloperChecks(parts: DeveloperCheckParts) {
  const { book, log, hosts } = parts
  let running: Promise<void> = Promise.resolve()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false

  const look = async (): Promise<void> => {
    const known = new Set(hosts())
    for (const verification of await book.all()) {
      if (isStopped) return
      if (known.has(verification.host)) await check(parts, verification)
    }
  }
  const run = (): Promise<void> => {
    running = running.then(look).catch((error) => {
      log.warn('developers.failed', { why: error instanceof Error ? error.message : String(error) })
    })
    return running
  }
  const later = (ms: number): void => {
    if (isStopped) return
    timer = setTimeout(() => void run().then(() => later(everyMs)), ms)
    timer.unref?.()
  }
  later(firstMs)
  return {
    /** Runs one check now, of the hosts that were not checked today. */
    run,
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}

export type DeveloperChecks = ReturnType<typeof startDeveloperChecks>

async function check(parts: DeveloperCheckParts, verification: Verification): Promise<void> {
  const { kv, clock, log } = parts
  const { host, wallet } = verification
  const now = clock.now()
  const day = Math.floor(now / dayMs)
  const done = `developers:looked:${host}:${wallet}:${day}`
  if ((await kv.get(done)) !== undefined) return
  if (!(await kv.put(`developers:turn:${host}`, '', now + turnMs))) return
  const reading = await parts.readDocument(host)
  if (reading.kind === 'unavailable') return log.warn('developer.unchecked', { host, why: reading.why })
  const isSaid = parts.isNamed(reading, wallet)
    ? await found(parts, verification)
    : await missed(parts, verification, day)
  if (isSaid) await kv.put(done, '', now + 2 * dayMs)
}

const formatMissesPrefix = ({ host, wallet }: Verification): string => `developers:missed:${host}:${wallet}:`

/** False if the check must be repeated. */
async function found({ book, kv, clock }: DeveloperCheckParts, verification: Verification): Promise<boolean> {
  await forget(kv, formatMissesPrefix(verification))
  if (verification.until - clock.now() >= prolongMs) return true
  return (await book.prolong(verification.host, verification.wallet)) !== 'busy'
}

async function missed(parts: DeveloperCheckParts, verification: Verification, day: number): Promise<boolean> {
  const { book, kv, clock, log } = parts
  const { host, wallet, from } = verification
  const prefix = formatMissesPrefix(verification)
  const now = clock.now()
  await kv.put(`${prefix}${day}`, String(now), now + verificationDays * dayMs)
  // Misses from before the latest verification do not count.
  const misses = (await kv.list(prefix)).filter(({ value }) => Number(value) >= from).length
  log.warn('developer.not_named', { host, wallet, misses })
  if (misses < mostMisses) return true
  const ended = await book.end(host, wallet)
  if (ended === 'busy') return false
  await forget(kv, prefix)
  if (ended) log.warn('developer.revoked', { host, wallet, why: "the host's document no longer names the wallet" })
  return true
}

async function forget(kv: KeyValueStore, prefix: string): Promise<void> {
  for (const { name } of await kv.list(prefix)) await kv.remove(name)
}
