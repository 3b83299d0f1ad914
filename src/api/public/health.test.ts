import { describe, expect, it } from 'vitest'
import type { ReadinessReport } from '../../paywall/runtime/catalog.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { createHealth } from './health.ts'

type Route = readonly [path: string, report: Partial<ReadinessReport>]

/** The health of a service with these routes. */
function open(routes: readonly Route[], clockWrong?: string) {
  const reports = routes.map(([, report]) => ({ ready: true, offered: ['USDC'], withheld: {}, ...report }))
  const service = {
    clock: { monotonic: () => 0 },
    clockCheck: { why: () => clockWrong },
    ledger: { peek: async () => undefined },
    catalog: {
      readiness: async () => reports,
      entries: () => routes.map(([path]) => ({ methods: ['GET', 'POST'], path })),
    },
  }
  return createHealth(service as unknown as Runtime)
}

const noNode = { ready: false, why: 'no node answers' }

describe('routes that cannot sell', () => {
  it('are named beside their reason, one line for each', async () => {
    const health = open([
      ['/a', noNode],
      ['/b', {}],
      ['/c', noNode],
      ['/d', { ready: false, why: 'the recipient cannot receive USDC' }],
      ['/e', { ready: false, isPaused: true, why: 'the upstream is down' }],
    ])
    const { faults, paused } = await health.look()
    expect(faults).toEqual([
      { code: 'not_selling', reason: 'no node answers', routes: ['GET, POST /a', 'GET, POST /c'] },
      { code: 'not_selling', reason: 'the recipient cannot receive USDC', routes: ['GET, POST /d'] },
    ])
    expect(paused).toEqual([{ code: 'resource_unavailable', reason: 'the upstream is down', routes: ['GET, POST /e'] }])
  })

  it('are not listed while the clock is wrong, which is the reason for all', async () => {
    const { faults } = await open([['/a', noNode]], 'it is an hour ahead').look()
    expect(faults).toEqual([{ code: 'clock_wrong', reason: 'it is an hour ahead' }])
  })
})
