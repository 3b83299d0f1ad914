/** Exports of a table: all records from the service if it supports it, otherwise the visible rows. */
import { byteOrderMark, formatCsvLine } from '../../../core/encoding/csv.ts'
import { now } from '../../look/clock.ts'
import { writeDay } from '../../look/times.ts'
import { formatPath } from '../data/ask.ts'
import { Icon } from './icons.tsx'
import { Menu } from './menu.tsx'

const formats = [
  ['csv', 'CSV', 'for any spreadsheet'],
  ['xlsx', 'Excel', 'all cells as text'],
  ['json', 'JSON', 'for programs'],
] as const

interface ExportMenuProps {
  readonly path?: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly without?: 'xlsx'
  readonly note?: string | false
}

export function ExportMenu({ path = '/api/analytics/export', query, without, note = false }: ExportMenuProps) {
  const offered = formats.filter(([format]) => format !== without)
  return (
    <Menu icon="download" label="Export">
      <ul class="menu-list">
        {offered.map(([format, name, what]) => (
          <li key={format}>
            <a href={formatPath(path, { format, ...query })} download>
              {name} <span class="muted">{what}</span>
            </a>
          </li>
        ))}
      </ul>
      {note && <p class="menu-note">{note}</p>}
    </Menu>
  )
}

/** Lets the browser save a text as a file. */
export function saveFile(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

interface CsvButtonProps {
  readonly name: string
  /** The first row is the header. */
  readonly rows: () => readonly (readonly string[])[]
  /** Shows the icon only. */
  readonly isQuiet?: boolean
}

export function CsvButton({ name, rows, isQuiet = false }: CsvButtonProps) {
  const save = () => {
    const lines = [byteOrderMark, ...rows().map(formatCsvLine)]
    saveFile(`paystile-${name}-${writeDay(now(), 'utc')}.csv`, 'text/csv;charset=utf-8', lines)
  }
  return (
    <button type="button" class={isQuiet ? 'icon-button' : 'button'} onClick={save}>
      <Icon name="download" />
      <span class={isQuiet ? 'unseen' : undefined}>{isQuiet ? `Export ${name} as CSV` : 'Export CSV'}</span>
    </button>
  )
}
