import { describe, expect, it } from 'vitest'
import { en } from './languages/en.ts'
import type { CheckoutState } from './messages.ts'
import { describeState, isPayable, sentence } from './texts.ts'

const tx = 'signature'
const states: readonly CheckoutState[] = [
  { state: 'confirming', tx },
  { state: 'paid', tx },
  { state: 'used', tx },
  { state: 'stranded', tx },
  { state: 'short', tx, token: 'USDC', received: '0.004', required: '0.01' },
  { state: 'late', tx },
  { state: 'wrong', tx, why: 'the transaction failed' },
  { state: 'expired' },
]
const wording = { texts: en.checkout, locale: 'en-US' }
const reload = { ...wording, after: 'reload', isAgain: false } as const
const back = { ...wording, after: 'return', isAgain: false } as const

describe('the texts of the checkout page', () => {
  it('every state has words of its own, and names its transaction', () => {
    const notices = states.map((state) => describeState(state, reload))
    expect(new Set(notices.map((notice) => notice?.title)).size).toBe(states.length)
    expect(new Set(notices.map((notice) => notice?.text)).size).toBe(states.length)
    expect(notices.map((notice) => notice?.tx)).toEqual([tx, tx, tx, tx, tx, tx, tx, undefined])
  })

  it('a first payment shows no note, and an earlier purchase is mentioned', () => {
    expect(describeState({ state: 'waiting' }, reload)).toBeUndefined()
    expect(describeState({ state: 'waiting' }, { ...reload, isAgain: true })?.text).toMatch(/has been used/)
  })

  it('too little is said in numbers', () => {
    expect(describeState(states[4] ?? { state: 'waiting' }, reload)?.text).toMatch(
      /0\.004 USDC arrived, but the price is 0\.01 USDC/,
    )
  })

  it('a payment for another program has no link that reloads the page', () => {
    expect(states.map((state) => describeState(state, back)?.action)).toEqual(states.map(() => undefined))
    expect(states.map((state) => describeState(state, reload)?.action)).toEqual([
      undefined,
      'Open your purchase',
      'Reload this page',
      undefined,
      undefined,
      'Get a new price',
      undefined,
      'Get a new price',
    ])
  })

  it('a payment for another program leads back to the seller, if there is an address', () => {
    const returnUrl = 'https://shop.example/thanks'
    const shown = states.map((state) => describeState(state, { ...back, returnUrl })?.href)
    expect(shown.filter((href) => href !== undefined)).toEqual([returnUrl])
    expect(describeState({ state: 'paid', tx: 'x' }, { ...reload, returnUrl })?.href).toBeUndefined()
  })

  it('paying is offered only while it can help, and never beside a payment on its way', () => {
    expect(states.filter(isPayable).map(({ state }) => state)).toEqual(['short', 'wrong'])
    expect(isPayable({ state: 'waiting' })).toBe(true)
  })

  it('a reason becomes a sentence', () => {
    expect(sentence('the transaction failed')).toBe('The transaction failed.')
    expect(sentence('Paid twice!')).toBe('Paid twice!')
  })
})
