/** The frame of every screen: the navigation, the settings, and global messages. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { formatCount, shorten } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import mark from '../../look/mark.svg'
import { isPaletteOpen } from '../data/palette.ts'
import { formatAddress, place, type Screen } from '../data/route.ts'
import { access, isReader, isShut, readSession, signOut } from '../data/session.ts'
import { type Theme, theme, themes, zone } from '../data/settings.ts'
import { countProblems, status } from '../data/status.ts'
import { isHelpOpen, paletteKey } from '../dialogs/keyboard.ts'
import { Alerts } from '../elements/alerts.tsx'
import { Choice } from '../elements/choice.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { Menu } from '../elements/menu.tsx'
import { Notice } from '../elements/states.tsx'

type Entry = readonly [screen: Exclude<Screen, 'sign-in' | 'endpoint' | 'payer' | 'refusals' | 'unknown'>, name: string]

/** A phone shows these in its bar, and the others in a menu beside them. */
const firstEntries: readonly Entry[] = [
  ['home', 'Home'],
  ['payments', 'Payments'],
  ['endpoints', 'Endpoints'],
  ['problems', 'Problems'],
]
const otherEntries: readonly Entry[] = [
  ['payers', 'Payers'],
  ['rewards', 'Rewards'],
  ['settlement', 'Settlement'],
  ['webhooks', 'Webhooks'],
  ['service', 'Service'],
]

const narrow = matchMedia('(max-width: 860px)')
const isNarrow = signal(narrow.matches)
narrow.addEventListener('change', ({ matches }) => {
  isNarrow.value = matches
})

export function Shell({ children }: { readonly children: ComponentChildren }) {
  // These screens ask for no data, so they do not learn whether the reader has access.
  const isPlain = isShut.value || (['sign-in', 'unknown'].includes(place.value.screen) && !isReader.value)
  return (
    <>
      <div class={isPlain ? 'shell shell-plain' : 'shell'}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="top">
          <Link href={formatAddress('home')} class="brand" label="paystile, home">
            <img src={mark} alt="" width="28" height="28" />
            <span>paystile</span>
          </Link>
          {(isNarrow.value || isPlain) && <Settings />}
        </header>
        {isReader.value && <Ways />}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Alerts />
    </>
  )
}

function Ways() {
  const screen = findEntry()
  const entries = isNarrow.value ? firstEntries : [...firstEntries, ...otherEntries]
  const other = otherEntries.find(([one]) => one === screen)
  return (
    <nav class="ways" aria-label="Screens">
      <ul>
        {entries.map((entry) => (
          <Way key={entry[0]} entry={entry} />
        ))}
        {isNarrow.value ? (
          <li>
            <Menu
              icon={other?.[0] ?? 'more'}
              label={other ? <OpenEntry name={other[1]} /> : 'More'}
              kind={other ? 'way is-current' : 'way'}
            >
              <ul class="menu-list">
                {otherEntries.map((entry) => (
                  <Way key={entry[0]} entry={entry} />
                ))}
              </ul>
            </Menu>
          </li>
        ) : (
          <li class="ways-settings">
            <Settings kind="way" />
          </li>
        )}
      </ul>
    </nav>
  )
}

/** The menu has the name of the open screen. A mark shows that it is still the menu. */
function OpenEntry({ name }: { readonly name: string }) {
  return (
    <span class="way-open">
      {name}
      <span class="unseen">, menu of more screens</span>
      <Icon name="up" />
    </span>
  )
}

/** The screen of the menu that a page without its own entry belongs to. */
const parents: Partial<Record<Screen, Screen>> = {
  endpoint: 'endpoints',
  payer: 'payers',
  refusals: 'problems',
}

function findEntry(): Screen {
  const { screen } = place.value
  return parents[screen] ?? screen
}

function Way({ entry: [one, name] }: { readonly entry: Entry }) {
  const count = one === 'problems' && status.value ? countProblems(status.value) : 0
  return (
    <li>
      <Link href={formatAddress(one)} isCurrent={one === findEntry()}>
        <Icon name={one} />
        <span>{name}</span>
        {count > 0 && <span class="way-count">{formatCount(count, pageLocale())}</span>}
      </Link>
    </li>
  )
}

function Settings({ kind = 'button' }: { readonly kind?: string }) {
  return (
    <Menu icon="settings" label="Settings" kind={kind}>
      <SettingsPanel />
    </Menu>
  )
}

const themeNames: Readonly<Record<Theme, string>> = { system: 'System', light: 'Light', dark: 'Dark' }

/** Asks for the session when the menu is opened first. */
function SettingsPanel() {
  const { signedIn, wallet = '' } = readSession()
  return (
    <>
      <div class="setting">
        <span aria-hidden="true">Theme</span>
        <Choice
          label="Theme"
          options={themes.map((one) => [one, themeNames[one]])}
          value={theme.value}
          onChange={(value) => {
            theme.value = value
          }}
        />
      </div>
      <div class="setting">
        <span aria-hidden="true">Times in</span>
        <Choice
          label="Time zone"
          options={[
            ['local', 'Local time'],
            ['utc', 'UTC'],
          ]}
          value={zone.value}
          onChange={(value) => {
            zone.value = value
          }}
        />
      </div>
      <ul class="menu-list">
        {isReader.value && (
          <li>
            <button
              type="button"
              onClick={() => {
                isPaletteOpen.value = true
              }}
            >
              Go to… <kbd>{paletteKey}</kbd>
            </button>
          </li>
        )}
        <li class="keys-help">
          <button
            type="button"
            onClick={() => {
              isHelpOpen.value = true
            }}
          >
            Keys <kbd>?</kbd>
          </button>
        </li>
        <li>
          {signedIn ? (
            <button type="button" onClick={() => void signOut()}>
              Sign out <code class="muted">{shorten(wallet, 4, 4)}</code>
            </button>
          ) : (
            <Link href={formatAddress('sign-in')}>
              {access.value === 'granted' ? 'Sign in as an owner' : 'Sign in'}
            </Link>
          )}
        </li>
      </ul>
    </>
  )
}

/** An address without a screen. */
export function UnknownScreen() {
  return (
    <>
      <ScreenHead title="Page not found" />
      <div class="card">
        <Notice title="The dashboard has no page at this address">
          <Link href={formatAddress('home')} class="button">
            Go to Home
          </Link>
        </Notice>
      </div>
    </>
  )
}

interface ScreenHeadProps {
  readonly title: string
  /** The list that the page belongs to. */
  readonly within?: readonly [screen: Screen, name: string]
  readonly children?: ComponentChildren
}

export function ScreenHead({ title, within, children }: ScreenHeadProps) {
  return (
    <div class="screen-head">
      <div class="screen-title">
        {within && (
          <Link href={formatAddress(within[0])} class="screen-within">
            <Icon name="left" /> {within[1]}
          </Link>
        )}
        <h1>{title}</h1>
      </div>
      <div class="screen-tools">{children}</div>
    </div>
  )
}
