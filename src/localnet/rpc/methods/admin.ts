/**
 * The localnet's own methods, for tests in other processes. No cluster has them; all begin with `paystile_`.
 *
 * paystile_clock()                      returns slot, height and time
 * paystile_advance({seconds?, slots?})  moves the clock, as `advance` does
 * paystile_rollback(slots)              drops the last slots and returns the signatures that vanished
 * paystile_setFaults([rule, ...])       replaces all fault rules; an empty list removes them
 * paystile_silence(boolean)             silences WebSockets, or ends the silence
 */
import { invalidParams } from '../wire/errors.ts'
import type { FaultRule } from '../wire/faults.ts'
import { type Methods, method, type Node } from '../wire/node.ts'
import { readConfig, readInteger, wrongType } from '../wire/params.ts'

function clock({ bank }: Node): unknown {
  const slot = bank.sync()
  return { slot, blockHeight: bank.timeline.heightOf(slot), timeMs: bank.now() }
}

function advance(params: readonly unknown[], node: Node): unknown {
  const { seconds, slots } = readConfig(params[0])
  if (seconds !== undefined && (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= maxSeconds)))
    throw wrongType(seconds, `seconds from 0 to ${maxSeconds}`)
  const count = slots === undefined ? undefined : readInteger(slots)
  if (count !== undefined && (count < 1 || count > maxSlots)) throw invalidParams(`slots must be from 1 to ${maxSlots}`)
  if (seconds === undefined && count === undefined) throw invalidParams('give seconds, slots, or both')
  if (typeof seconds === 'number') node.admin.advance(seconds, count)
  else if (count !== undefined) node.admin.advanceSlots(count)
  return clock(node)
}

const maxSeconds = 100 * 365 * 24 * 3600
const maxSlots = 1_000_000_000

const ruleFields: Readonly<Record<keyof FaultRule, (value: unknown) => boolean>> = {
  methods: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  times: isCount,
  latencyMs: isCount,
  status: (value) => isCount(value) && Number(value) >= 200 && Number(value) <= 599,
  retryAfterSeconds: isCount,
  drop: (value) => typeof value === 'boolean',
  body: (value) => ['truncated', 'html', 'empty', 'wrong-id'].includes(value as string),
  error: (value) => typeof value === 'object' && value !== null && 'code' in value && 'message' in value,
  lagSlots: isCount,
  delaySlots: isCount,
  lose: (value) => typeof value === 'boolean',
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function readRules(value: unknown): readonly FaultRule[] {
  if (!Array.isArray(value)) throw wrongType(value, 'a sequence of fault rules')
  return value.map((rule) => {
    for (const [key, field] of Object.entries(readConfig(rule))) {
      if (!Object.hasOwn(ruleFields, key)) throw invalidParams(`unknown fault ${key}`)
      if (!ruleFields[key as keyof FaultRule](field)) throw wrongType(field, `a value for ${key}`)
    }
    return rule as FaultRule
  })
}

export const adminMethods: Methods = {
  paystile_clock: method(0, (_params, node) => clock(node)),
  paystile_advance: method(1, advance),
  paystile_rollback: method(1, (params, node) => {
    try {
      return node.bank.rollback(readInteger(params[0]))
    } catch (error) {
      if (error instanceof RangeError) throw invalidParams(error.message)
      throw error
    }
  }),
  paystile_setFaults: method(1, (params, node) => {
    node.admin.setFaults(readRules(params[0]))
    return true
  }),
  paystile_silence: method(1, (params, node) => {
    if (typeof params[0] !== 'boolean') throw wrongType(params[0], 'a boolean')
    node.admin.silence(params[0])
    return true
  }),
}
