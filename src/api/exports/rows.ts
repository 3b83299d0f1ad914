/** Reads the payments of an export page by page. Memory holds one page at a time. */
import type { PaymentListItem } from '../../core/payment/history.ts'
import type { Books } from '../../core/ports/reports.ts'
import { type PaymentReport, readRevenueToken } from '../analytics/format.ts'
import type { PaymentFilter } from '../analytics/query.ts'
import { formatRecords, type RecordParts } from '../analytics/records.ts'

/** Rows of text, page by page. */
export type PagesOf<Column extends string> = AsyncGenerator<
  readonly Readonly<Record<Column, string>>[],
  void,
  undefined
>
export type Pages = AsyncGenerator<readonly PaymentReport[], void, undefined>

export interface ExportRows extends RecordParts {
  readonly books: Pick<Books, 'listPayments' | 'reportToken'>
  readonly filter: PaymentFilter
  /** Called before every further page: the export ends when the reader loses authorization. */
  readonly isAllowed?: () => Promise<boolean>
}

const rowsPerPage = 1_000

/** Oldest first: payments that arrive during the export come at the end, and no row is repeated. */
export async function* readPages({ books, filter, isAllowed, ...parts }: ExportRows): Pages {
  const revenueToken = await readRevenueToken(books)
  let last: PaymentListItem | undefined
  for (;;) {
    const page = await books.listPayments({
      ...filter,
      order: 'oldest',
      most: rowsPerPage,
      ...(last && { after: { at: last.at, tx: last.tx } }),
    })
    last = page.at(-1)
    if (page.length > 0) yield await formatRecords(parts, page, revenueToken)
    if (page.length < rowsPerPage) return
    if (isAllowed && !(await isAllowed())) throw new Error('the link was revoked')
  }
}

/**
 * Reads the first page before the response starts, so that a failure of the store is an error response and not a broken
 * download.
 */
export async function begin<Page>(
  pages: AsyncGenerator<Page, void, undefined>,
): Promise<AsyncGenerator<Page, void, undefined>> {
  const first = await pages.next()
  return (async function* () {
    if (first.done) return
    yield first.value
    yield* pages
  })()
}

/** Text as a body. It reads a page on demand and stops when the client stops. */
export function textStream(chunks: AsyncGenerator<string, void, undefined>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next()
        if (next.done) controller.close()
        else controller.enqueue(encoder.encode(next.value))
      },
      async cancel() {
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Returns the same body. `tell` is called once, when the body ends, fails or is cancelled. It gets the reason of a
 * failure.
 */
export function watchEnd(
  body: ReadableStream<Uint8Array>,
  tell: (error?: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let isOver = false
  const over = (error?: unknown) => {
    if (!isOver) tell(error)
    isOver = true
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await reader.read()
          if (!next.done) return controller.enqueue(next.value)
          over()
          controller.close()
        } catch (error) {
          over(error)
          controller.error(error)
        }
      },
      async cancel(reason) {
        over()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
