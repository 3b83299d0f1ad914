import { describe, expect, it } from 'vitest'
import type { Grant, Ledger } from '../../core/ports/ledger.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { createByteQuota, createFileQuota } from './byte-quota.ts'

const grant = (amount: bigint): Grant => ({ tx: new Uint8Array(64), fence: 1n, amount, from: 0n })
const log = { info: () => {}, warn: () => {}, error: () => {} }

/** A ledger that has so much more to give, and remembers what it was told. */
function gaugeOver(first: bigint, total: bigint, answers: (bigint | undefined | Error)[] = []) {
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
  const gauge = createByteQuota({
    grant: grant(first),
    ledger: { advance } as Ledger,
    log,
    isAlive: () => lost.length === 0,
    lose: (why) => void lost.push(why),
  })
  return { gauge, told, lost }
}

describe('of a file', () => {
  it('gives what the grant says, and then no more', async () => {
    const gauge = createFileQuota(10n)
    expect([gauge.take(4), gauge.take(4), gauge.take(4), gauge.take(4)]).toEqual([4, 4, 2, 0])
    expect(gauge.sent()).toBe(10)
    expect(await gauge.more()).toBe(false)
  })
})

describe('of bytes', () => {
  it('fetches the next slice, a larger one, before the last is used up', async () => {
    const { gauge, told } = gaugeOver(100n, 10_000n)
    expect(gauge.take(40)).toBe(40)
    expect(told).toEqual([])
    expect(gauge.take(20)).toBe(20)
    expect(told).toEqual([{ used: 60n, more: 440n }])
    expect(await gauge.more()).toBe(true)
    expect(gauge.take(1_000)).toBe(440)
  })

  it('says when there is no more, having given all of it', async () => {
    const { gauge } = gaugeOver(100n, 250n)
    let sum = 0
    do sum += gauge.take(30)
    while (gauge.sent() < 100 || (await gauge.more()))
    expect([sum, gauge.sent()]).toEqual([250, 250])
    expect(gauge.take(1)).toBe(0)
    expect(await gauge.more()).toBe(false)
  })

  it('asks once more at the end, since others may have given back what they did not need', async () => {
    const { gauge, told } = gaugeOver(10n, 30n, [4n, 20n])
    gauge.take(6)
    expect(await gauge.more()).toBe(true)
    await new Promise((resolve) => setTimeout(resolve))
    expect([told, gauge.take(10)]).toEqual([[{ used: 6n, more: 44n }], 4])
    expect(await gauge.more()).toBe(true)
    expect(gauge.take(100)).toBe(20)
  })

  it('gives nothing beyond what is held while it waits', () => {
    const { gauge } = gaugeOver(100n, 1_000n)
    expect([gauge.take(90), gauge.take(90), gauge.take(90)]).toEqual([90, 10, 0])
  })

  it('asks again where the ledger does not answer', async () => {
    const { gauge, told } = gaugeOver(10n, 30n, [new LedgerUnavailable('down'), new LedgerUnavailable('down')])
    gauge.take(10)
    expect(await gauge.more()).toBe(true)
    expect(told).toHaveLength(3)
    expect(gauge.take(100)).toBe(20)
  })

  it('is over when somebody else has the lease', async () => {
    const { gauge, lost } = gaugeOver(10n, 30n, [undefined])
    gauge.take(10)
    expect(await gauge.more()).toBe(false)
    expect(lost).toEqual(['somebody else has it'])
  })
})
