/** The judge of the torture: it must see every double, and must not cry wolf. */
import { describe, expect, it } from 'vitest'
import { type Evidence, judgePayment, type Send, type State } from './audit.mjs'

const leaseMs = 2_000

/** A row after a grant at that time, with what is held then. */
const grant = (at: number, fence: number, others: State['leases'] = [], used = 0): State => ({
  at,
  version: fence,
  fence,
  used,
  amount: 1,
  leases: [...others, { fence, amount: 1, deadline: at + leaseMs }],
})
const settle = (at: number, { fence, version = 0 }: State): State => ({
  at,
  version: version + 1,
  fence,
  used: 1,
  amount: 1,
  leases: [],
})
const send = (server: number, first: number, last?: number, diedAt?: number): Send => ({ server, first, last, diedAt })
const judge = (history: State[], sends: Send[], outages: Evidence['outages'] = []) =>
  judgePayment({ history, sends, outages, leaseMs })

const [one, two] = [grant(0, 1), grant(2_100, 2)]

describe('nothing is wrong with a payment', () => {
  it.each<[string, State[], Send[], Evidence['outages']?]>([
    ['that was delivered and settled', [one, settle(20, one)], [send(1, 5, 10)]],
    ['that nobody claimed', [], []],
    ['whose grant was committed and never heard of', [one, two, settle(2_120, two)], [send(1, 2_110, 2_115)]],
    ['whose server died half-way', [one, two, settle(2_130, two)], [send(1, 5, undefined, 50), send(2, 2_110, 2_120)]],
    [
      'whose server died between the last byte and the settle',
      [one, two, settle(2_130, two)],
      [send(1, 5, 10, 12), send(2, 2_110, 2_120)],
    ],
    [
      'whose settle found no database',
      [one, two, settle(2_130, two)],
      [send(1, 5, 10), send(2, 2_110, 2_120)],
      [{ from: 8, to: 2_050 }],
    ],
  ])('%s', (_name, history, sends, outages) => {
    expect(judge(history, sends, outages)).toEqual({ doubles: [], losses: [] })
  })
})

describe('a double is', () => {
  it.each<[string, State[], Send[], RegExp]>([
    [
      'a delivery after the settle was committed',
      [one, settle(20, one), { ...grant(30, 2, [], 1), version: 3 }],
      [send(1, 5, 10), send(2, 35, 40)],
      /after the settle was committed/,
    ],
    [
      'a grant beside a live lease',
      [one, grant(30, 2, one.leases)],
      [send(1, 5), send(2, 35)],
      /while another lease was live/,
    ],
    [
      'a grant that pushes a live lease aside',
      [one, grant(30, 2)],
      [send(1, 5), send(2, 35)],
      /while another lease was live/,
    ],
    [
      'a row written over one that was not checked',
      [one, grant(3, 1)],
      [send(1, 5, 6)],
      /version 1 was written over version 1/,
    ],
    ['two that send under one grant', [one], [send(1, 5, 6), send(2, 9)], /under a grant that another one had/],
    [
      'two that send under one grant, after somebody died with another',
      [one, two, settle(2_130, two)],
      [send(2, 2_110, 2_120), send(3, 2_111, 2_119)],
      /under a grant that another one had/,
    ],
    [
      'a delivery again although nothing kept the first from being settled',
      [one, two, settle(2_130, two)],
      [send(1, 5, 10, 1_500), send(2, 2_110, 2_120)],
      /had delivered everything, and it was delivered again/,
    ],
  ])('%s', (_name, history, sends, why) => {
    expect(judge(history, sends).doubles).toContainEqual(expect.stringMatching(why))
  })
})

describe('a loss is', () => {
  it('a delivery that the ledger knows nothing of', () => {
    expect(judge([], [send(1, 5, 10)]).losses).toEqual([expect.stringMatching(/does not know/)])
  })

  it('a grant that is gone, with bytes sent long after the one that is left', () => {
    expect(judge([one], [send(1, 5), send(2, 2_110)]).losses).toEqual([expect.stringMatching(/does not know/)])
  })

  it('a settle that is taken back', () => {
    const history = [one, settle(20, one), { ...one, version: 3, at: 30 }]
    expect(judge(history, [send(1, 5, 10)]).losses).toEqual([expect.stringMatching(/took back/)])
  })
})
