/** A running server. */
export interface PostgresPlaces {
  readonly port: number
  /** An empty schema; its address as a ledger. */
  place(): Promise<string>
  /** A database of its own, copied from a template. */
  copy(template: string): Promise<{ readonly url: string; drop(): Promise<unknown> }>
  /** Runs SQL as the server's owner. */
  sql(statement: string, database?: string): Promise<Record<string, unknown>[]>
}

export interface Postgres extends PostgresPlaces {
  /** Ends every process of the server at once, as a power cut would. */
  kill(): Promise<void>
  /** Starts it again, with other flags than at first if they are given. */
  start(flags?: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** Initialises a data folder that every later server of this run copies. */
export function createTemplate(): Promise<{ remove(): void }>
export function startPostgres(flags?: readonly string[]): Promise<Postgres>
export function connectPostgres(port: number): PostgresPlaces
/** A folder for short-lived files: in memory where possible. */
export function fastFolder(): string
