import { expect, it } from 'vitest'
import { refuse } from '../../core/payment/refusals.ts'
import { isClientsFault, otherIsOpen } from './submit.ts'

it.each([
  ['too many failures', refuse('rate_limited'), true],
  ['a wrong amount', refuse('underpaid'), true],
  ['an open payment of the same wallet', otherIsOpen, false],
  ['a repetition', refuse('payment_in_progress'), false],
  ['an outage', refuse('chain_unavailable'), false],
])('%s is the fault of the client or not', (_name, refusal, isFault) => {
  expect(isClientsFault(refusal)).toBe(isFault)
})
