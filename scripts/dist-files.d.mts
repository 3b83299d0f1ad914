/** A path, or paths by condition, as in `exports` and `bin`. */
export type Targets = string | { readonly [name: string]: Targets }

export declare function listEntries(targets: Targets): string[]
export declare function followImports(folder: string, entries: readonly string[]): string[]
export declare function listPackages(folder: string, files: readonly string[], names: readonly string[]): string[]
