/**
 * Changes prices in the text of a YAML configuration. Only the bytes of the prices are replaced, so comments, order and
 * layout stay.
 */
import { isDeepStrictEqual } from 'node:util'
import { isMap, isScalar, isSeq, type Scalar } from 'yaml'
import { parseYaml } from './plan-text.ts'

/** The price of a route as the file has it. */
export interface WrittenPrice {
  /** The place of the route in `routes`. */
  readonly route: number
  readonly price: string
  /** The line in the file, from 1. */
  readonly line: number
  /** The reason if it cannot be edited. Empty otherwise. */
  readonly why: string
}

export interface PriceChange {
  readonly route: number
  readonly price: string
}

/** The change of one line. It shows nothing but the price, because other values in the file can be secrets. */
export interface ChangedLine {
  readonly route: number
  readonly line: number
  readonly before: string
  readonly after: string
}

export type PriceEditing =
  | { readonly kind: 'edited'; readonly text: string; readonly lines: readonly ChangedLine[] }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }

const quotes: Readonly<Record<string, string>> = { PLAIN: '', QUOTE_SINGLE: "'", QUOTE_DOUBLE: '"' }

/** The prices of a valid configuration. Free routes have none. */
export function listPrices(text: string): readonly WrittenPrice[] {
  return findPrices(text).map(({ route, line, node }) => ({
    route,
    line,
    price: String(node?.value),
    why: explain(node),
  }))
}

export function editPrices(text: string, changes: readonly PriceChange[]): PriceEditing {
  const found = findPrices(text)
  const problems: string[] = []
  const lines: (ChangedLine & { readonly start: number; readonly end: number })[] = []
  for (const { route, price } of changes) {
    const written = found.find((one) => one.route === route)
    const why = written ? explain(written.node) : 'has no price'
    if (why !== '') problems.push(`routes[${route}].price: ${why}`)
    if (!written?.node?.range || why !== '') continue
    const [start, end] = written.node.range
    const before = text.slice(start, end)
    lines.push({ route, line: written.line, before, after: write(price, written.node), start, end })
  }
  if (problems.length > 0) return { kind: 'refused', problems }
  const edited = lines
    .toSorted((one, other) => other.start - one.start)
    .reduce((rest, { start, end, after }) => `${rest.slice(0, start)}${after}${rest.slice(end)}`, text)
  if (!isDeepStrictEqual(readValue(edited), replacePrices(readValue(text), changes)))
    return { kind: 'refused', problems: ['the prices cannot be changed without another change; edit the file by hand'] }
  return { kind: 'edited', text: edited, lines: lines.map(({ start: _, end: __, ...line }) => line) }
}

function findPrices(text: string) {
  const { document, lines } = parseYaml(text)
  const routes = isMap(document.contents) ? document.contents.get('routes', true) : undefined
  if (!isSeq(routes)) return []
  return routes.items.flatMap((route, index) => {
    if (!isMap(route) || !route.has('price')) return []
    const node = route.get('price', true)
    const [start = 0] = node?.range ?? []
    return [{ route: index, line: lines.linePos(start).line, node: isScalar(node) ? node : undefined }]
  })
}

/** The reason why a price cannot be replaced in its place. */
function explain(node: Scalar | undefined): string {
  if (!node?.range || node.anchor !== undefined || quotes[node.type ?? ''] === undefined)
    return 'is written in a form that only its author can change; edit the file by hand'
  return /\$\{/.test(String(node.value)) ? 'comes from the environment; change it there' : ''
}

/** A number, unless it would lose digits. */
function write(price: string, { type = 'PLAIN' }: Scalar): string {
  const quote = quotes[type] || (String(Number(price)) === price ? '' : '"')
  return `${quote}${price}${quote}`
}

function readValue(text: string): unknown {
  return parseYaml(text).document.toJS()
}

/** The value of a configuration with other prices. The form of a price, number or text, stays as it was written. */
function replacePrices(value: unknown, changes: readonly PriceChange[]): unknown {
  const { routes, ...rest } = value as { readonly routes: readonly { readonly price: unknown }[] }
  return {
    ...rest,
    routes: routes.map((route, index) => {
      const price = changes.find((change) => change.route === index)?.price
      if (price === undefined) return route
      const isNumber = typeof route.price === 'number' && String(Number(price)) === price
      return { ...route, price: isNumber ? Number(price) : price }
    }),
  }
}
