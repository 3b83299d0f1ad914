/** `paystile faucet`: test tokens, from the localnets of this machine or from the faucet of a service. */
import { agentWalletPath } from '../../client/agent-wallet.ts'
import { readJson } from '../../client/read-json.ts'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { toOneLine } from '../../core/encoding/one-line.ts'
import { parseDecimal } from '../../core/money/money.ts'
import { isTokenCode } from '../../core/money/tokens.ts'
import { findLocalnets } from '../../host/home.ts'
import { runningLocalnet } from '../network.ts'
import { CommandError, type ExitCode, type Terminal, usage } from '../output.ts'
import { openWallet, readToken, readUrl } from '../payment-options.ts'
import type { Flags } from '../run.ts'

type FaucetOptions = Flags<'token' | 'amount' | 'url'>

export async function faucet(terminal: Terminal, given: string | undefined, options: FaucetOptions): Promise<ExitCode> {
  if (options.amount !== undefined && options.token === undefined) throw usage('--amount needs --token.')
  const address = given ?? (await openWallet(agentWalletPath(), true)).address
  if (decodeAddress(address) === undefined) throw usage(`"${address}" is not a Solana address.`)
  const order = {
    address,
    ...(options.token && { token: readToken(options.token) }),
    ...(options.amount && { amount: options.amount }),
  }
  const urls = options.url === undefined ? faucetsOfMachine() : [readUrl(options.url).toString()]
  const filled = await Promise.all(urls.map((url) => fill(url, order)))
  const lines = filled.map(({ faucetUrl, amounts }) => {
    const parts = Object.entries(amounts).map(([token, amount]) => `${amount} ${token}`)
    return `${address} received ${parts.join(', ')} from ${faucetUrl}.`
  })
  return terminal.result({ ok: true, address, filled }, lines)
}

/** Returns all localnets, so that the user need not know which of them a server uses. */
function faucetsOfMachine(): readonly string[] {
  runningLocalnet()
  return findLocalnets().map(({ rpcUrl }) => `${rpcUrl}/faucet`)
}

interface Filled {
  readonly faucetUrl: string
  readonly amounts: Readonly<Record<string, string>>
  readonly signatures?: unknown
}

/** A faucet waits until its payment has landed. */
const patienceMs = 60_000

async function fill(faucetUrl: string, order: object): Promise<Filled> {
  const signal = AbortSignal.timeout(patienceMs)
  const response = await fetch(faucetUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(order),
    signal,
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error
    const message = `The faucet ${faucetUrl} did not answer within ${patienceMs / 1000} seconds. Try again.`
    throw new CommandError('unreachable', 'unreachable', message)
  })
  const answer = await readJson(response, patienceMs)
  await response.body?.cancel()
  const { amounts, signatures, error } = isFields(answer) ? answer : {}
  if (response.ok && isAmounts(amounts)) return { faucetUrl, amounts, signatures }
  const status = response.ok ? 'its answer is not that of a faucet' : `status ${response.status}`
  const why = typeof error === 'string' ? toOneLine(error).replace(/\.$/, '') : status
  throw new CommandError('refused', 'faucet_refused', `The faucet ${faucetUrl} refused: ${why}.`)
}

function isAmounts(value: unknown): value is Filled['amounts'] {
  const isAmount = ([token, amount]: readonly [string, unknown]) =>
    isTokenCode(token) && typeof amount === 'string' && parseDecimal(amount, 18) !== undefined
  return isFields(value) && Object.entries(value).every(isAmount)
}
