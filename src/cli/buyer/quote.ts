/** `paystile quote`: the price of a resource, and whether the limits allow it. */
import { PaymentError } from '../../client/errors.ts'
import { checkChallenge, listCandidates } from '../../client/policy.ts'
import { readOffered } from '../../core/payment/allowance.ts'
import { createWallClock } from '../../host/clock.ts'
import { boughtText } from '../allowance-text.ts'
import { readWhole } from '../numbers.ts'
import { type ExitCode, exitCodes, paint, type Terminal, table } from '../output.ts'
import { nameFlags } from '../payment-errors.ts'
import { type BuyerOptions, readLimits, readRequest, readUrl } from '../payment-options.ts'
import { ask, unknownPayment } from './unpaid-request.ts'

export async function quote(terminal: Terminal, address: string, options: BuyerOptions): Promise<ExitCode> {
  const url = readUrl(address)
  const limits = readLimits(options)
  const seconds = readWhole('--timeout', options.timeout, 1, 3600) ?? 60
  const { response, challenge } = await ask(url, readRequest(options), seconds * 1000)
  await response.body?.cancel()
  if (!challenge) {
    const { status } = response
    const words = status === 402 ? unknownPayment : status < 400 ? 'it is free' : 'it requires no payment'
    terminal.result({ ok: status < 400, status, challenge: null }, [`${status}: ${words}.`])
    return status < 400 ? exitCodes.ok : exitCodes.status
  }
  const objection = objectionTo(() => {
    const network = checkChallenge(challenge, url, limits, createWallClock().now())
    listCandidates(challenge, network, limits)
  })
  const amounts = challenge.amounts ?? { [challenge.currency]: challenge.amount }
  const bought = readOffered(challenge.allowance)
  const rows = [
    [
      'Price',
      Object.entries(amounts)
        .map(([token, amount]) => `${amount} ${token}`)
        .join('  or  '),
    ],
    ...(bought ? [['Buys', boughtText(bought)]] : []),
    ...(challenge.description === undefined ? [] : [['For', challenge.description]]),
    ['Pay to', challenge.recipient],
    ['Network', challenge.network ?? 'unknown'],
    ['Until', challenge.expiresAt ?? 'unknown'],
    ['requestId', challenge.requestId],
    ['Limits', objection ?? 'allow it'],
  ]
  return terminal.result({ ok: true, status: 402, challenge, allowed: objection === undefined, objection }, [
    `${paint.yellow('402')} ${url.href}`,
    ...table(rows),
    '',
    `Pay it with: npx paystile pay ${url.href}`,
  ])
}

function objectionTo(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof PaymentError) return nameFlags(error.message)
    throw error
  }
}
