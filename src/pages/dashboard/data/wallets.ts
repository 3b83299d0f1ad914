/** Wallets in this browser (Wallet Standard) that can sign a message, and sign-in with one of them. */
import type { SolanaSignMessageFeature } from '@solana/wallet-standard-features'
import { getWallets } from '@wallet-standard/app'
import type { Wallet, WalletAccount } from '@wallet-standard/base'
import { parseSignIn } from '../../../core/protocol/sign-in-text.ts'
import type { Session } from './answers.ts'
import { type Outcome, post } from './ask.ts'

interface ConnectFeature {
  readonly 'standard:connect': { connect(): Promise<{ readonly accounts: readonly WalletAccount[] }> }
}

export type Signer = Wallet & { readonly features: SolanaSignMessageFeature & ConnectFeature }

export type SignInOutcome = { readonly kind: 'signed-in'; readonly session: Session } | Refused
export interface Refused {
  readonly kind: 'refused'
  /** One sentence and the next step. */
  readonly why: string
}

const refused = (why: string): Refused => ({ kind: 'refused', why })

function canSign(wallet: Wallet): wallet is Signer {
  return 'solana:signMessage' in wallet.features && 'standard:connect' in wallet.features
}

/** Reports the wallets at once and on every change, until the returned function is called. */
export function watchWallets(tell: (wallets: readonly Signer[]) => void): () => void {
  const { get, on } = getWallets()
  const update = () => tell(get().filter(canSign))
  update()
  const off = [on('register', update), on('unregister', update)]
  return () => {
    for (const end of off) end()
  }
}

/** The text to sign. A text for another site or wallet is not shown. */
export async function fetchMessage(
  address: string,
): Promise<{ readonly kind: 'message'; readonly text: string } | Refused> {
  const outcome = await post<{ message: string }>('/sign-in/nonce', { address })
  if (outcome.kind !== 'answer') return refused(describeReason(outcome))
  const facts = parseSignIn(outcome.value.message)
  if (facts?.host !== location.host || facts.address !== address)
    return refused('The service requests a signature for another site. Open the dashboard at its own address.')
  return { kind: 'message', text: outcome.value.message }
}

export async function finishSignIn(body: Readonly<Record<string, string>>): Promise<SignInOutcome> {
  const outcome = await post<Session & { token: string }>('/sign-in', body)
  return outcome.kind === 'answer' ? { kind: 'signed-in', session: outcome.value } : refused(describeReason(outcome))
}

const reasons: Readonly<Record<string, string>> = {
  sign_ins_limited: 'There were too many attempts from this address. Wait a minute, then try again.',
  sign_in_unconfigured: 'The server does not know its own address. Set publicUrl to the address of this page.',
  cross_site: 'Open the dashboard at its own address, then sign in there.',
}

function describeReason(outcome: Exclude<Outcome<unknown>, { kind: 'answer' }>): string {
  if (outcome.kind === 'unreachable') return 'The service does not respond. Check that it is running, and try again.'
  if (outcome.kind === 'unread') return 'The address or the signature is not complete. Copy it again from your wallet.'
  if (outcome.kind !== 'failed') return 'The sign-in failed. Try again.'
  const { code, detail } = outcome
  if (code !== 'sign_in_failed') return reasons[code] ?? detail
  return detail.includes('signature')
    ? 'The signature does not belong to this wallet and this message. Sign the message again with this wallet.'
    : 'The message is too old or was used before. Get a new one, and sign it within five minutes.'
}

export async function signInWithWallet(wallet: Signer): Promise<SignInOutcome> {
  try {
    const { accounts } = await wallet.features['standard:connect'].connect()
    const account = [...accounts, ...wallet.accounts].find((one) => one.features.includes('solana:signMessage'))
    if (!account) return refused('The wallet has no account that can sign. Choose one in the wallet and try again.')
    const message = await fetchMessage(account.address)
    if (message.kind === 'refused') return message
    const bytes = new TextEncoder().encode(message.text)
    const [signed] = await wallet.features['solana:signMessage'].signMessage({ account, message: bytes })
    if (!signed) return refused('The wallet returned no signature. Try again.')
    return await finishSignIn({
      address: account.address,
      message: message.text,
      signature: toBase64(signed.signature),
      signedMessage: toBase64(signed.signedMessage),
    })
  } catch {
    return refused('The wallet did not sign. Nothing was sent. Try again when you are ready.')
  }
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
