/** What the doctor finds: one line each, with the mend where something is not well. */
export type Level = 'ok' | 'warn' | 'fail'

export interface Finding {
  /** What was looked at: `nodes`, `ledger`. */
  readonly check: string
  readonly level: Level
  /** In plain words. */
  readonly finding: string
  /** The command to run or the edit to make. Always there unless all is well. */
  readonly next?: string
}

export const ok = (check: string, finding: string): Finding => ({ check, level: 'ok', finding })
export const warn = (check: string, finding: string, next: string): Finding => ({ check, level: 'warn', finding, next })
export const fail = (check: string, finding: string, next: string): Finding => ({ check, level: 'fail', finding, next })

const longestMs = 20_000

/** Whatever a check does, the others go on: what it throws, and that it never ends, are findings too. */
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
    return [fail(check, `could not be checked: ${why}`, 'if this is a defect of paystile, please report this line')]
  } finally {
    clearTimeout(timer)
  }
}
