/** The menu of saved views: open one, save the current one under a name, or remove one. */
import { useSignal } from '@preact/signals'
import { place } from '../data/route.ts'
import { addView, formatViewAddress, readViewQuery, setViews, views } from '../data/views.ts'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { Menu } from '../elements/menu.tsx'

export function SavedViews() {
  const name = useSignal('')
  const save = (event: Event) => {
    event.preventDefault()
    setViews(addView(views.value, { name: name.value, query: readViewQuery(place.value.query) }))
    name.value = ''
  }
  return (
    <Menu icon="payments" label="Views">
      {views.value.length > 0 && (
        <ul class="menu-list views">
          {views.value.map((view) => (
            <li key={view.name}>
              <Link href={formatViewAddress(view)}>{view.name}</Link>
              <button
                type="button"
                class="icon-button"
                aria-label={`Remove the view ${view.name}`}
                onClick={() => setViews(views.value.filter((one) => one !== view))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <form class="views-new" onSubmit={save}>
        <label>
          <span class="views-label">Save these filters as</span>
          <input
            type="text"
            maxLength={40}
            required
            value={name.value}
            placeholder="Name"
            autocomplete="off"
            onInput={({ currentTarget }) => {
              name.value = currentTarget.value
            }}
          />
        </label>
        <button type="submit" class="button">
          Save
        </button>
      </form>
      <p class="menu-note">Views stay in this browser.</p>
    </Menu>
  )
}
