/** A choice of a few options side by side or as links, or of many from a list. */
import { changeAddress } from '../data/route.ts'
import { Count } from './cells.tsx'
import { Link } from './link.tsx'

interface ChoiceProps<Value extends string> {
  readonly label: string
  readonly options: readonly (readonly [Value, string])[]
  readonly value: Value
  readonly onChange: (value: Value) => void
  /** The reason why it cannot be changed now. */
  readonly fixed?: string | undefined
}

export function Choice<Value extends string>({ label, options, value, onChange, fixed }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice" disabled={fixed !== undefined} title={fixed}>
      <legend class="unseen">{label}</legend>
      {options.map(([one, words]) => (
        <label key={one} class={one === value ? 'is-chosen' : undefined}>
          <input type="radio" name={label} value={one} checked={one === value} onChange={() => onChange(one)} />
          {words}
        </label>
      ))}
    </fieldset>
  )
}

interface PickProps {
  readonly label: string
  /** The label of no choice. */
  readonly any: string
  readonly options: readonly string[]
  readonly value: string
  readonly onChange: (value: string | undefined) => void
}

export function Pick({ label, any, options, value, onChange }: PickProps) {
  // Shows the value of the address even if it is not an option.
  const all = value === '' || options.includes(value) ? options : [value, ...options]
  return (
    <label class={value === '' ? 'pick' : 'pick is-chosen'}>
      <span class="unseen">{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}>
        <option value="">{any}</option>
        {all.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}

interface KindLinksProps<Kind extends string> {
  readonly label: string
  /** The parameter of the address with the choice. */
  readonly parameter: string
  readonly kinds: readonly (readonly [kind: Kind, name: string, count: number])[]
  readonly value: Kind | undefined
}

/** Links that show the records of one kind, each with its count. */
export function KindLinks<Kind extends string>({ label, parameter, kinds, value }: KindLinksProps<Kind>) {
  const total = kinds.reduce((sum, [, , count]) => sum + count, 0)
  return (
    <nav class="kinds" aria-label={label}>
      {[[undefined, 'All', total] as const, ...kinds].map(([kind, name, count]) => (
        <Link key={name} href={changeAddress({ [parameter]: kind })} isCurrent={kind === value}>
          {name}{' '}
          <b>
            <Count count={count} />
          </b>
        </Link>
      ))}
    </nav>
  )
}
