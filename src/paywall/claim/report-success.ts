/** The success of a facilitated payment is reported once, because the calling server delivers after each report. */
import type { Runtime } from '../runtime/runtime.ts'

const dayMs = 24 * 3_600_000
/** As long as the record of its transaction is kept. */
const reportedMs = 40 * dayMs
/** A report can end before the record is deleted. So an older payment counts as reported. */
const reportableMs = reportedMs - dayMs

/** The parts of the runtime that keep the reports. */
type ReportParts = Pick<Runtime, 'ledger' | 'clock' | 'pseudonyms'>

/** Whether the success of a payment that was recorded at `at` has been reported. */
export async function isReported({ ledger, clock }: ReportParts, tx: string, at: number): Promise<boolean> {
  return clock.now() > at + reportableMs || (await ledger.kv.get(nameReport(tx))) !== undefined
}

function nameReport(tx: string): string {
  return `facilitated/${tx}`
}

/** The holder of a report: the pseudonym of its key, or nothing. */
function nameHolder({ pseudonyms }: ReportParts, key: string | undefined): string {
  return key === undefined ? '' : pseudonyms.request(`facilitator key ${key}`)
}

/** True for one call only, on all servers: its caller may deliver. */
export function reportOnce(runtime: ReportParts, tx: string, key: string | undefined): Promise<boolean> {
  const { ledger, clock } = runtime
  return ledger.kv.put(nameReport(tx), nameHolder(runtime, key), clock.now() + reportedMs)
}

/** Whether the success was reported to a call with this key. */
export async function isReportedTo(runtime: ReportParts, tx: string, key: string | undefined): Promise<boolean> {
  return key !== undefined && (await runtime.ledger.kv.get(nameReport(tx))) === nameHolder(runtime, key)
}
