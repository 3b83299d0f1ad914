/** The list of payments as a service with problems of every kind answers it. */
import type { Page } from 'playwright-core'
import { contractAnswers } from './contract.ts'

export type Answer = Readonly<Record<string, unknown>>

export const verified = {
  id: 'good',
  timestamp: '2026-01-31T12:00:00.000Z',
  requestId: 'request',
  payer: 'a-long-pseudonym-of-a-payer',
  endpoint: '/api/weather',
  token: 'USDC',
  amount: '0.02',
  worth: '0.02',
  revenueToken: 'USDC',
  status: 'Verified',
  verification: 'confirmed',
  state: 'finalized',
  problem: '',
  delivery: 'all',
  recipient: 'recipient',
  splits: '',
  collected: '',
  shared: '',
  refundedAt: '',
  refunded: '',
  revenue: '0.02',
}
export const open = { status: 'Pending', verification: 'pending', state: 'unclaimed', worth: '', delivery: 'none' }
export const invented = { ...verified, ...open, id: 'invented', amount: '', problem: 'not_on_chain', payer: '' }
export const records = [
  invented,
  { ...verified, ...open, id: 'short', amount: '0.008', problem: 'underpaid' },
  { ...verified, ...open, id: 'late', problem: 'late' },
  { ...verified, ...open, id: 'much', amount: '0.06', problem: 'surplus' },
  { ...verified, ...open, id: 'waiting' },
  { ...verified, id: 'part', refunded: '0.01' },
  { ...verified, id: 'sol', token: 'SOL', amount: '0.000133', worth: '' },
  verified,
]
export const received = { NATIVE: '0', USDC: '0.693', SOL: '0' }
export const totals = { payments: 89, unaccepted: 6, notOnChain: 1, isCut: false, worth: '0.693', refunded: '0.02' }
export const list = {
  revenueToken: 'USDC',
  records,
  next: null,
  totals: { ...totals, unvalued: 0, received },
  names: { endpoints: ['/api/weather'], tokens: ['NATIVE', 'USDC', 'SOL'] },
}

/** The answer of the service to each query of the list. */
export const answering = (
  answer: (query: URLSearchParams) => Answer,
  details: Readonly<Record<string, Answer>> = {},
) => {
  return async (page: Page) => {
    await contractAnswers(page)
    await page.route(
      (url) => url.pathname.startsWith('/analytics'),
      (route) => {
        const { pathname, searchParams } = new URL(route.request().url())
        const detail = details[pathname.slice('/analytics/'.length)]
        if (pathname === '/analytics') return route.fulfill({ json: answer(searchParams) })
        return detail ? route.fulfill({ json: detail }) : route.fallback()
      },
    )
  }
}

const unchecked = {
  exists: 'unchecked',
  recipient: 'unchecked',
  amount: 'unchecked',
  memo: 'unchecked',
  unused: 'unchecked',
}
export const detail = {
  checks: unchecked,
  timeline: [],
  required: '0.02',
  usableUntil: null,
  allowance: null,
  remaining: null,
  canRefund: true,
  refundable: [],
  notRefundable: 'no',
}
