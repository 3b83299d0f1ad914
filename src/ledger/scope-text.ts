/** A scope may be any text, and the text of databases has no NUL and no lone surrogates: so it is escaped as in JSON. */
export function formatScope(scope: string): string {
  return JSON.stringify(scope).slice(1, -1)
}

export function parseScope(text: string): string {
  return JSON.parse(`"${text}"`)
}
