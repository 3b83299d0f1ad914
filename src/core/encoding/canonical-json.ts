/**
 * Writes equal values as equal text, and different values as different text. A bigint, which JSON lacks, is written as
 * `1n`.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))
}
