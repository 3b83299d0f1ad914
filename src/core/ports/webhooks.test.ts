import { describe, expect, it } from 'vitest'
import { formatReceiver, formatWebhook, isWebhookSecret, nameWebhook, retryDelay } from './webhooks.ts'

describe('retries', () => {
  const delayOf = (attempts: number, chance = 0, retryAfterMs?: number) =>
    retryDelay({ attempts, chance, retryAfterMs })

  it('follow the schedule of the specification, and end with its last line', () => {
    const seconds = Array.from({ length: 10 }, (_, attempts) => (delayOf(attempts) ?? Number.NaN) / 1000)
    const hours = [2, 5, 10, 14, 20, 24].map((hour) => hour * 3600)
    expect(seconds).toEqual([5, 300, 1800, ...hours, Number.NaN])
  })

  it('are delayed by up to a fifth more, so that failed messages do not return together', () => {
    expect(delayOf(1, 0.5)).toBe(330_000)
    expect(delayOf(1, 1)).toBe(360_000)
  })

  it('wait for as long as the other side asks, and at most a day', () => {
    expect(delayOf(0, 0, 90_000)).toBe(90_000)
    expect(delayOf(2, 0, 90_000)).toBe(1_800_000)
    expect(delayOf(0, 0, 1e12)).toBe(86_400_000)
    expect(delayOf(9, 0, 1_000)).toBeUndefined()
  })
})

it('a message contains the event and its time, in the order of the specification', () => {
  expect(formatWebhook({ id: 'n1', kind: 'payment.finalized', at: 1_700_000_000_000 }, { tx: '5x' })).toEqual({
    id: 'n1',
    body: '{"type":"payment.finalized","timestamp":"2023-11-14T22:13:20.000Z","data":{"tx":"5x"}}',
  })
})

it('a name is the same for the same address, and tells nothing of it', () => {
  const url = 'https://hooks.example.com/services/T0/B0/key'
  expect(nameWebhook(url)).toBe(nameWebhook(url))
  expect(nameWebhook(url)).toMatch(/^[\w-]{8}$/)
  expect(nameWebhook(`${url}2`)).not.toBe(nameWebhook(url))
})

it.each([
  ['https://example.com', 'https://example.com'],
  ['https://example.com/', 'https://example.com'],
  ['https://example.com/hooks/shop', 'https://example.com/hooks/shop'],
  ['https://example.com:8443/a/', 'https://example.com:8443/a/'],
  ['https://example.com/hooks/payment-events', /^https:\/\/example\.com\/hooks\/paym… \([\w-]{8}\)$/],
  ['https://example.com/hook?key=hidden', /^https:\/\/example\.com\/hook \([\w-]{8}\)$/],
  ['https://example.com/?key=hidden', /^https:\/\/example\.com \([\w-]{8}\)$/],
  ['https://user:hidden@example.com/hook#hidden', 'https://example.com/hook'],
])('the receiver %s is shown without the parts that can be a key', (url, shown) => {
  expect(formatReceiver(url)).toEqual(typeof shown === 'string' ? shown : expect.stringMatching(shown))
})

it('receivers that differ in a hidden part are shown differently', () => {
  const shown = ['?key=1', '?key=2', 'long-payments-a', 'long-payments-b'].map((end) =>
    formatReceiver(`https://example.com/${end}`),
  )
  expect(new Set(shown).size).toBe(4)
})

it.each([
  ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', true],
  [`whsec_${btoa('x'.repeat(24))}`, true],
  [`whsec_${btoa('x'.repeat(64))}`, true],
  [`whsec_${btoa('x'.repeat(23))}`, false],
  [`whsec_${btoa('x'.repeat(65))}`, false],
  ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', false],
  ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS', false],
  ['whsec_', false],
  ['whsec_MfKQ9r8GKYqr wjUPD8ILPZIo2LaLaSw', false],
])('%s is a secret: %s', (text, isSecret) => {
  expect(isWebhookSecret(text)).toBe(isSecret)
})
