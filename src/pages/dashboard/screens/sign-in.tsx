/** Sign-in with the recipient's wallet: a wallet in this browser, or any that can sign a text. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { shorten } from '../../look/amounts.ts'
import { formatAddress, go, place } from '../data/route.ts'
import { access, readService, readSession, renew, signOut } from '../data/session.ts'
import type { Signer, SignInOutcome } from '../data/wallets.ts'
import { fetchMessage, finishSignIn, signInWithWallet, watchWallets } from '../data/wallets.ts'
import { Command } from '../elements/copy.tsx'

export function SignIn() {
  const wallets = useSignal<readonly Signer[]>([])
  const busy = useSignal('')
  /** The reason of the last failure, and the button that it belongs to. */
  const trouble = useSignal<Failure | undefined>(undefined)
  useEffect(
    () =>
      watchWallets((found) => {
        wallets.value = found
      }),
    [wallets],
  )
  const finish = async (button: string, outcome: SignInOutcome) => {
    busy.value = ''
    trouble.value = outcome.kind === 'refused' ? { button, why: outcome.why } : undefined
    if (outcome.kind === 'refused') return
    await renew()
    if (place.value.screen === 'sign-in') go(formatAddress('home'))
  }
  const enter = async (wallet: Signer) => {
    busy.value = wallet.name
    trouble.value = undefined
    await finish(wallet.name, await signInWithWallet(wallet))
  }
  const { signedIn, wallet = '', owner = false } = readSession()
  return (
    <div class="sign-in card">
      {signedIn && !owner ? (
        <>
          <h1>This wallet does not own the service</h1>
          <p>
            <code title={wallet}>{shorten(wallet)}</code> is signed in. Sign in with the recipient's wallet, or add this
            one to the option <code>owners</code> and restart the service.
          </p>
          <button type="button" class="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </>
      ) : signedIn ? (
        <>
          <h1>You are signed in</h1>
          <p>
            as <code title={wallet}>{shorten(wallet)}</code>, an owner of this service.
          </p>
          <button type="button" class="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </>
      ) : (
        <>
          <h1>Sign in to see your payments</h1>
          <p class="muted">
            Use the recipient's wallet. It signs a message, not a transaction, and moves no money. You need no password
            and no account.
          </p>
        </>
      )}
      {wallets.value.length > 0 ? (
        <ul class="wallets">
          {wallets.value.map((one) => (
            <li key={one.name}>
              <button type="button" class="button" disabled={busy.value !== ''} onClick={() => void enter(one)}>
                {one.icon.startsWith('data:image/') && <img src={one.icon} alt="" width="24" height="24" />}
                {busy.value === one.name ? `Confirm in ${one.name}…` : `Sign in with ${one.name}`}
              </button>
              <Why failure={trouble.value} button={one.name} />
            </li>
          ))}
        </ul>
      ) : (
        <p class="hint">
          No wallet was found in this browser. Install one and reload this page, or sign with your key yourself:
        </p>
      )}
      <ByHand
        finish={(outcome) => finish(byHand, outcome)}
        failure={trouble.value}
        isOpen={wallets.value.length === 0}
      />
      {access.value === 'granted' && !signedIn && (
        <p class="muted">On a test network, this machine can read everything except transactions without a sign-in.</p>
      )}
    </div>
  )
}

interface Failure {
  readonly button: string
  readonly why: string
}

/** The button of a sign-in without a wallet in this browser. No wallet has an empty name. */
const byHand = ''

function Why({ failure, button }: { readonly failure: Failure | undefined; readonly button: string }) {
  if (failure?.button !== button) return null
  return (
    <p class="error" role="alert">
      {failure.why}
    </p>
  )
}

interface ByHandProps {
  readonly finish: (outcome: SignInOutcome) => Promise<void>
  readonly failure: Failure | undefined
  readonly isOpen: boolean
}

/** For keys in a file or a device: the user signs the text elsewhere and pastes the signature. */
function ByHand({ finish, failure, isOpen }: ByHandProps) {
  const written = useSignal<string | undefined>(undefined)
  // The recipient is usually the reader.
  const address = (written.value ?? readService()?.recipients[0] ?? '').trim()
  const message = useSignal('')
  const signature = useSignal('')
  const ask = async () => {
    const outcome = await fetchMessage(address)
    if (outcome.kind === 'message') message.value = outcome.text
    else await finish(outcome)
  }
  const send = () => finishSignIn({ address, message: message.value, signature: signature.value.trim() }).then(finish)
  return (
    <details class="by-hand" open={isOpen}>
      <summary>Sign in with a key file or the command line</summary>
      <label>
        Your wallet’s address
        <input
          value={written.value ?? address}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            written.value = currentTarget.value
            message.value = ''
          }}
        />
      </label>
      {message.value === '' ? (
        <button type="button" class="button" disabled={address === ''} onClick={() => void ask()}>
          Get the message to sign
        </button>
      ) : (
        <>
          <p>Sign this message with your key within five minutes, for example with the Solana CLI:</p>
          <Command text={`solana sign-offchain-message --keypair <key file> '${message.value}'`} />
          <label>
            Signature
            <input
              value={signature.value}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => {
                signature.value = currentTarget.value
              }}
            />
          </label>
          <button type="button" class="button" disabled={signature.value.trim() === ''} onClick={() => void send()}>
            Sign in
          </button>
        </>
      )}
      <Why failure={failure} button={byHand} />
      <p class="muted">
        Programs read the same figures with <code>signInWith</code> of <code>paystile/client</code>.
      </p>
    </details>
  )
}
