/** One address of the API: its handler, and its entry in `/openapi.json`. */
import type { z } from 'zod'
import type { Access, Visitor } from './access.ts'

/** What the table of routes says of an address. */
export interface Documented {
  readonly method: string
  /** With `{name}` for a part that varies. */
  readonly path: string
  readonly summary: string
  readonly isPrivate: boolean
  readonly query?: z.ZodObject | undefined
  readonly body?: z.ZodType | undefined
  readonly answer?: z.ZodType | undefined
  /** The media type of an answer that is not JSON. */
  readonly type?: string | undefined
}

export interface ApiVisit {
  readonly request: Request
  readonly url: URL
  readonly visitor: Visitor
  /** Looked up once for a request. */
  access(): Promise<Access>
  /** Looked up anew, for answers that last. */
  accessNow(): Promise<Access>
}

/** One address, and what is said of it. */
export interface Row extends Documented {
  /** `*` where the handler itself tells methods apart. */
  readonly method: string
  /** Takes what is below its address, too. */
  readonly isWhole?: boolean
  handle(visit: ApiVisit): Response | Promise<Response>
}
