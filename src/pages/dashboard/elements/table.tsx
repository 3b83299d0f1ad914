/** The table of all lists: one row per record, one description per column. Where there is little room, wide columns are hidden. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { isOverTable } from '../data/answer.ts'

/** The order of the rows by one column, and a click on its heading. */
export interface Sorting {
  readonly way: 'ascending' | 'descending' | 'none'
  readonly turn: () => void
}

export interface Column<Row> {
  readonly name: ComponentChildren
  /** Classes of the heading and of the cells. */
  readonly class?: string
  /** Classes of the cells only. */
  readonly cellClass?: string
  readonly cell: (row: Row) => ComponentChildren
  /** Undefined if the rows cannot be sorted by the column. */
  readonly sorting?: Sorting | undefined
  /** The tooltip of a cell. */
  readonly title?: (row: Row) => string | undefined
}

interface TableProps<Row> {
  /** For screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row, index: number) => string | number
  readonly rowClass?: (row: Row) => string | undefined
  /** `many`: it has too many columns for a tablet. */
  readonly class?: string
  /** Has a limited height, so the keyboard must reach it to scroll. */
  readonly isScrolled?: boolean
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, rowKey, rowClass, class: name, isScrolled = false } = props
  useEffect(() => () => setOver(false), [])
  return (
    <div
      class={joinClasses('table-box', name)}
      onPointerEnter={() => setOver(true)}
      onPointerLeave={() => setOver(false)}
      {...(isScrolled && { tabIndex: 0, role: 'group', 'aria-label': caption })}
    >
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col" class={column.class} aria-sort={column.sorting?.way}>
                {column.sorting ? <SortButton {...column.sorting} name={column.name} /> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={rowKey(row, at)} class={rowClass?.(row)}>
              {columns.map((column, index) => (
                <td key={index} class={joinClasses(column.class, column.cellClass)} title={column.title?.(row)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const arrows = { ascending: '↑', descending: '↓', none: '↕' } as const

function SortButton({ way, turn, name }: Sorting & Pick<Column<never>, 'name'>) {
  // The mark stays on the line of the last word.
  const [, start = '', last] = (typeof name === 'string' && /^(.* )?(\S+)$/.exec(name)) || ['', '', name]
  return (
    <button type="button" class="sort" onClick={turn}>
      {start}
      <span class="sort-end">
        {last}
        <span class={way === 'none' ? 'sort-mark sort-none' : 'sort-mark'} aria-hidden="true">
          {arrows[way]}
        </span>
      </span>
    </button>
  )
}

function setOver(isOver: boolean): void {
  isOverTable.value = isOver
}

function joinClasses(...names: readonly (string | undefined)[]): string | undefined {
  return names.filter((name) => name !== undefined).join(' ') || undefined
}
