/** The order of a table, which the address keeps: `revenue` is ascending, `-revenue` descending. */

export interface Order<Key extends string> {
  readonly key: Key
  readonly isUp: boolean
}

export function readOrder<Key extends string>(
  text: string | null,
  keys: readonly Key[],
  usual: Order<Key>,
): Order<Key> {
  const isUp = text?.startsWith('-') !== true
  const name = text?.replace(/^-/, '')
  const key = keys.find((one) => one === name)
  return key === undefined ? usual : { key, isUp }
}

export function writeOrder({ key, isUp }: Order<string>): string {
  return isUp ? key : `-${key}`
}

/** The order after a click on a heading: text starts ascending, numbers start descending, and a second click turns. */
export function turnOrder<Key extends string>(order: Order<Key>, key: Key, isText = false): Order<Key> {
  return { key, isUp: order.key === key ? !order.isUp : isText }
}

/** Equal rows keep their order. */
export function sortRows<Row>(
  rows: readonly Row[],
  compare: (one: Row, other: Row) => number,
  isUp: boolean,
): readonly Row[] {
  return rows.toSorted((one, other) => (isUp ? compare(one, other) : compare(other, one)))
}
