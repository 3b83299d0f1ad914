/**
 * Chaos: every fault of a node, at every moment at which it can strike. Whatever happens, nobody gets in who has not paid,
 * nobody who shows a proof is asked to pay again, nobody who paid is refused for good, and when it is over the same proof
 * works, once. What nobody catches fails the run, as it would end the process.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cells } from '../harness/length.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { type CellParts, isUncontradicted, type Moment, playCell } from './cell.ts'
import { createChainFixture } from './chain-fixture.ts'
import { type Fault, lies, outages } from './faults.ts'

const moments: readonly Moment[] = [
  { title: 'at the first read', nodes: ['faulty'], waitSeconds: 0, paid: 'before' },
  { title: 'when the service starts', nodes: ['faulty'], waitSeconds: 0, paid: 'before', atStart: true },
  { title: 'for longer than a proof waits', nodes: ['faulty'], waitSeconds: 0.3, paid: 'waiting' },
  { title: 'for less than a proof waits', nodes: ['faulty'], waitSeconds: 1, paid: 'healing' },
  { title: 'as the first of two nodes', nodes: ['faulty', 'honest'], waitSeconds: 0, paid: 'before' },
  { title: 'as the second of two nodes', nodes: ['honest', 'faulty'], waitSeconds: 0, paid: 'before' },
  { title: 'as one of two nodes, while a proof waits', nodes: ['faulty', 'honest'], waitSeconds: 0.3, paid: 'waiting' },
  { title: 'as both of two nodes', nodes: ['faulty', 'faulty'], waitSeconds: 0, paid: 'before' },
  {
    title: 'as one of three nodes',
    nodes: ['faulty', 'honest', 'honest'],
    waitSeconds: 0,
    paid: 'before',
    serves: true,
  },
]

function isFair({ lie, otherChain }: Fault, { nodes, atStart, paid }: Moment): boolean {
  // A lie of all nodes that a payment was made is believed: against that there is only a second, honest node.
  if (lie === 'vouches' && !nodes.includes('honest')) return false
  // Which localnet is meant is learnt at the start. And who changes chains to and fro within one look is not found out.
  return !(otherChain && (atStart || paid === 'healing'))
}

function titleOf(fault: Fault, moment: Moment): string {
  const alone = isUncontradicted(fault, moment)
  return `${fault.title}, ${moment.title}${alone ? ' (believed, since no other node is there; only the healing is asserted)' : ''}`
}

const faults = [...outages, ...lies]
type Cell = readonly [title: string, fault: Fault, moment: Moment]
/** Of the short form, `isWhole` has a cell for every fault. */
const cellsOf = (columns: readonly Moment[], isWhole: boolean): readonly Cell[] => {
  const all = columns.flatMap((moment) =>
    faults.filter((fault) => isFair(fault, moment)).map((fault) => [titleOf(fault, moment), fault, moment] as const),
  )
  const chosen = new Set(cells(all, 19))
  const firsts = new Set(faults.map((fault) => all.find((cell) => cell[1] === fault)))
  return all.filter((cell) => chosen.has(cell) || (isWhole && firsts.has(cell)))
}

/** Who watches reads the payments of all cells that run beside it, which takes its time: one node and two, at rest and waiting. */
const watched = [
  'at the first read',
  'for less than a proof waits',
  'as the first of two nodes',
  'as one of two nodes, while a proof waits',
]

let cellParts: Omit<CellParts, 'watch'>
let shop: ShopFixture
let elsewhere: LocalnetFixture

beforeAll(async () => {
  // A payment is signed long before it is sent: on a busy machine its block must not expire meanwhile.
  shop = await createShopFixture({ slotMs: 400 })
  elsewhere = await createLocalnetFixture({ slotMs: 400 })
  const { challenge } = await shop.open()
  const chainFixture = await createChainFixture(shop.world, elsewhere, shop.payer)
  cellParts = { shop, chainFixture, challenge: () => challenge() }
})
afterAll(async () => {
  await shop.close()
  await elsewhere.close()
})

it('has a cell for every fault and for every moment', () => {
  const all = cellsOf(moments, true)
  expect(new Set(all.map(([, fault]) => fault))).toEqual(new Set(faults))
  expect(new Set(all.map(([, , moment]) => moment))).toEqual(new Set(moments))
})

describe.each([
  ['a node whose payments are read when their proofs come', false, moments],
  ['a node whose payments are read as they land', true, moments.filter(({ title }) => watched.includes(title))],
])('%s', (_title, watch, columns) => {
  it.concurrent.each(cellsOf(columns, !watch))('%s', async (_title, fault, moment) =>
    playCell({ ...cellParts, watch }, fault, moment),
  )
})
