/** One endpoint of the API: its handler, and its entry in `/openapi.json`. */
import type { z } from 'zod'
import type { Access, Visitor } from './access.ts'
import { answer, problem } from './errors.ts'
import { readQuery } from './inputs.ts'

/** The entry of an endpoint in `/openapi.json`. */
export interface Documented {
  readonly method: string
  /** `{name}` marks a variable part. */
  readonly path: string
  readonly summary: string
  readonly isPrivate: boolean
  readonly query?: z.ZodObject | undefined
  readonly body?: z.ZodType | undefined
  readonly answer?: z.ZodType | undefined
  /** The media type of a response that is not JSON. */
  readonly type?: string | undefined
}

export interface ApiVisit {
  readonly request: Request
  readonly url: URL
  readonly visitor: Visitor
  /** Looked up once per request. */
  access(): Promise<Access>
  /** Looked up again on each call, for long responses. */
  accessNow(): Promise<Access>
}

/** One endpoint with its documentation. */
export interface Row extends Documented {
  /** `*` if the handler distinguishes methods itself. */
  readonly method: string
  /** Also handles the paths below. */
  readonly isWhole?: boolean
  handle(visit: ApiVisit): Response | Promise<Response>
}

/** A private list or record. The query is checked first. A result that is not a response becomes its JSON. */
export function readingRow<Shape extends z.ZodRawShape>(
  path: string,
  summary: string,
  query: z.ZodObject<Shape>,
  result: Pick<Documented, 'answer' | 'type'>,
  read: (query: z.output<z.ZodObject<Shape>>, visit: ApiVisit) => Promise<object | Response>,
): Row {
  return {
    ...{ method: 'GET', path, summary, isPrivate: true, query, ...result },
    handle: async (visit) => {
      const reading = readQuery(query, visit.url.searchParams)
      if (reading.kind === 'problems') return problem('query_invalid', { problems: reading.problems })
      const value = await read(reading.input, visit)
      return value instanceof Response ? value : answer(value)
    },
  }
}
