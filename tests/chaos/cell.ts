/**
 * One cell of the matrix: a service behind its nodes, of which some have one fault; five proofs, of which one is good.
 *
 * Looked at from outside only: what goes in and comes out by HTTP, and what the nodes are asked. So a service may learn of
 * a payment by whatever way it likes; what it must never do stays the same.
 */
import { expect } from 'vitest'
import { type RefusalCode, refusals } from '../../src/core/payment/refusals.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { Served } from '../harness/adapters.ts'
import type { FakeNode } from '../harness/fake-node.ts'
import { anyAddress, eventually } from '../harness/shop.ts'
import { type ShopFixture, serveNode } from '../harness/shop-fixture.ts'
import { badKinds, type ChainFixture, createPaymentCase, type Kind, type PaymentCase } from './chain-fixture.ts'
import { applyFault, type Illness, idle } from './fault-rules.ts'
import type { Fault } from './faults.ts'

/** When and where the fault strikes: the columns of the matrix. */
export interface Moment {
  readonly title: string
  readonly nodes: readonly ('faulty' | 'honest')[]
  /** How long the service waits for a payment that is not there. */
  readonly waitSeconds: number
  /**
   * `before`: the payments are on chain when their proofs come. `waiting`: the proofs come first, and the fault and the
   * payments while they wait; `healing`: and the fault is over before their wait is.
   */
  readonly paid: 'before' | 'waiting' | 'healing'
  /** The fault is there before the service is. */
  readonly atStart?: true
  /** There are honest nodes enough, so the good payment is served in spite of the fault. */
  readonly serves?: true
}

export interface CellParts {
  readonly shop: ShopFixture
  readonly chainFixture: ChainFixture
  /** From another replica, whose nodes are well. */
  readonly challenge: () => Promise<Challenge>
  /** Whether the service reads payments as they land. */
  readonly watch: boolean
}

/** What a claim brought. */
interface Sight {
  readonly kind: Kind
  readonly status: number
  readonly code: string
  readonly retryable: unknown
}

/** Long beside what it takes, which is a second or two: a machine that is busy must not fail for it. */
const healsWithinMs = 40_000
const kinds: readonly Kind[] = ['good', ...badKinds]

export async function playCell(cellParts: CellParts, fault: Fault, moment: Moment): Promise<void> {
  const { shop, chainFixture, challenge, watch } = cellParts
  const paymentCase = await createPaymentCase(chainFixture, challenge)
  const nodes = await Promise.all(moment.nodes.map(() => shop.fakeNode()))
  const sick = nodes.filter((_node, index) => moment.nodes[index] === 'faulty')
  const activeFault = applyFault(sick, fault, paymentCase)
  if (moment.atStart) activeFault.begin()
  const served = await open(shop, nodes, moment, watch)
  const sights: Sight[] = []
  const claim = async (kind: Kind): Promise<Sight> => {
    const sight = await claimOf(served, kind, paymentCase)
    sights.push(sight)
    return sight
  }
  try {
    // On a busy machine the first start may run out of time, and the next one follows.
    if (!moment.atStart)
      await eventually(
        () => isReady(served),
        (so) => so,
      )
    if (watch && !moment.atStart) await untilWatching(served)
    if (moment.paid === 'before') {
      activeFault.begin()
      await paymentCase.land()
      await Promise.all(kinds.map(claim))
      await claim('good')
      if (moment.serves) await claimUntilServed(sights, claim, fault, moment)
      // Who watches reads the payments of all others, too.
      if (!watch) checkModesty(nodes, moment, sights.length)
    } else {
      await claimTooSoon({ nodes, paymentCase, activeFault, moment, claim })
    }
    const unpaid = await fetch(`${served.url}/data`)
    expect(moment.atStart ? [402, 503] : [402]).toContain(unpaid.status)
    checkLasting(sights, fault, moment)
    expect(activeFault.met()).toBeGreaterThan(0)
    activeFault.end()
    await claimUntilServed(sights, claim, fault, moment)
    await checkOnce(served, paymentCase, claim)
  } finally {
    activeFault.end()
    await served.close()
  }
}

function open(
  { world, log }: ShopFixture,
  nodes: readonly FakeNode[],
  { waitSeconds }: Moment,
  watch: boolean,
): Promise<Served> {
  const { address: recipient } = world.recipient
  const rpc = nodes.map(({ url }) => url)
  const common = { price: 0.01, token: 'USDC', recipient, network: 'localnet', ledger: 'memory:' } as const
  return serveNode({ ...common, rpc, waitSeconds, trustProxy: 1, watch, log }, () => ({ body: 'the secret' }))
}

function isReady(served: Served): Promise<boolean> {
  return served.ready().then(
    () => true,
    () => false,
  )
}

/** The WebSocket tells of payments before anything goes wrong. */
async function untilWatching(served: Served): Promise<void> {
  await eventually(served.metrics, (text) => text.includes('paystile_watcher_current 1'))
}

