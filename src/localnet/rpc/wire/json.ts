/**
 * JSON with exact integers.
 *
 * A validator writes 64-bit numbers unquoted, and clients read them so. JavaScript's own functions would round them.
 */
const marker = '\u0000integer:'

/** Integers outside the safe range become bigints. Throws a SyntaxError like JSON.parse. */
export function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  // Strings and numbers are matched as whole tokens, so that digits inside them stay unchanged.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, (token) =>
    /^-?\d{16,}$/.test(token) ? `"\\u0000${marker.slice(1)}${token}"` : token,
  )
  // A string from the client that looks like the marker also becomes a number, which is harmless.
  return JSON.parse(marked, (_key, value) => {
    if (typeof value !== 'string' || !value.startsWith(marker)) return value
    const digits = value.slice(marker.length)
    if (!/^-?\d{1,40}$/.test(digits)) return value
    const number = Number(digits)
    return Number.isSafeInteger(number) ? number : BigInt(digits)
  })
}

export function stringifyJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map((item) => stringifyJson(item)).join(',')}]`
  const members: string[] = []
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${stringifyJson(member)}`)
  }
  return `{${members.join(',')}}`
}
