/** An object of parsed JSON. Each field is unknown until it is checked. */
export type Fields = Readonly<Record<string, unknown>>

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined for text that is not a JSON object. */
export function parseFields(text: string): Fields | undefined {
  const value = parseJson(text)
  return isFields(value) ? value : undefined
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
