/** A key-value store as a port. */

/** Text under a name, for a while. */
export interface KeyValueStore {
  /** Puts it there if nothing is. False when something is. It can be read before `until`, in milliseconds since 1970. */
  put(name: string, value: string, until: number): Promise<boolean>
  get(name: string): Promise<string | undefined>
  remove(name: string): Promise<boolean>
  /** Those whose names begin so, in the order of their names. */
  list(prefix: string): Promise<readonly { readonly name: string; readonly value: string; readonly until: number }[]>
}
