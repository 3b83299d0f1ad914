/** `paystile quote`: the price of a resource, and whether the limits allow it. */
import { PaymentError } from '../../client/errors.ts'
import { checkChallenge, listCandidates, type PolicyOptions } from '../../client/policy.ts'
import { listPermitted } from '../../client/protocols/choose.ts'
import type { ForeignOffer } from '../../client/protocols/offer.ts'
import { formatUnits } from '../../core/money/money.ts'
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
  const { response, challenge, offers } = await ask(url, readRequest(options), seconds * 1000, limits)
  await response.body?.cancel()
  if (!challenge && offers.length > 0) return quoteForeign(terminal, url, offers, limits)
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
    ['Protocol', 'paystile'],
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

/** The offers of a server that speaks other protocols, in the order in which `pay` tries them. */
function quoteForeign(terminal: Terminal, url: URL, offers: readonly ForeignOffer[], limits: PolicyOptions): ExitCode {
  const question = { url, options: limits, payer: undefined, hasHeader: () => false, now: createWallClock().now() }
  const quoted = offers.map((offer) => {
    const { protocol, network, recipient, asset, units } = offer
    let price = `${units} base units of ${asset}`
    const objection = objectionTo(() => {
      for (const { candidate } of listPermitted([offer], { ...question, requestId: '' }))
        price = `${formatUnits(candidate.units, candidate.decimals)} ${candidate.token}`
    })
    return { protocol, price, recipient, network, allowed: objection === undefined, objection }
  })
  const lines = quoted.flatMap(({ protocol, price, recipient, network, objection }) => [
    ...table([
      ['Price', price],
      ['Pay to', recipient],
      ['Network', network],
      ['Protocol', protocol],
      ['Limits', objection ?? 'allow it'],
    ]),
    '',
  ])
  return terminal.result({ ok: true, status: 402, challenge: null, offers: quoted }, [
    `${paint.yellow('402')} ${url.href}`,
    ...lines,
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
