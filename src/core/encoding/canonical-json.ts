/** One text for equal values, and another for all others: what JSON leaves out, a bigint, is written as `1n`. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))
}
