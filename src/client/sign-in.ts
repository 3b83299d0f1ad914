/** Signs in to a service with a wallet, for data that only its owner or the payer may see. */
import { encodeBase58 } from '../core/encoding/base58.ts'
import { type Fields, isFields } from '../core/encoding/fields.ts'
import { toOneLine } from '../core/encoding/one-line.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import { parseSignIn } from '../core/protocol/sign-in-text.ts'
import { readJson, readRefusal } from './read-json.ts'
import { toWallet, type WalletSource } from './wallet.ts'

export interface SignedIn {
  /** For `Authorization: Bearer`. */
  readonly token: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly wallet: string
  /** Whether the wallet owns the service and may read its revenue. */
  readonly isOwner: boolean
}

/** The sign-in failed. The message states the reason in one sentence. */
export class SignInError extends PaystileError {
  override readonly name = 'SignInError'
  /** The service's error code, if it refused. */
  readonly refusal: string | undefined
  constructor(message: string, refusal?: string) {
    super('sign_in_failed', message)
    this.refusal = refusal
  }
}

const patienceMs = 10_000
const longestLifeMs = 15 * 60_000

/**
 * Signs in to the service at `url`. The wallet signs only a text of the known form that names this host and this
 * wallet. A service can therefore not obtain a signature for another service, or of a transaction.
 *
 * @example
 * const { token } = await signInWith(wallet, 'https://api.example.com')
 */
export async function signInWith(
  source: WalletSource,
  url: string | URL,
  ask: typeof fetch = fetch,
): Promise<SignedIn> {
  const service = new URL(url)
  if (service.protocol !== 'https:' && !isLoopback(service.hostname))
    throw new SignInError(`Signing in over ${service.protocol} would expose the session to the network. Use https.`)
  const wallet = await toWallet(source)
  const post = (path: string, body: object) => postJson(ask, new URL(path, service), body)

  const { message } = await post('/sign-in/nonce', { address: wallet.address })
  const facts = parseSignIn(typeof message === 'string' ? message : '')
  if (!facts)
    throw new SignInError('The service requested a signature for a text that is not a sign-in. Nothing was signed.')
  if (facts.host !== service.host || facts.origin !== service.origin)
    throw new SignInError(
      `The service at ${service.host} requested a sign-in for ${toOneLine(facts.host)}. Nothing was signed. Sign in there instead.`,
    )
  if (facts.address !== wallet.address)
    throw new SignInError('The service requested a sign-in by another wallet. Nothing was signed.')
  if (facts.expiresAt - facts.issuedAt > longestLifeMs)
    throw new SignInError('The service requested a sign-in that is valid for too long. Nothing was signed.')

  const signature = await wallet.signMessage(new TextEncoder().encode(String(message)))
  const answer = await post('/sign-in', { address: wallet.address, message, signature: encodeBase58(signature) })
  const { token, expiresAt, owner } = answer
  const until = Date.parse(String(expiresAt))
  if (typeof token !== 'string' || Number.isNaN(until))
    throw new SignInError('The service returned no session. Try again.')
  return { token, expiresAt: until, wallet: wallet.address, isOwner: owner === true }
}

async function postJson(ask: typeof fetch, url: URL, body: object): Promise<Fields> {
  let response: Response
  try {
    response = await ask(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      // A signature must not be sent to the target of a redirect.
      redirect: 'error',
      signal: AbortSignal.timeout(patienceMs),
    })
  } catch {
    throw new SignInError(`The service at ${url.host} cannot be reached. Try again.`)
  }
  const answer = await readJson(response, patienceMs)
  await response.body?.cancel()
  if (response.ok && isFields(answer)) return answer
  const { code, detail = `It returned status ${response.status}.` } = readRefusal(answer)
  throw new SignInError(`The service refused the sign-in. ${detail}`, code)
}

function isLoopback(name: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(name)
}
