/** Parses the times in a query. */

/** RFC 3339 with a zone, milliseconds since 1970, or a date, which means its start in UTC. */
export function parseTime(text: string): number | undefined {
  if (/^\d{11,14}$/.test(text)) return Number(text)
  // An unescaped + in a query arrives as a space.
  const moment = text.replace(/ (?=\d\d:\d\d$)/, '+')
  const [, day, time, zone] =
    /^(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d:\d\d(?:\.\d{1,9})?)([Zz]|[+-]\d\d:\d\d))?$/.exec(moment) ?? []
  if (day === undefined) return undefined
  // `Date.parse` reads 30 February as 2 March.
  const midnight = Date.parse(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined
  const at = time === undefined ? midnight : Date.parse(`${day}T${time}${zone?.toUpperCase()}`)
  return Number.isNaN(at) ? undefined : at
}
