/**
 * XLSX as a stream, all cells text: a decimal keeps every digit, and nothing is a formula. The only file that knows which
 * library writes it.
 */
import type { PaymentReport } from '../analytics/format.ts'
import type { Pages } from './rows.ts'

/** Excel's limit of 1,048,576 rows in a sheet, less the header. What is more goes on in the next sheet. */
const rowsPerSheet = 1_048_575

const widths: Readonly<Partial<Record<keyof PaymentReport, number>>> = {
  timestamp: 25,
  requestId: 24,
  payer: 24,
  endpoint: 32,
  recipient: 46,
  tx: 90,
  refundedAt: 25,
  refundTx: 90,
}

/** Those that can begin like a formula. In the format of text they stay text even when somebody edits the cell. */
const foreign: readonly (keyof PaymentReport)[] = ['endpoint', 'requestId', 'payer']

export async function xlsxStream(
  pages: Pages,
  columns: readonly (keyof PaymentReport)[],
  perSheet = rowsPerSheet,
): Promise<ReadableStream<Uint8Array>> {
  const { writeXlsxStream } = await import('hucre/xlsx')
  return writeXlsxStream(createCells(pages, columns), {
    name: 'Payments',
    columns: columns.map((column) => ({
      header: column,
      width: widths[column] ?? 14,
      ...(foreign.includes(column) && { numFmt: '@' }),
    })),
    freezePane: { rows: 1 },
    maxRowsPerSheet: perSheet + 1,
  })
}

async function* createCells(pages: Pages, columns: readonly (keyof PaymentReport)[]) {
  for await (const page of pages) {
    for (const record of page) yield columns.map((column) => escapeCode(record[column]))
  }
}

/** In XLSX `_x0041_` stands for a character. Text that only looks so says that it means its underscore. */
function escapeCode(text: string): string {
  return text.replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
}
