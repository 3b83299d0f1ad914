/** A table as all of them are: its caption is for those who do not see it, and what is wide gives way on a phone. */
import type { ComponentChildren } from 'preact'

/** What a column is called, and its classes. */
export type Column = readonly [name: ComponentChildren, where?: string]

interface TableProps {
  readonly caption: string
  readonly columns: readonly Column[]
  /** The rows. */
  readonly children: ComponentChildren
}

export function Table({ caption, columns, children }: TableProps) {
  return (
    <div class="table-box">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(([name, where], index) => (
              <th key={index} scope="col" class={where}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
