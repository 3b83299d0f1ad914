/** Selects the screen, and runs the stream while the reader is authorized. */
import { useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { forgetAnswers } from './data/answer.ts'
import { forgetRows, listen } from './data/live.ts'
import { isPaletteOpen } from './data/palette.ts'
import { place, type Screen } from './data/route.ts'
import { access, isShut, turn } from './data/session.ts'
import { watchStatus } from './data/status.ts'
import { isHelpOpen } from './dialogs/keyboard.ts'
import { Skeleton } from './elements/states.tsx'
import { Home } from './screens/home.tsx'
import { Shell, UnknownScreen } from './screens/shell.tsx'

/** Loaded on demand, because most visits open the home screen. */
const others: Readonly<Record<Exclude<Screen, 'home'>, () => Promise<ComponentType>>> = {
  payments: async () => (await import('./screens/payments.tsx')).Payments,
  endpoints: async () => (await import('./screens/endpoints.tsx')).Endpoints,
  endpoint: async () => (await import('./screens/endpoint.tsx')).Endpoint,
  payers: async () => (await import('./screens/payers.tsx')).Payers,
  payer: async () => (await import('./screens/payer.tsx')).Payer,
  rewards: async () => (await import('./screens/rewards.tsx')).Rewards,
  settlement: async () => (await import('./screens/settlement.tsx')).Settlement,
  webhooks: async () => (await import('./screens/webhooks.tsx')).Webhooks,
  service: async () => (await import('./screens/service.tsx')).Service,
  problems: async () => (await import('./screens/problems.tsx')).Problems,
  refusals: async () => (await import('./screens/refusals.tsx')).Refusals,
  'sign-in': async () => (await import('./screens/sign-in.tsx')).SignIn,
  unknown: async () => UnknownScreen,
}

const loadPayment = async () => (await import('./dialogs/payment.tsx')).PaymentDrawer
const loadKeysHelp = async () => (await import('./dialogs/keys-help.tsx')).KeysHelp
const loadPalette = async () => (await import('./dialogs/palette.tsx')).Palette

const titles: Readonly<Record<Screen, string>> = {
  home: 'Home',
  payments: 'Payments',
  endpoints: 'Endpoints',
  endpoint: 'Endpoint',
  payers: 'Payers',
  payer: 'Payer',
  rewards: 'Rewards',
  settlement: 'Settlement',
  webhooks: 'Webhooks',
  service: 'Service',
  problems: 'Problems',
  refusals: 'Refused proofs',
  'sign-in': 'Sign in',
  unknown: 'Page not found',
}

export function App() {
  const screen = isShut.value ? 'sign-in' : place.value.screen
  useEffect(() => {
    document.title = `${titles[screen]} · paystile`
  }, [screen])
  useSignalEffect(() => {
    // Another user may have signed in, so the responses of the previous one are dropped.
    if (turn.value === 0) return
    forgetAnswers()
    forgetRows()
  })
  useSignalEffect(() => (access.value === 'granted' ? listen() : undefined))
  useSignalEffect(() => (access.value === 'granted' ? watchStatus() : undefined))
  return (
    <>
      <Shell>{screen === 'home' ? <Home /> : <Later key={screen} load={others[screen]} />}</Shell>
      {place.value.query.has('payment') && !isShut.value && <Later load={loadPayment} waiting={null} />}
      {isHelpOpen.value && <Later load={loadKeysHelp} waiting={null} />}
      {isPaletteOpen.value && !isShut.value && <Later load={loadPalette} waiting={null} />}
    </>
  )
}

interface LaterProps {
  readonly load: () => Promise<ComponentType>
  /** Shown until it is loaded. */
  readonly waiting?: ComponentChildren
}

function Later({ load, waiting = <Skeleton lines={8} /> }: LaterProps) {
  const found = useSignal<{ readonly Part: ComponentType } | 'failed' | undefined>(undefined)
  useEffect(() => {
    load().then(
      (Part) => {
        found.value = { Part }
      },
      () => {
        found.value = 'failed'
      },
    )
  }, [load, found])
  if (found.value === undefined) return <>{waiting}</>
  if (found.value === 'failed') return <p role="alert">This screen could not be loaded. Reload the page.</p>
  const { Part } = found.value
  return <Part />
}
