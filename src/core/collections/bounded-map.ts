/** Maps that hold a bounded number of entries. */

/** Sets an entry as the newest, and deletes the oldest beyond `most`. */
export function setNewest<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= most) return
    map.delete(oldest)
  }
}
