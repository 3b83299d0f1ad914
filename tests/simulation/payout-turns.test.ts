/** Weeks of payouts under a daily cap, large and small, from a seed: nobody waits for ever, and no day lets out too much. */
import { expect, it } from 'vitest'
import { size } from '../harness/length.ts'
import { dayMs, hourMs, openPayoutFixture } from '../workers/payout-fixture.ts'
import { createSchedule } from './schedule.ts'

const seeds = size(2, 12)
const [cap, least] = [1_000n, 20n]
const [days, patienceDays] = [25, 6]

interface Wait {
  readonly payee: string
  readonly at: number
  /** All that they were owed by then. */
  readonly upto: bigint
}

/** In days, the longest that anybody waited for anything that may be sent. */
async function playTurns(seed: number): Promise<{ readonly longest: number; readonly violations: readonly string[] }> {
  const { random, between, chance } = createSchedule(seed)
  const fixture = openPayoutFixture({ dailyCap: cap, least, everyMs: 1 })
  const { clock } = fixture.parts
  const [owed, dueSince] = [new Map<string, bigint>(), new Map<string, number>()]
  let waits: readonly Wait[] = []
  const violations: string[] = []
  let longest = 0
  const owe = async (payee: string, units: bigint) => {
    await fixture.owe({ [payee]: units })
    const upto = (owed.get(payee) ?? 0n) + units
    owed.set(payee, upto)
    waits = [...waits, { payee, at: clock.now(), upto }]
  }
  const isNew = chance(0.5)
  const giants = between(0, 25)
  for (let accrual = 0; accrual < giants; accrual += 1) await owe('giant', BigInt(between(1, 100)))
  for (let hour = 0; hour < 24 * days; hour += 1) {
    fixture.pass(hourMs + between(0, 1_000))
    const isEnding = hour > 24 * (days - patienceDays)
    // Less than half of what may go out, so that there is enough for all.
    if (!isEnding) await owe(isNew ? `new${hour}` : `small${between(0, 5)}`, BigInt(between(20, 30)))
    if (!isEnding && random() < 0.004) await owe(`large${between(0, 2)}`, BigInt(between(500, 1_000)))
    // A little that goes before much.
    if (!isEnding && random() < 0.02) await owe(`large${between(0, 2)}`, BigInt(between(1, 5)))
    await fixture.run(2)
    const sent = await fixture.outgoing.planned(clock.now() - dayMs)
    if (sent > cap) violations.push(`${sent} went out within a day`)
    for (const [payee, units] of owed) {
      if (units - (fixture.got.get(payee) ?? 0n) < least) dueSince.delete(payee)
      else if (!dueSince.has(payee)) dueSince.set(payee, clock.now())
    }
    waits = waits.filter(({ payee, upto }) => (fixture.got.get(payee) ?? 0n) < upto)
    for (const { payee, at } of waits) {
      const since = dueSince.get(payee) ?? clock.now()
      longest = Math.max(longest, (clock.now() - Math.max(at, since)) / dayMs)
    }
  }
  for (const [payee, units] of owed) {
    const got = fixture.got.get(payee) ?? 0n
    if (got > units || got + least <= units) violations.push(`${payee} got ${got} of ${units}`)
  }
  violations.push(...(await fixture.rewards.audit()).map(({ line }) => line))
  await fixture.stop()
  return { longest, violations }
}

it('every payee with a payable amount is paid within days, despite continuous shares of others', async () => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { longest, violations } = await playTurns(seed)
    expect(violations, `seed ${seed}`).toEqual([])
    expect(longest, `seed ${seed}`).toBeLessThan(patienceDays)
  }
})
