import { describe, expect, it } from 'vitest'
import { en } from '../../core/checkout/languages/en.ts'
import type { CheckoutFacts, CheckoutState } from '../../core/checkout/messages.ts'
import { createMessages } from './messages.ts'
import { isEnded, isIdle, isOffered, type PageState, tell } from './page-state.ts'

const facts = {
  network: 'devnet',
  isAgain: false,
  after: 'reload',
  texts: en.checkout,
  locale: 'en-US',
} as unknown as CheckoutFacts
const words = createMessages(facts)
const calm: PageState = { standing: { state: 'waiting' }, isDown: false, isKept: true, isOver: false }
const told = (part: Partial<PageState>, at = 0) => tell({ ...calm, ...part }, facts, words, at)
const busy = { notice: words.preparing, isBusy: true }
const done = { notice: words.declined, isBusy: false }
const sent = { tx: 'signature', at: 0 }
const confirming: CheckoutState = { state: 'confirming', tx: 'seen' }

describe('the shown state', () => {
  it('nothing at first, then how a payment here goes', () => {
    expect(told({})).toBeUndefined()
    expect(told({ step: busy })).toBe(words.preparing)
    expect(told({ step: done })).toBe(words.declined)
  })

  it('that the service is away, rather than how the last try ended', () => {
    expect(told({ step: done, isDown: true })).toBe(words.down)
    expect(told({ step: busy, isDown: true })).toBe(words.preparing)
    expect(told({ standing: confirming, isDown: true })).toBe(words.down)
  })

  it('a payment from elsewhere is shown, even while a wallet here is asked to sign', () => {
    expect(told({ standing: confirming, step: busy })).toMatchObject({ title: 'Payment detected', tx: 'seen' })
    expect(told({ standing: confirming, step: busy })?.text).toMatch(/Decline the request in your wallet/)
  })

  it('the end of the time as a question, until the service has said that nothing was paid', () => {
    expect(told({ isOver: true })).toBe(words.over)
    expect(told({ isOver: true, standing: { state: 'expired' } })).toMatchObject({ title: 'This price has expired' })
  })

  it('the page waits for a transaction that it sent, even if the service does not know it or the time is over', () => {
    expect(told({ sent })).toEqual({ ...words.confirming, tx: 'signature' })
    expect(told({ sent, isOver: true })).toEqual({ ...words.confirmingOver, tx: 'signature' })
    expect(told({ sent, standing: { state: 'expired' } })).toEqual({ ...words.confirmingOver, tx: 'signature' })
    expect(told({ standing: confirming, isOver: true })?.text).toBe(words.confirmingOver.text)
  })

  it('that the purchase is being opened, and then only the thanks', () => {
    const standing: CheckoutState = { state: 'paid', tx: 'seen' }
    expect(told({ standing, isOpening: true })).toBe(words.opening)
    expect(told({ standing, isOpened: true, hasReceipt: true })).toEqual(words.paid)
  })

  it('that it has not arrived, once it can no longer land', () => {
    expect(told({ sent }, 90_000)).toMatchObject({ title: words.confirming.title })
    expect(told({ sent }, 90_001)).toBe(words.missing)
    expect(told({ sent, standing: confirming }, 90_001)).toMatchObject({ title: words.confirming.title })
    expect(told({ sent, standing: { state: 'late', tx: 'seen' } }, 90_001)).toMatchObject({ title: 'Paid too late' })
  })
})

describe('whether paying is offered', () => {
  it('not once something was sent, was seen or is over', () => {
    expect(isOffered(calm)).toBe(true)
    expect(isOffered({ ...calm, sent })).toBe(false)
    expect(isOffered({ ...calm, standing: confirming })).toBe(false)
    expect(isOffered({ ...calm, standing: { state: 'expired' } })).toBe(false)
    expect(isOffered({ ...calm, isOver: true })).toBe(false)
    expect(isOffered({ ...calm, last: words.paid })).toBe(false)
    expect(isOffered({ ...calm, isKept: false })).toBe(false)
    expect(isOffered({ ...calm, objection: words.unkept('no') })).toBe(false)
  })

  it('again after too little', () => {
    const short: CheckoutState = { state: 'short', tx: 'seen', token: 'USDC', received: '1', required: '2' }
    expect(isOffered({ ...calm, standing: short })).toBe(true)
  })
})

it('it ends when it is paid or used, and goes on after everything else', () => {
  const ends = (standing: CheckoutState) => isEnded({ ...calm, standing })
  expect(ends({ state: 'paid', tx: 'seen' })).toBe(true)
  expect(ends({ state: 'used', tx: 'seen' })).toBe(true)
  expect(ends({ state: 'stranded', tx: 'seen' })).toBe(true)
  expect(ends({ state: 'expired' })).toBe(false)
  expect(ends(confirming)).toBe(false)
})

it.each<[boolean, string, Partial<PageState>]>([
  [true, 'it waits', {}],
  [true, 'a payment was declined', { step: done }],
  [false, 'a wallet is asked to sign', { step: busy }],
  [false, 'a payment was sent', { sent }],
  [false, 'a payment was seen', { standing: confirming }],
  [false, 'it is paid', { standing: { state: 'paid', tx: 'seen' } }],
  [false, 'the browser keeps no cookie', { isKept: false }],
  [false, 'it shows its final message', { last: words.over }],
])('the page is idle (%s), so that it may be reloaded, if %s', (expected, _when, part) => {
  expect(isIdle({ ...calm, ...part })).toBe(expected)
})
