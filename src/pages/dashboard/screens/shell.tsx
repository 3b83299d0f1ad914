/** The frame of every screen: the navigation, the settings, and global messages. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { shorten } from '../../look/amounts.ts'
import mark from '../../look/mark.svg'
import { faults } from '../data/readiness.ts'
import { formatAddress, place, type Screen } from '../data/route.ts'
import { access, service, session, signOut } from '../data/session.ts'
import { isOnline, theme, themes, zone } from '../data/settings.ts'
import { showKeys } from '../dialogs/keyboard.tsx'
import { Choice } from '../elements/choice.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { Menu } from '../elements/menu.tsx'

const entries = [
  ['home', 'Home'],
  ['payments', 'Payments'],
  ['endpoints', 'Endpoints'],
  ['payers', 'Payers'],
  ['rewards', 'Rewards'],
  ['settlement', 'Settlement'],
  ['problems', 'Problems'],
] as const satisfies readonly (readonly [Screen, string])[]

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const ways = useRef<HTMLUListElement>(null)
  const { screen } = place.value
  // On a phone the navigation is wider than the screen.
  useEffect(() => {
    ways.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [screen])
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Banner />
      <header class="top">
        <Link href={formatAddress('home')} class="brand" label="paystile, home">
          <img src={mark} alt="" width="28" height="28" />
          <span>paystile</span>
        </Link>
        <div class="top-tools">
          <Settings />
        </div>
      </header>
      <nav class="ways" aria-label="Screens">
        <ul ref={ways}>
          {entries.map(([one, name]) => (
            <li key={one}>
              <Link href={formatAddress(one)} isCurrent={one === screen}>
                <Icon name={one} />
                <span>{name}</span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function Banner() {
  const { testMode = false, network, banner } = service.value ?? {}
  return (
    <>
      {testMode && (
        <aside class="banner" aria-label="Test network">
          <b>Preview: {network}, no real money.</b> <span>{banner}</span>
        </aside>
      )}
      {faults.value.length > 0 && (
        <div class="banner banner-bad" role="alert">
          <b>Some routes cannot sell now.</b> <span>{faults.value.join(' · ')}</span>
        </div>
      )}
      {!isOnline.value && (
        <p class="banner banner-bad" role="alert">
          You are offline. The figures may be outdated. They update when the connection is back.
        </p>
      )}
    </>
  )
}

function Settings() {
  const { signedIn, wallet = '' } = session.value
  return (
    <Menu icon="settings" label="Settings">
      <div class="setting">
        <span aria-hidden="true">Theme</span>
        <Choice
          label="Theme"
          options={themes.map((one) => [one, one])}
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
            ['local', 'local time'],
            ['utc', 'UTC'],
          ]}
          value={zone.value}
          onChange={(value) => {
            zone.value = value
          }}
        />
      </div>
      <ul class="menu-list">
        <li>
          <button type="button" onClick={showKeys}>
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
    </Menu>
  )
}

export function ScreenHead({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="screen-head">
      <h1>{title}</h1>
      <div class="screen-tools">{children}</div>
    </div>
  )
}
