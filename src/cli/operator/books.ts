/** `paystile books`: compares the sums in the reports with the payments, and recomputes them. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Discrepancy } from '../../core/payouts/discrepancy.ts'
import { type ExitCode, exitCodes, type Terminal, table, usage } from '../output.ts'
import { readToken } from '../payment-options.ts'
import type { Flags } from '../run.ts'
import { type LedgerOptions, withLedger } from './ledger.ts'

export async function auditBooks(terminal: Terminal, options: LedgerOptions): Promise<ExitCode> {
  return withLedger(options, async (ledger) => tell(terminal, await ledger.books.audit(), {}))
}

type RebuildOptions = LedgerOptions & Flags<'token'>

export async function rebuildBooks(terminal: Terminal, options: RebuildOptions): Promise<ExitCode> {
  const asked = options.token === undefined ? undefined : readToken(options.token)
  return withLedger(options, async (ledger) => {
    const { books } = ledger
    const before = await books.reportToken()
    const token = asked ?? before
    if (token === undefined) throw usage('The ledger has no report token yet. Set it with --token.')
    await books.rebuild(token)
    const isChanged = before !== undefined && before !== token
    return tell(terminal, await books.audit(), { reportToken: token, ...(isChanged && { next: suggestNext(token) }) })
  })
}

/** Running servers follow the books. Only servers that start compare them with their configuration. */
function suggestNext(token: TokenCode): string {
  return `Set reportToken: ${token} for every server before its next start. Running servers already use it.`
}

function tell(
  terminal: Terminal,
  discrepancies: readonly Discrepancy[],
  facts: { readonly reportToken?: TokenCode; readonly next?: string },
): ExitCode {
  const agrees = discrepancies.length === 0
  const rows = discrepancies.map(({ line, kept, counted }) => [line, kept, counted])
  terminal.result({ ok: agrees, ...facts, discrepancies }, [
    ...(facts.reportToken === undefined ? [] : [`Recomputed in ${facts.reportToken}.`]),
    ...(facts.next === undefined ? [] : [facts.next]),
    agrees ? 'The books match the payments.' : `${rows.length} lines of the books do not match the payments:`,
    ...table(agrees ? [] : [['line', 'kept', 'counted'], ...rows]),
    ...(agrees ? [] : ['', 'Please report this, then recompute the books with: npx paystile books rebuild']),
  ])
  return agrees ? exitCodes.ok : exitCodes.failure
}
