import { describe, expect, it } from 'vitest'
import { type Grant, type Ledger, LedgerUnavailable } from '../../core/ports/ledger.ts'
import { createByteQuota, createFileQuota } from './byte-quota.ts'

const grant = (amount: bigint): Grant => ({ tx: new Uint8Array(64), fence: 1n, amount, from: 0n })
const log = { info: () => {}, warn: () => {}, error: () => {} }

/** A ledger that has so much more to give, and remembers what it was told. */
function gaugeOver(
  first: bigint,
  total: bigint,
  answers: (bigint | undefined | Error)[] = [],
  { allowance = 1n << 40n, length }: { readonly allowance?: bigint; readonly length?: number } = {},
) {
  const told: { readonly used: bigint; readonly more: bigint }[] = []
  const lost: string[] = []
  const advance: Ledger['advance'] = async (_grant, used, more) => {
    told.push({ used, more })
    if (answers.length > 0) {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer
    }
    const left = total - used
    return more < left ? more : left
  }
  const quota = createByteQuota({
    grant: grant(first),
    allowance,
    length,
    ledger: { advance } as Ledger,
    log,
    isAlive: () => lost.length === 0,
    lose: (why) => void lost.push(why),
  })
  return { quota, told, lost }
}

describe('of a file', () => {
  it('allows the amount of the grant, and no more', async () => {
    const quota = createFileQuota(10n)
    expect([quota.take(4), quota.take(4), quota.take(4), quota.take(4)]).toEqual([4, 4, 2, 0])
    expect(quota.sent()).toBe(10)
    expect(await quota.more()).toBe(false)
  })
})

describe('of bytes', () => {
  it('fetches the next slice, a larger one, before the last is used up', async () => {
    const { quota, told } = gaugeOver(100n, 10_000n)
    expect(quota.take(40)).toBe(40)
    expect(told).toEqual([])
    expect(quota.take(20)).toBe(20)
    expect(told).toEqual([{ used: 60n, more: 440n }])
    expect(await quota.more()).toBe(true)
    expect(quota.take(1_000)).toBe(440)
  })

  it('holds no more than the known length of the body', async () => {
    const { quota, told } = gaugeOver(100n, 10_000n, [], { length: 130 })
    quota.take(80)
    expect(await quota.more()).toBe(true)
    await new Promise((resolve) => setTimeout(resolve))
    expect([told, quota.take(80)]).toEqual([[{ used: 80n, more: 50n }], 50])
    expect(told).toHaveLength(1)
  })

  it('holds at most a sixteenth of the allowance ahead, so that parallel responses can share it', async () => {
    const { quota, told } = gaugeOver(10_000n, 160_000n, [], { allowance: 160_000n })
    quota.take(6_000)
    expect(told).toEqual([{ used: 6_000n, more: 14_000n }])
  })

  it('says when there is no more, having given all of it', async () => {
    const { quota } = gaugeOver(100n, 250n)
    let sum = 0
    do sum += quota.take(30)
    while (quota.sent() < 100 || (await quota.more()))
    expect([sum, quota.sent()]).toEqual([250, 250])
    expect(quota.take(1)).toBe(0)
    expect(await quota.more()).toBe(false)
  })

  it('asks again at the end, because other responses may have returned unused bytes', async () => {
    const { quota, told } = gaugeOver(10n, 30n, [4n, 20n])
    quota.take(6)
    expect(await quota.more()).toBe(true)
    await new Promise((resolve) => setTimeout(resolve))
    expect([told, quota.take(10)]).toEqual([[{ used: 6n, more: 44n }], 4])
    expect(await quota.more()).toBe(true)
    expect(quota.take(100)).toBe(20)
  })

  it('allows no bytes beyond the held slice while it waits', () => {
    const { quota } = gaugeOver(100n, 1_000n)
    expect([quota.take(90), quota.take(90), quota.take(90)]).toEqual([90, 10, 0])
  })

  it('asks again where the ledger does not answer', async () => {
    const { quota, told } = gaugeOver(10n, 30n, [new LedgerUnavailable('down'), new LedgerUnavailable('down')])
    quota.take(10)
    expect(await quota.more()).toBe(true)
    expect(told).toHaveLength(3)
    expect(quota.take(100)).toBe(20)
  })

  it('ends when another request has the lease', async () => {
    const { quota, lost } = gaugeOver(10n, 30n, [undefined])
    quota.take(10)
    expect(await quota.more()).toBe(false)
    expect(lost).toEqual(['another request holds it, or its payment was reverted'])
  })
})
