/** Finds conflicts between routes: routes hidden by the service's own endpoints, or by each other. */
import { isOwnPath } from '../../api/http/paths.ts'
import type { OptionProblem } from '../../paywall/config/problems.ts'
import { covers, type Row } from '../routing/match.ts'

type NamedRow = Row & { readonly path: string }

export function checkTable(rows: readonly NamedRow[]): readonly OptionProblem[] {
  return rows.flatMap((row, index) => {
    const place = ['routes', index, 'path']
    const plain = decodeURIComponent(row.path).toLowerCase()
    if (isOwnPath(plain.replace(/(.)\/$/, '$1')))
      return [{ place, why: `is reserved for the service itself; choose another path than ${row.path}` }]
    const first = rows.findIndex((other) => covers(other.pattern, row.pattern) && overlap(other, row).length > 0)
    const taken = first >= 0 && first < index ? overlap(rows[first] as NamedRow, row) : []
    if (taken.length === 0) return []
    const other = `routes[${first}] (${rows[first]?.path})`
    const isSame = covers(row.pattern, (rows[first] as NamedRow).pattern)
    const what = taken.length === overlap(row, row).length ? 'it' : taken.join(' and ')
    return [
      {
        place,
        why: isSame
          ? `is a duplicate: ${other} already has ${what}`
          : `is never reached: ${other} comes first and matches ${what}; put the narrower route first`,
      },
    ]
  })
}

/** HEAD follows GET, so it is not reported separately. */
function overlap(left: NamedRow, right: NamedRow): readonly string[] {
  const both = [...right.methods].filter((method) => left.methods.has(method))
  return both.includes('GET') ? both.filter((method) => method !== 'HEAD') : both
}