/** Whatever the answer is, it is the resource or a refusal that the catalogue has: never a new challenge. */
async function claimOf(served: Served, kind: Kind, paymentCase: PaymentCase): Promise<Sight> {
  const { proof } = paymentCase[kind]
  const response = await fetch(`${served.url}/data`, {
    headers: { 'Payment-Proof': proof, 'X-Forwarded-For': anyAddress() },
  })
  const { status, headers } = response
  const text = await response.text()
  if (status === 200) {
    expect(text).toBe('the secret')
    return { kind, status, code: '', retryable: undefined }
  }
  expect([status, text]).not.toEqual([402, expect.anything()])
  expect(headers.get('content-type')).toBe('application/problem+json')
  const { code, retryable, ...more } = JSON.parse(text) as Record<string, unknown>
  const row = refusals[code as RefusalCode]
  expect({ status, retryable, again: headers.has('retry-after') }).toEqual({
    status: row.status,
    retryable: row.retryable,
    again: row.retryable,
  })
  expect(more).not.toHaveProperty('acceptedMints')
  return { kind, status, code: String(code), retryable }
}

interface Wait {
  readonly nodes: readonly FakeNode[]
  readonly paymentCase: PaymentCase
  readonly activeFault: Illness
  readonly moment: Moment
  readonly claim: (kind: Kind) => Promise<Sight>
}

/** The proofs come before their payments; while they wait the nodes fall ill, and only then the payments land. */
async function claimTooSoon({ nodes, paymentCase, activeFault, moment, claim }: Wait): Promise<void> {
  let over = 0
  const claims = kinds.map((kind) => claim(kind).finally(() => (over += 1)))
  const isOver = () => over === kinds.length
  const asked = () => nodes.every((node) => node.asked.filter((method) => !idle.has(method)).length > kinds.length)
  await eventually(
    () => isOver() || asked(),
    (so) => so,
  )
  activeFault.begin()
  await paymentCase.land()
  if (moment.paid === 'healing') {
    await eventually(
      () => isOver() || activeFault.met() > 0,
      (so) => so,
    )
    activeFault.end()
  }
  await Promise.all(claims)
  if (isOver() && activeFault.met() === 0) await claim('good')
}

/** A node that is unwell is not asked more for it. */
function checkModesty(nodes: readonly FakeNode[], { waitSeconds }: Moment, claims: number): void {
  if (waitSeconds > 0) return
  for (const { asked } of nodes) {
    expect(asked.filter((method) => method === 'getTransaction').length).toBeLessThanOrEqual(2 * claims)
  }
}

function checkLasting(sights: readonly Sight[], fault: Fault, moment: Moment): void {
  expect(sights.filter(({ kind, status }) => kind !== 'good' && status === 200)).toEqual([])
  const good = sights.filter(({ kind }) => kind === 'good')
  const granted = good.findIndex(({ status }) => status === 200)
  const after = granted < 0 ? [] : good.slice(granted + 1)
  expect(after.filter(({ status }) => status !== 409)).toEqual([])
  const before = granted < 0 ? good : good.slice(0, granted)
  if (!isUncontradicted(fault, moment)) expect(before.filter(({ retryable }) => retryable !== true)).toEqual([])
}

/** Who paid is refused for good by the word of nodes that nobody contradicts: this cannot be helped while it lasts. */
export function isUncontradicted({ lie }: Fault, { nodes }: Moment): boolean {
  return lie === 'denies' && !nodes.includes('honest')
}

/** The good payment is served, if it was not yet, within the time that is promised. */
async function claimUntilServed(sights: readonly Sight[], claim: Wait['claim'], fault: Fault, moment: Moment) {
  const start = performance.now()
  while (!sights.some(({ kind, status }) => kind === 'good' && status === 200)) {
    const { status, retryable } = await claim('good')
    if (status === 200) return
    if (performance.now() - start > healsWithinMs) {
      throw new Error(`not served after ${sights.length} claims; the last: ${codesOf(sights.slice(-5))}`)
    }
    // An answer that was on its way when the fault ended may come after it.
    if (!isUncontradicted(fault, moment)) expect(retryable).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 40))
  }
}

function codesOf(sights: readonly Sight[]): string {
  return sights.map(({ code }) => code).join(', ')
}

/** The good payment is not served again; the others are refused for what they are. */
async function checkOnce(served: Served, paymentCase: PaymentCase, claim: Wait['claim']): Promise<void> {
  expect(await claim('good')).toMatchObject({ status: 409 })
  const told = { failed: 'tx_failed', short: 'underpaid', unsent: 'tx_not_found', foreign: 'tx_not_found' } as const
  const settle = async (kind: (typeof badKinds)[number]) => {
    const { status, code } = await eventually(
      () => claim(kind),
      (sight) => sight.status === 200 || sight.code === told[kind],
    )
    expect([status, code]).toEqual([403, told[kind]])
  }
  await Promise.all(badKinds.map(settle))
  // On a busy machine, a node may be passed over for a moment after its fault.
  const decoy = await eventually(
    () => fetch(`${served.url}/data`, { headers: { 'Payment-Proof': paymentCase.decoy.proof } }),
    ({ status }) => status !== 503,
  )
  expect([decoy.status, await decoy.text()]).toEqual([200, 'the secret'])
}
