/** What the service's own addresses are made of, and what a request to one of them brings along. */
import type { MintTable } from '../core/network.ts'
import type { Service } from '../server/service.ts'
import type { Access, Visitor } from './access.ts'
import type { Documented } from './openapi.ts'

export interface Visit {
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
  handle(visit: Visit): Response | Promise<Response>
}

/** Another part of the service behind an address of its own. */
export type Seam = (request: Request, visit: Visit) => Promise<Response>

export interface SignInSeam {
  handle(request: Request, visitor: Visitor): Promise<Response>
  sessionOf(request: Request): Promise<{ readonly wallet: string } | undefined>
}

export interface ExportsSeam {
  /** Whether a link takes the place of a sign-in. */
  hasLink(request: Request): boolean
  /** `owner` is the wallet that is signed in, or '' at the machine itself. */
  handle(request: Request, owner: string): Promise<Response>
  handleLinks(request: Request): Promise<Response>
}

export interface RoutesParts {
  readonly service: Service
  /** Beside those that are known and those of what is sold. */
  readonly mints: MintTable
  /** Wallets that may read. Undefined for the recipients. */
  readonly owners: readonly string[] | undefined
  readonly trustProxy: number
  readonly publicUrl: string | undefined
  /** Whether anybody may read metrics. */
  readonly hasOpenMetrics: boolean
  readonly signIn?: SignInSeam | undefined
  readonly exports?: ExportsSeam | undefined
  /** Only for owners. */
  readonly webhooks?: Seam | undefined
  readonly faucet?: ((request: Request, visitor: Visitor) => Promise<Response>) | undefined
  readonly dashboard?: Seam | undefined
  readonly pay?: Seam | undefined
}
