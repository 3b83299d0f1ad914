/** A finding of the doctor: one line, with a remedy for a problem. */
export type Level = 'ok' | 'warn' | 'fail'

export interface Finding {
  /** The subject of the check: `nodes`, `ledger`. */
  readonly check: string
  readonly level: Level
  readonly finding: string
  /** The command to run or the edit to make. Set for every level except `ok`. */
  readonly next?: string
}

export const ok = (check: string, finding: string): Finding => ({ check, level: 'ok', finding })
export const warn = (check: string, finding: string, next: string): Finding => ({ check, level: 'warn', finding, next })
export const fail = (check: string, finding: string, next: string): Finding => ({ check, level: 'fail', finding, next })

const longestMs = 20_000

/** Isolates a check from the others: an exception and a timeout become findings. */
export async function attempt(
  check: string,
  look: () => readonly Finding[] | Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<readonly Finding[]>((resolve) => {
    timer = setTimeout(
      () => resolve([fail(check, 'could not be checked in time', 'run npx paystile doctor again')]),
      longestMs,
    )
  })
  try {
    return await Promise.race([(async () => look())(), late])
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [fail(check, `could not be checked: ${why}`, 'if this is a bug in paystile, please report this line')]
  } finally {
    clearTimeout(timer)
  }
}
