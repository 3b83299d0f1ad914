/** Which payments somebody asks for: the query of the feed and of every export, read from an address. */
import type { TokenCode } from '../core/network.ts'
import { isTokenCode, tokenCodes } from '../core/network.ts'
import type { CaptureMark, CaptureQuery, CaptureStatus } from '../core/ports.ts'
import { captureStatuses } from '../core/ports.ts'
import { nearest } from '../core/suggest.ts'
import { feedStatuses } from './capture-format.ts'

export interface CaptureFilter {
  /** Milliseconds since 1970, this moment included. */
  readonly from?: number
  /** This moment not included. */
  readonly to?: number
  readonly endpoint?: string
  readonly token?: TokenCode
  readonly status?: CaptureStatus
}

export interface CapturePage extends CaptureFilter {
  readonly order: CaptureQuery['order']
  readonly most: number
  readonly after?: CaptureMark
}

/** `problems` names all that is wrong, each in one sentence with what to write instead. */
export type Reading<Value> =
  | { readonly kind: 'query'; readonly query: Value }
  | { readonly kind: 'problems'; readonly problems: readonly string[] }

const filterNames = ['from', 'to', 'endpoint', 'token', 'status'] as const
const pageNames = ['limit', 'order', 'cursor'] as const
export const usualPageSize = 100
export const mostPerPage = 1_000
const longestEndpoint = 2_048

/** What an export asks for. `others` are names that the caller reads itself. */
export function readCaptureFilter(params: URLSearchParams, others: readonly string[] = []): Reading<CaptureFilter> {
  const problems: string[] = []
  checkNames(params, [...filterNames, ...others], problems)
  return conclude(readFilter(params, problems), problems)
}

/** What the feed asks for: a filter, `limit`, `order` and the `cursor` of the page before. */
export function readCapturePage(
  params: URLSearchParams,
  readCursor: (text: string) => CaptureMark | undefined,
  others: readonly string[] = [],
): Reading<CapturePage> {
  const problems: string[] = []
  checkNames(params, [...filterNames, ...pageNames, ...others], problems)
  const filter = readFilter(params, problems)
  const limit = params.get('limit') ?? String(usualPageSize)
  const most = /^[1-9]\d{0,3}$/.test(limit) ? Number(limit) : 0
  if (most < 1 || most > mostPerPage) problems.push(`limit must be a whole number from 1 to ${mostPerPage}`)
  const order = params.get('order') ?? 'latest'
  if (order !== 'latest' && order !== 'oldest') problems.push('order must be latest or oldest')
  const cursor = params.get('cursor')
  const after = cursor === null ? undefined : readCursor(cursor)
  if (cursor !== null && !after) problems.push('cursor must be one that this service gave; begin again without it')
  return conclude(
    { ...filter, order: order === 'oldest' ? 'oldest' : 'latest', most, ...(after && { after }) },
    problems,
  )
}

/** The same filter as a query again, in one spelling. */
export function formatCaptureFilter(filter: CaptureFilter): URLSearchParams {
  const params = new URLSearchParams()
  for (const name of filterNames) {
    const value = filter[name]
    if (value !== undefined) params.set(name, typeof value === 'number' ? new Date(value).toISOString() : value)
  }
  return params
}

/** RFC 3339 with its zone, a day, which stands for its beginning in UTC, or milliseconds since 1970. */
export function parseTime(text: string): number | undefined {
  if (/^\d{11,14}$/.test(text)) return Number(text)
  // In a query an unescaped + arrives as a space.
  const moment = text.replace(/ (?=\d\d:\d\d$)/, '+')
  const [, day, time, zone] =
    /^(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d:\d\d(?:\.\d{1,9})?)([Zz]|[+-]\d\d:\d\d))?$/.exec(moment) ?? []
  if (day === undefined) return undefined
  // The platform's reader takes 30 February for 2 March.
  const midnight = Date.parse(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined
  const at = time === undefined ? midnight : Date.parse(`${day}T${time}${zone?.toUpperCase()}`)
  return Number.isNaN(at) ? undefined : at
}

function readFilter(params: URLSearchParams, problems: string[]): CaptureFilter {
  const times = (['from', 'to'] as const).map((name) => {
    const text = params.get(name)
    const at = text === null ? undefined : parseTime(text)
    if (text !== null && at === undefined)
      problems.push(`${name} must be a time with its zone (2026-01-31T12:00:00Z) or a day (2026-01-31)`)
    return at
  })
  const [from, to] = times
  if (from !== undefined && to !== undefined && from >= to) problems.push('from must be before to')
  const [endpoint, token, status] = [params.get('endpoint'), params.get('token'), params.get('status')]
  if (endpoint === '' || (endpoint?.length ?? 0) > longestEndpoint)
    problems.push(`endpoint must be 1 to ${longestEndpoint} characters, as the list shows it`)
  if (token !== null && !isTokenCode(token)) problems.push(`token must be one of ${tokenCodes.join(', ')}`)
  const known = captureStatuses.find((one) => one === status || feedStatuses[one] === status)
  if (status !== null && !known)
    problems.push(`status must be one of ${[...captureStatuses, ...Object.values(feedStatuses)].join(', ')}`)
  return {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(endpoint !== null && { endpoint }),
    ...(isTokenCode(token) && { token }),
    ...(known && { status: known }),
  }
}

/** A name that is not known would be ignored, and the answer taken for less than it is. */
function checkNames(params: URLSearchParams, known: readonly string[], problems: string[]): void {
  for (const name of new Set(params.keys())) {
    if (!known.includes(name)) {
      const like = nearest(name, known)
      const mend = like === undefined ? `known are ${known.join(', ')}` : `did you mean ${like}?`
      problems.push(`${name.slice(0, 64)} is not known here; ${mend}`)
    } else if (params.getAll(name).length > 1) problems.push(`${name} is given more than once`)
  }
}

function conclude<Value>(query: Value, problems: readonly string[]): Reading<Value> {
  return problems.length === 0 ? { kind: 'query', query } : { kind: 'problems', problems }
}
