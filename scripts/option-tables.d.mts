export interface DocumentedOption {
  readonly meaning: string
  /** The default as the table tells it. */
  readonly usual: string | undefined
  readonly links: readonly string[]
  /** Where it is declared. */
  readonly file: string
}

export declare const sources: Readonly<Record<'paywall' | 'gateway' | 'api' | 'rewards' | 'client', readonly string[]>>
export declare const documents: readonly string[]
export declare function readOptions(group: keyof typeof sources): ReadonlyMap<string, DocumentedOption>
export declare function writeTables(text: string, document: string): string
