/** Answers of a service with some history, given in its place: every part of them that a screen shows. */
import type { Page, Route } from 'playwright-core'
import { alertKinds } from '../../src/api/screens/status.ts'
import { outgoingAnswers, refundAnswer } from './contract-outgoing.ts'

const hourMs = 3_600_000

type Answers = Readonly<Record<string, (query: URLSearchParams) => unknown>>

/** `name` stands wherever somebody else's text may stand. */
export async function contractAnswers(page: Page, name?: string): Promise<void> {
  const answers = createAnswers(name)
  await page.route(
    (url) => answers[url.pathname] !== undefined,
    (route: Route) => {
      const { pathname, searchParams } = new URL(route.request().url())
      return route.fulfill({ json: answers[pathname]?.(searchParams) })
    },
  )
}

/** One of these answers, for a test that changes it. */
export function readContract<Answer = Readonly<Record<string, unknown>>>(path: string): Answer {
  return createAnswers()[path]?.(new URLSearchParams()) as Answer
}

function createAnswers(name = '/api/weather'): Answers {
  const at = new Date(Math.floor(Date.now() / hourMs) * hourMs).toISOString()
  const record = {
    id: 'r1',
    timestamp: at,
    requestId: name,
    payer: name,
    endpoint: name,
    token: 'USDC',
    amount: '0.25',
    worth: '0.25',
    revenueToken: 'USDC',
    status: 'Verified',
    verification: 'confirmed',
    state: 'finalized',
    problem: '',
    delivery: 'all',
    recipient: name,
    splits: `0.03 ${name}; 0.02 ${name}/2`,
    collected: '',
    shared: '0.42',
    refundedAt: at,
    refunded: '0.05',
    revenue: '0.2',
  }
  const lateRecord = { ...record, id: 'r2', status: 'Expired', state: 'late', problem: 'late', delivery: 'none' }
  const records = [record, { ...lateRecord, token: 'SOL', amount: '0.000006667', refunded: '0.000006667' }]
  const usage = {
    endpoint: name,
    calls: 9,
    payments: 4,
    challenged: 8,
    free: 0,
    refused: 0,
    reused: 0,
    delivered: 8,
    undelivered: 1,
  }
  const made = { gross: '100', refunded: '11.8' }
  const net = { revenue: '88.2', ...made }
  const received = { NATIVE: '0', USDC: '100', SOL: '0' }
  const sentBack = { NATIVE: '0', USDC: '11.8', SOL: '0' }
  const totals = { totalRevenue: '88.2', ...made, payments: 4, funnel: { challenged: 8, paid: 4, delivered: 3 } }
  const base = { revenueToken: 'USDC', from: null, to: null }
  const amounts = { received: '100', sentBack: '11.8' }
  const tokenLine = { token: 'USDC', payments: 4, ...amounts, ...net, unvalued: 0, share: '1' }
  const counts = { underpaid: 3, late: 1, surplus: 0, undelivered: 2, unmatched: 0, unclaimed: 0, reverted: 0 }
  const underpaid = {
    ...record,
    kind: 'underpaid',
    required: '0.3',
    received: '0.25',
    tx: name,
    note: name,
    next: name,
    refundable: { token: 'USDC', amount: '0.25', reason: 'underpaid' },
  }
  const { payment: _payment, ...refund } = refundAnswer(name, at)
  const late = { ...record, id: 'r2', kind: 'late', received: '0.25', note: name, next: name, refund }
  const type = 'payment.confirmed'
  const delivery = { type, receiver: 'receiver', address: name, at, attempts: 2, why: name }
  const [earlier, after] = [-hourMs, hourMs].map((ms) => new Date(Date.parse(at) + ms).toISOString())
  const summary = {
    ...totals,
    currencyBreakdown: received,
    revenueToken: 'USDC',
    topEndpoints: [{ path: name, calls: 9, payments: 4, ...net }],
    unvalued: 1,
    pending: 0,
    unclaimed: 0,
    previous: { ...totals, totalRevenue: '100' },
  }
  const chart = {
    step: 'hour',
    points: [{ at, payments: 4, ...net }],
    before: {
      from: earlier,
      to: at,
      points: [{ at: earlier, payments: 2, revenue: '50', gross: '50', refunded: '0' }],
    },
  }
  const drilled = { revenueToken: 'USDC', from: at, to: after, payments: 4, ...net }
  const offer = {
    methods: ['GET'],
    path: name,
    price: '0.25',
    token: 'USDC',
    per: { unit: 'request', amount: 1 },
    reopenSeconds: 600,
    acceptedMints: ['USDC', 'SOL'],
    recipient: name,
    scope: name,
  }
  const uses = { challenged: 8, free: 5, refused: 2, reused: 1, delivered: 8, undelivered: 1 }
  return {
    ...outgoingAnswers(name, at),
    '/api/analytics/overview': () => ({
      summary: { ...summary, from: at, to: after },
      ...chart,
      tokens: [tokenLine],
      records,
      status: statusAnswer(counts, name),
      setup: { hasPayments: true, hasOwners: false, hasWebhooks: false, isLive: false, frontPage: '/' },
    }),
    '/api/webhooks': () => ({
      receivers: [{ name: 'receiver', address: name, events: ['payment.confirmed', 'payment.finalized'] }],
      deliveries: (['waiting', 'delivered', 'failed'] as const).map((state) => ({
        ...delivery,
        id: `msg-${state}`,
        state,
      })),
    }),
    '/api/webhooks/msg-failed': () => ({ ...delivery, id: 'msg-failed', state: 'failed', body: `{"type":"${type}"}` }),
    '/api/service': () => ({
      routes: [{ ...offer, isSelling: false, why: name }],
      nodes: [
        { name: 'node 1', isReachable: true, slot: 1_000, lag: 40, latencyMs: 12, why: '' },
        { name: 'node 2', isReachable: false, slot: null, lag: null, latencyMs: 2_000, why: name },
      ],
      upstreams: [
        { origin: 'http://127.0.0.1:3000', routes: [name], isUp: true, why: '' },
        { origin: 'http://127.0.0.1:3001', routes: [name], isUp: false, why: name },
      ],
      prices: {
        file: {
          file: 'paystile.yaml',
          version: 'v1',
          routes: [
            { route: 0, name, price: '0.01', token: 'USDC', why: '' },
            { route: 1, name, price: '0.02', token: 'USDC', why: 'comes from the environment; change it there' },
          ],
          why: '',
        },
        changes: [{ at, wallet: name, name, before: '0.01', after: '0.02' }],
      },
      owners: { wallets: [name], isSet: true },
      versions: { paystile: '1.2.3', node: '20.19.0', ledger: 'sqlite', schema: 9 },
      status: statusAnswer(counts, name),
    }),
    '/api/refusals': () => ({
      since: at,
      codes: ['underpaid'],
      refusals: [
        {
          code: 'underpaid',
          reason: name,
          isRetryable: true,
          endpoint: name,
          payer: name,
          first: at,
          last: at,
          count: 3,
        },
      ],
    }),
    '/api/status': () => statusAnswer(counts, name),
    '/analytics': () => ({
      ...base,
      records,
      next: null,
      usage: [usage],
      revenue: [{ endpoint: name, payments: 4, ...net, unvalued: 0, received, sentBack }],
      tokens: [tokenLine],
      totals: {
        payments: 1,
        unaccepted: 1,
        notOnChain: 0,
        isCut: false,
        worth: '0.25',
        refunded: '0.05',
        unvalued: 0,
        received,
      },
      names: { endpoints: [name], tokens: ['USDC', 'SOL'] },
    }),
    '/api/analytics/endpoint': () => ({
      endpoint: name,
      offers: [offer],
      summary: { ...drilled, usage: uses, previous: { payments: 2, ...net, usage: uses } },
      ...chart,
      tokens: [tokenLine],
      records,
    }),
    '/api/analytics/payer': () => ({
      payer: name,
      first: at,
      last: at,
      summary: { ...drilled, previous: { payments: 2, ...net } },
      ...chart,
      step: 'day',
      tokens: [tokenLine],
      records,
    }),
    '/analytics/payers': () => ({
      ...base,
      payers: [{ payer: name, payments: 4, ...net, received, sentBack, first: at, last: at }],
      next: null,
    }),
    '/analytics/problems': (query) => ({
      counts,
      records: [underpaid, late].filter(({ kind }) => (query.get('kind') ?? kind) === kind),
      next: null,
    }),
    '/analytics/r1': () => ({
      ...record,
      tx: name,
      checks: { exists: 'passed', recipient: 'passed', amount: 'failed', memo: 'passed', unused: 'unchecked' },
      required: '0.3',
      timeline: [
        { at, event: 'paid' },
        { at: null, event: 'delivered', note: name },
        { at, event: 'shared', amount: '0.42', token: 'NATIVE' },
        { at, event: 'refunding', amount: '0.05', token: 'USDC' },
        { at, event: 'refunded', amount: '0.05', token: 'USDC', tx: name, note: name },
      ],
      canRefund: true,
      refundable: [],
      notRefundable: '',
      refundableFrom: null,
      refund,
      usableUntil: at,
      allowance: { unit: 'request', amount: '10' },
      remaining: '3',
    }),
  }
}

function statusAnswer(problems: Readonly<Record<string, number>>, detail: string) {
  return { alerts: alertKinds.map((kind) => ({ kind, detail })), problems }
}
