/** `GET /api/rewards/export`: every line of every payout as CSV or JSON, latest payout first, streamed. */
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import { formatLine, type RewardsParts } from '../rewards/view.ts'
import { csvChunks } from './csv.ts'
import { type Downloads, downloadHeaders } from './downloads.ts'
import { jsonChunks } from './json.ts'
import { begin, type PagesOf, textStream } from './rows.ts'

/** The order of columns. */
const payoutColumns = [
  ...(['timestamp', 'payout', 'state', 'tx', 'role', 'payee', 'token'] as const),
  ...(['owed', 'rate', 'opening', 'sent'] as const),
] as const
type PayoutColumn = (typeof payoutColumns)[number]

export const rewardsExportFormats = ['csv', 'json'] as const
export type RewardsExportFormat = (typeof rewardsExportFormats)[number]

/** A payout has about twenty lines, so a page has about a thousand. */
const payoutsPerPage = 50

/** Payouts that are planned during the export come before the first page, so no line is repeated. */
async function* readLines(parts: RewardsParts): PagesOf<PayoutColumn> {
  let last: OutgoingTransaction | undefined
  for (;;) {
    const payouts = await parts.outgoing.list({
      kind: 'payout',
      most: payoutsPerPage,
      ...(last && { after: { at: last.at, id: last.id } }),
    })
    last = payouts.at(-1)
    const pages = await Promise.all(payouts.map((transaction) => linesOf(parts, transaction)))
    if (pages.length > 0) yield pages.flat()
    if (payouts.length < payoutsPerPage) return
  }
}

async function linesOf(parts: RewardsParts, { id, state, changedAt, signed }: OutgoingTransaction) {
  const lines = await parts.outgoing.lines(id)
  const head = {
    timestamp: new Date(changedAt).toISOString(),
    payout: id,
    state,
    tx: signed?.signature ?? '',
    token: 'NATIVE',
  }
  return lines.map((line) => ({ ...head, ...formatLine(parts, line) }))
}

export function exportRewards(
  parts: RewardsParts,
  downloads: Downloads,
  format: RewardsExportFormat,
): Promise<Response> {
  return downloads.run(
    async () => {
      const pages = await begin(readLines(parts))
      return textStream(format === 'json' ? jsonChunks(pages, payoutColumns) : csvChunks(pages, payoutColumns, true))
    },
    () => downloadHeaders('payouts', format, parts.clock),
  )
}
