/**
 * Looks once a day whether the hosts of verified developers still name their wallets. While they do, a verification goes on;
 * when three looks on different days found that they do not, it ends. A host that cannot be asked has said nothing: only its
 * time runs out. Every server may do this, and one of them does.
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
  /** Those that the rules name now. Others are not asked for anything. */
  readonly hosts: () => readonly string[]
  readonly readDocument: ReadDocument
  /** Whether a document says that rewards at this service are for a wallet. */
  readonly isNamed: (reading: DocumentReading, wallet: string) => boolean
}

export interface DeveloperChecks {
  /** Looks once, now, at those who were not looked at today. */
  run(): Promise<void>
  stop(): Promise<void>
}

const everyMs = 3_600_000
const firstMs = 60_000
/** A server that dies while it looks leaves a host to others after so long; so does one that could not ask. */
const turnMs = 600_000
const mostMisses = 3
/** One goes on when less than half of its time is left. */
const prolongMs = (verificationDays / 2) * dayMs

export function startDeveloperChecks(parts: DeveloperCheckParts): DeveloperChecks {
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
    run,
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}

async function check(parts: DeveloperCheckParts, verification: Verification): Promise<void> {
  const { kv, clock, log } = parts
  const { host, wallet } = verification
  const now = clock.now()
  const day = Math.floor(now / dayMs)
  const done = `developers:looked:${host}:${wallet}:${day}`
  if ((await kv.get(done)) !== undefined) return
  if (!(await kv.put(`developers:turn:${host}`, '', now + turnMs))) return
  const reading = await parts.readDocument(host)
  if (reading.kind === 'unavailable') return log.warn('developer not checked', { host, why: reading.why })
  const isSaid = parts.isNamed(reading, wallet)
    ? await found(parts, verification)
    : await missed(parts, verification, day)
  if (isSaid) await kv.put(done, '', now + 2 * dayMs)
}

const formatMissesPrefix = ({ host, wallet }: Verification): string => `developers:missed:${host}:${wallet}:`

/** False when it is to be tried again. */
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
  // What was missed before it was verified anew does not count.
  const misses = (await kv.list(prefix)).filter(({ value }) => Number(value) >= from).length
  log.warn('developer not named', { host, wallet, misses })
  if (misses < mostMisses) return true
  const ended = await book.end(host, wallet)
  if (ended === 'busy') return false
  await forget(kv, prefix)
  if (ended) log.warn('developer revoked', { host, wallet, why: 'its host does not name it any more' })
  return true
}

async function forget(kv: KeyValueStore, prefix: string): Promise<void> {
  for (const { name } of await kv.list(prefix)) await kv.remove(name)
}
