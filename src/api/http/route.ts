/** One endpoint of the API: its handler, and its entry in `/openapi.json`. */
import type { z } from 'zod'
import type { Access, Visitor } from './access.ts'

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
