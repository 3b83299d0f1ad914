/** A finding of the doctor: one line, with a remedy for a problem. */
import { within } from '../../paywall/runtime/within.ts'
export type Level = 'ok' | 'warn' | 'fail'

export interface Finding {
  readonly level: Level
  readonly finding: string
  /** The command to run or the edit to make. Set for every level except `ok`. */
  readonly next?: string
}

export interface NamedFinding extends Finding {
  /** The subject of the check: `nodes`, `ledger`. */
  readonly check: string
}

export const ok = (finding: string): Finding => ({ level: 'ok', finding })
export const warn = (finding: string, next: string): Finding => ({ level: 'warn', finding, next })
export const fail = (finding: string, next: string): Finding => ({ level: 'fail', finding, next })

export type Look = () => readonly Finding[] | Promise<readonly Finding[]>

const longestMs = 20_000

/** Runs a check, and isolates it from the others: an exception and a timeout become findings. */
export async function attempt(check: string, look: Look): Promise<readonly NamedFinding[]> {
  const late = () => [fail('could not be checked in time', 'run npx paystile doctor again')]
  const broken = (error: unknown): readonly Finding[] => {
    const why = error instanceof Error ? error.message : String(error)
    return [fail(`could not be checked: ${why}`, 'if this is a bug in paystile, please report this line')]
  }
  const findings = await within(longestMs, (async () => look())().catch(broken), late)
  return findings.map((finding) => ({ check, ...finding }))
}
