/** Payments for an export, page by page: never more than one page in memory, however many there are. */
import type { PaymentListItem } from '../../core/payment/history.ts'
import type { Books } from '../../core/ports/reports.ts'
import type { PaymentReport } from '../analytics/format.ts'
import { readRevenueToken } from '../analytics/format.ts'
import type { PaymentFilter } from '../analytics/query.ts'
import type { RecordParts } from '../analytics/records.ts'
import { formatRecords } from '../analytics/records.ts'

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
  /** Asked before every further page: who may no longer read gets no more. */
  readonly isAllowed?: () => Promise<boolean>
}

const rowsPerPage = 1_000

/** The oldest first, so that what is paid meanwhile comes at the end and no row comes twice. */
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

/** The first page is read at once, so that what is wrong with the store is an answer and not a download that breaks off. */
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

/** Text as a body. It reads a page when the other side asks for more, and stops where the other side does. */
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

/** The same body. `tell` is called once, when it was read to its end, broke off or was left; with the reason if it broke off. */
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
