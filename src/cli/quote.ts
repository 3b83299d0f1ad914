/** `paystile quote`: what a resource costs, and whether your limits would allow it. */

import { PaymentError } from '../client/errors.ts'
import { candidatesOf, checkChallenge } from '../client/policy.ts'
import { readChallenge } from '../core/challenge.ts'
import { createWallClock } from '../host/clock.ts'
import { type ExitCode, paint, type Terminal, table } from './output.ts'
import { type BuyerOptions, readLimits, readRequest, readUrl } from './purse.ts'

export async function quote(terminal: Terminal, address: string, options: BuyerOptions): Promise<ExitCode> {
  const url = readUrl(address)
  const limits = readLimits(options)
  const response = await fetch(url, readRequest(options))
  const challenge = response.status === 402 ? readChallenge(await response.json().catch(() => undefined)) : undefined
  if (!challenge) {
    await response.body?.cancel()
    const words = response.status === 402 ? 'It wants to be paid in a way this version does not know.' : 'It is free.'
    return terminal.result({ ok: true, status: response.status, challenge: null }, [`${response.status}: ${words}`])
  }
  const objection = objectionTo(() => {
    const network = checkChallenge(challenge, url, limits, createWallClock().now())
    candidatesOf(challenge, network, limits)
  })
  const amounts = challenge.amounts ?? { [challenge.currency]: challenge.amount }
  const rows = [
    [
      'Price',
      Object.entries(amounts)
        .map(([token, amount]) => `${amount} ${token}`)
        .join('  or  '),
    ],
    ...(challenge.description === undefined ? [] : [['For', challenge.description]]),
    ['Pay to', challenge.recipient],
    ['Network', challenge.network ?? 'not said'],
    ['Until', challenge.expiresAt ?? 'not said'],
    ['requestId', challenge.requestId],
    ['Limits', objection?.message ?? 'allow it'],
  ]
  return terminal.result(
    { ok: true, status: 402, challenge, allowed: objection === undefined, objection: objection?.message },
    [`${paint.yellow('402')} ${url.href}`, ...table(rows), '', `Pay it with: npx paystile pay ${url.href}`],
  )
}

function objectionTo(check: () => void): PaymentError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof PaymentError) return error
    throw error
  }
}
