/** A key-value store as a port. */

/** Stores text under a name for a limited time. */
export interface KeyValueStore {
  /**
   * Stores the value if the name is free, and returns false otherwise. It can be read before `until`, in milliseconds
   * since 1970.
   */
  put(name: string, value: string, until: number): Promise<boolean>
  get(name: string): Promise<string | undefined>
  remove(name: string): Promise<boolean>
  /** Entries with this prefix, sorted by name. */
  list(prefix: string): Promise<readonly { readonly name: string; readonly value: string; readonly until: number }[]>
}
