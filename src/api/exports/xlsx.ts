/**
 * Writes XLSX as a stream. All cells are text: a decimal keeps every digit, and no cell is a formula. This is the only
 * file that uses the XLSX library.
 */
import type { PaymentReport } from '../analytics/format.ts'
import type { Pages } from './rows.ts'

/** Excel's limit of 1,048,576 rows per sheet, less the header. Further rows go to the next sheet. */
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

/** Columns with text that can begin like a formula. The text format keeps them text even after an edit. */
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
  for await (const page of pages) for (const record of page) yield columns.map((column) => escapeCode(record[column]))
}

/** XLSX reads `_x0041_` as a character. Text of that form gets an escaped underscore. */
function escapeCode(text: string): string {
  return text.replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
}
