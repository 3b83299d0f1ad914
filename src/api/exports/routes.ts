/**
 * `/api/analytics/export` and its links: payments as a stream of CSV, JSON or XLSX, as a link for a spreadsheet, or as
 * rows written into a spreadsheet. The caller authorizes the reader, except for a link, which is its own authorization.
 */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Books } from '../../core/ports/reports.ts'
import type { SheetsPort } from '../../core/ports/sheets.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import { columnsWithoutTransactions, type PaymentColumn, paymentColumns } from '../analytics/format.ts'
import { type PaymentFilter, readPaymentFilter } from '../analytics/query.ts'
import type { RecordParts } from '../analytics/records.ts'
import { answer, problem } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { csvChunks } from './csv.ts'
import { createDownloads, type Download, type Downloads, downloadHeaders } from './downloads.ts'
import { jsonChunks } from './json.ts'
import { createLinks, type Links, usualLinkSeconds } from './links.ts'
import { begin, type Pages, readPages, textStream } from './rows.ts'
import { pushRows } from './sheets.ts'
import { xlsxStream } from './xlsx.ts'

export interface ExportParts extends RecordParts {
  readonly books: Books
  readonly kv: KeyValueStore
  readonly clock: Clock
  readonly log: Log
  /** `keyring.serviceKey`. */
  readonly key: Uint8Array
  /** The public address of the service. Default: the address of the request. */
  readonly publicUrl?: string | undefined
  readonly linkTtlSeconds?: number | undefined
  /** Whether a wallet may read the analytics now. */
  readonly isOwner: (wallet: string) => boolean
  readonly sheets?: SheetsPort | undefined
}

const exportFormats = ['csv', 'json', 'xlsx', 'sheets'] as const satisfies readonly (Download | 'sheets')[]

/** Limits of concurrent downloads. They are separate, so that a leaked link cannot block the owner. */
const mostAtOnce = { owner: 4, link: 2 } as const
type Kind = keyof typeof mostAtOnce

export function createExports(parts: ExportParts) {
  const { books, decimalsOf, outgoing, kv, clock, key, isOwner, linkTtlSeconds = usualLinkSeconds } = parts
  const links = createLinks({ kv, clock, key, isOwner, ttlSeconds: linkTtlSeconds })
  const downloads: Readonly<Record<Kind, Downloads>> = {
    owner: createDownloads(mostAtOnce.owner, parts.log),
    link: createDownloads(mostAtOnce.link, parts.log),
  }

  const pagesOf = (filter: PaymentFilter, isAllowed?: () => Promise<boolean>): Pages =>
    readPages({ books, decimalsOf, outgoing, filter, ...(isAllowed && { isAllowed }) })

  const download = (kind: Kind, format: Download, pages: Pages, isOwner: boolean): Promise<Response> => {
    // Only a signed-in owner gets transactions, as in the detail of one payment.
    const columns = isOwner ? paymentColumns : columnsWithoutTransactions
    return downloads[kind].run(
      async () => createBody(kind, format, await begin(pages), columns),
      () => downloadHeaders('payments', format, clock),
    )
  }

  const byLink = async (params: URLSearchParams, token: string): Promise<Response> => {
    const names = [...params.keys()].sort().join()
    if ((names !== 'format,link' && names !== 'link') || (params.get('format') ?? 'csv') !== 'csv')
      return problem('query_invalid', {
        problems: ['a link exports CSV with a fixed filter; remove all other parameters'],
      })
    const link = await links.open(token)
    if (!link) return problem('link_invalid')
    return download(
      'link',
      'csv',
      pagesOf(link.filter, () => links.isOpen(link.id)),
      false,
    )
  }

  return {
    /** Whether the request has a link, which replaces the sign-in. */
    hasLink: (request: Request) => request.method === 'GET' && new URL(request.url).searchParams.has('link'),
    /** For `/api/analytics/export`. `owner` is the signed-in wallet, or '' on the machine itself. */
    handle: async (request: Request, owner: string) => {
      const { searchParams: params } = new URL(request.url)
      const token = params.get('link')
      if (request.method === 'GET' && token !== null) return byLink(params, token)
      if (request.method !== 'GET' && request.method !== 'POST') return notAllowed('GET, POST')
      // A link is created by GET. Without sign-in, a page of another site could make a browser create many.
      if (/^(?:cross|same)-site$/.test(request.headers.get('sec-fetch-site') ?? '')) return problem('cross_site')
      const reading = readPaymentFilter(params, ['format'])
      const format = exportFormats.find((one) => one === (params.get('format') ?? 'csv'))
      const wrong = [
        ...(format ? [] : [`format must be one of ${exportFormats.join(', ')}`]),
        ...(reading.kind === 'problems' ? reading.problems : []),
      ]
      if (reading.kind === 'problems' || !format) return problem('query_invalid', { problems: wrong })
      if (request.method === 'POST')
        return format === 'sheets' ? push(parts, pagesOf(reading.input)) : notAllowed('GET')
      if (format === 'sheets') return answerLink(parts, links, request, { filter: reading.input, owner })
      return download('owner', format, pagesOf(reading.input), owner !== '')
    },
    /** For `/api/analytics/links` and below. */
    handleLinks: async (request: Request) => {
      const path = new URL(request.url).pathname
      if (path === endpoints.links)
        return request.method === 'GET' ? answer({ links: await links.list() }) : notAllowed('GET')
      if (request.method !== 'DELETE') return notAllowed('DELETE')
      const isRevoked = await links.revoke(path.slice(endpoints.links.length + 1))
      return isRevoked ? answer({ revoked: true }) : problem('not_found')
    },
  }
}

export type Exports = ReturnType<typeof createExports>

function createBody(kind: Kind, format: Download, pages: Pages, columns: readonly PaymentColumn[]) {
  if (format === 'xlsx') return xlsxStream(pages, columns)
  if (format === 'json') return textStream(jsonChunks(pages, columns))
  // Clients of links read UTF-8. A byte order mark would appear in their first cell.
  return textStream(csvChunks(pages, columns, kind === 'owner'))
}

async function answerLink(
  { publicUrl }: ExportParts,
  links: Links,
  request: Request,
  { filter, owner }: { readonly filter: PaymentFilter; readonly owner: string },
): Promise<Response> {
  const made = await links.make(filter, owner)
  if (!made) return problem('links_full')
  const base = (publicUrl ?? new URL(request.url).origin).replace(/\/$/, '')
  const url = `${base}${endpoints.export}?format=csv&link=${made.token}`
  const { id, validUntil } = made.link
  const howto =
    'Put the formula into an empty sheet. Everyone with the link can read these payments until it expires or is revoked. ' +
    `Revoke it with DELETE ${endpoints.links}/${id}.`
  return answer({ formula: `=IMPORTDATA("${url}")`, url, validUntil, id, howto })
}

async function push(parts: ExportParts, pages: Pages): Promise<Response> {
  const { sheets, kv, clock, log } = parts
  if (!sheets) return problem('sheets_missing')
  const pushed = await pushRows({ sheets, kv, clock }, pages, paymentColumns)
  if (pushed.kind === 'written') return answer({ written: pushed.rows })
  if (pushed.kind === 'busy') return problem('sheets_busy')
  log.warn('export.sheet_failed', { why: pushed.why, rows: pushed.rows })
  return problem('sheets_failed', { detail: `After ${pushed.rows} rows: ${pushed.why}.` })
}

function notAllowed(methods: string): Response {
  return problem('method_not_allowed', { headers: { Allow: methods } })
}
