export interface Postgres {
  readonly port: number
  /** An empty place for a ledger; its address. */
  place(): Promise<string>
  /** Runs SQL as the server's owner. */
  sql(statement: string, database?: string): Promise<Record<string, unknown>[]>
  /** Ends every process of the server at once, as a power cut would. */
  kill(): Promise<void>
  /** With other flags than at first, if they are given. */
  start(flags?: readonly string[]): Promise<void>
  close(): Promise<void>
}

export function startPostgres(flags?: readonly string[]): Promise<Postgres>
