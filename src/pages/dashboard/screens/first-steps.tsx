/** The steps of a new service, in place of empty figures. */
import type { ComponentChildren } from 'preact'
import type { Overview } from '../data/answers.ts'
import { formatAddress } from '../data/route.ts'
import { access, readSession } from '../data/session.ts'
import { Card } from '../elements/card.tsx'
import { Command } from '../elements/copy.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { findFirstPath, firstCommand } from '../elements/states.tsx'

interface StepProps {
  readonly title: string
  readonly isDone: boolean
  readonly children: ComponentChildren
}

function FirstStep({ title, isDone, children }: StepProps) {
  return (
    <li class={isDone ? 'first-step is-done' : 'first-step'}>
      <span class="first-mark">
        {isDone && <Icon name="check" />}
        <span class="unseen">{isDone ? 'Done: ' : 'To do: '}</span>
      </span>
      <div>
        <h3>{title}</h3>
        <div class="first-text">{children}</div>
      </div>
    </li>
  )
}

export function FirstSteps({ setup }: { readonly setup: Overview['setup'] }) {
  // An older service does not send the front page.
  const { hasPayments, hasOwners, hasWebhooks, isLive, frontPage = null } = setup
  const path = findFirstPath()
  const { owner = false } = readSession()
  return (
    <Card id="first-steps" title="First steps">
      <ol class="first-steps">
        <FirstStep title="Make the first payment" isDone={hasPayments}>
          <p>
            From a terminal, or in the browser on{' '}
            {path === undefined ? 'the page of the resource' : <a href={path}>the page of the resource</a>}. It appears
            here within a second.
            {frontPage && (
              <>
                {' '}
                Everything that is for sale is on the <a href={frontPage}>front page</a>.
              </>
            )}
          </p>
          <Command text={firstCommand()} />
        </FirstStep>
        <FirstStep title="Sign in with the owner’s wallet" isDone={owner}>
          <p>
            {hasOwners ? 'The wallets in the option ' : 'The recipient’s wallet is the owner. To name others, set '}
            <code>owners</code>
            {hasOwners ? ' own this service.' : '.'}{' '}
            {access.value === 'granted' &&
              !owner &&
              'At this machine a test network needs no sign-in; elsewhere it does.'}
          </p>
          {!owner && <Link href={formatAddress('sign-in')}>Sign in</Link>}
        </FirstStep>
        <FirstStep title="Let your application know" isDone={hasWebhooks}>
          <p>
            A webhook tells your application of every payment. Set <code>webhooks</code>, then test it
            {hasWebhooks ? (
              <>
                {' '}
                on <Link href={formatAddress('webhooks')}>its screen</Link>.
              </>
            ) : (
              ':'
            )}
          </p>
          {!hasWebhooks && <Command text="npx paystile webhooks test --url https://example.com/hook" />}
        </FirstStep>
        <FirstStep title="Go live" isDone={isLive}>
          <p>
            Set <code>network: mainnet</code>, a node in <code>rpc</code> and a <code>secret</code>. The doctor says
            what is missing:
          </p>
          {!isLive && <Command text="npx paystile doctor" />}
        </FirstStep>
      </ol>
    </Card>
  )
}
