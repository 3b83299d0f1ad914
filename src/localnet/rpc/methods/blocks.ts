/** Methods about blocks and skipped slots. */
import { blockNotAvailable, invalidParams, slotSkipped } from '../wire/errors.ts'
import { type Methods, method, type Node, readBearing, withContext } from '../wire/node.ts'
import { readAddress, readConfig, readInteger, wrongType } from '../wire/params.ts'
import { formatBlock, readBlockFormat } from './block-data.ts'
import { readBlockTime, readHistoryBearing, readHistoryConfig } from './history.ts'

const maxRange = 500_000
const maxLeaders = 5_000
const feeSlots = 150
const maxLocks = 64

/** Throws unless the slot has a block that is visible to the reader. */
function checkSlot(slot: number, latest: number, { bank }: Node): void {
  if (slot > latest) throw blockNotAvailable(slot)
  if (!bank.timeline.exists(slot)) throw slotSkipped(slot)
}

function getBlock(params: readonly unknown[], node: Node): unknown {
  const slot = readInteger(params[0])
  const config = readHistoryConfig(params[1])
  const format = readBlockFormat(config)
  const bearing = readHistoryBearing(config, node)
  checkSlot(slot, bearing.slot, node)
  return formatBlock(slot, format, node)
}

function listSlots(start: number, end: number, limit: number, { bank }: Node): readonly number[] {
  const slots: number[] = []
  for (let slot = start; slot <= end && slots.length < limit; slot++) if (bank.timeline.exists(slot)) slots.push(slot)
  return slots
}

function getBlocks(params: readonly unknown[], node: Node): unknown {
  const start = readInteger(params[0])
  const second = params[1]
  const ended = typeof second === 'number' || typeof second === 'bigint'
  const { slot } = readHistoryBearing(readConfig(ended ? params[2] : (second ?? params[2])), node)
  const end = ended ? Math.min(readInteger(second), slot) : slot
  if (end - start > maxRange) throw invalidParams(`Slot range too large; max ${maxRange}`)
  return listSlots(start, end, Number.POSITIVE_INFINITY, node)
}

function getBlocksWithLimit(params: readonly unknown[], node: Node): unknown {
  const [start, limit] = [readInteger(params[0]), readInteger(params[1])]
  if (limit > maxRange) throw invalidParams(`Limit too large; max ${maxRange}`)
  const { slot } = readHistoryBearing(readConfig(params[2]), node)
  return listSlots(start, slot, limit, node)
}

/** The price, per recent block, that sufficed for a transaction that writes to these accounts. */
function recentFees(params: readonly unknown[], node: Node): unknown {
  const list = params[0] ?? []
  if (!Array.isArray(list)) throw wrongType(list, 'a sequence')
  if (list.length > maxLocks) throw invalidParams(`Too many inputs provided; max ${maxLocks}`)
  const addresses = list.map(readAddress)
  const { confirmed } = node.view()
  const prices = new Map<number, bigint>()
  const first = Math.max(0, confirmed - feeSlots + 1)
  for (const slot of listSlots(first, confirmed, feeSlots, node)) prices.set(slot, 0n)
  for (const [slot, records] of groupBySlot(node.bank.history.between(first - 1, confirmed))) {
    const all = records.map(({ unitPrice }) => unitPrice)
    const locking = addresses.map((address) =>
      records.filter(({ writable }) => writable.includes(address)).map(({ unitPrice }) => unitPrice),
    )
    prices.set(slot, highest([all, ...locking].map(lowest)))
  }
  return [...prices].map(([slot, prioritizationFee]) => ({ prioritizationFee, slot }))
}

function groupBySlot<T extends { readonly slot: number }>(records: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const record of records) groups.set(record.slot, [...(groups.get(record.slot) ?? []), record])
  return groups
}

function lowest(prices: readonly bigint[]): bigint {
  return prices.reduce((low, price) => (price < low ? price : low), prices[0] ?? 0n)
}

function highest(prices: readonly bigint[]): bigint {
  return prices.reduce((high, price) => (price > high ? price : high), 0n)
}

function slotLeaders(params: readonly unknown[], { bank }: Node): unknown {
  const limit = readInteger(params[1])
  readInteger(params[0])
  if (limit < 1 || limit > maxLeaders) throw invalidParams(`Invalid limit; max ${maxLeaders}`)
  return Array.from({ length: limit }, () => bank.identity)
}

function blockProduction(params: readonly unknown[], node: Node): unknown {
  const config = readConfig(params[0])
  const { slot } = readBearing(config, node)
  const { firstSlot, lastSlot } = readConfig(config['range'])
  const first = firstSlot === undefined ? 0 : readInteger(firstSlot)
  const last = lastSlot === undefined || lastSlot === null ? slot : readInteger(lastSlot)
  if (first > slot) throw invalidParams(`firstSlot, ${first}, is too large; max ${slot}`)
  if (last > slot) throw invalidParams(`lastSlot, ${last}, is too large; max ${slot}`)
  const { timeline, identity } = node.bank
  const blocks = timeline.heightOf(last) - timeline.heightOf(first) + (timeline.exists(first) ? 1 : 0)
  const byIdentity = { [identity]: [last - first + 1, blocks] }
  return withContext(slot, { byIdentity, range: { firstSlot: first, lastSlot: last } })
}

export const blockMethods: Methods = {
  getBlock: method(1, getBlock),
  getBlocks: method(1, getBlocks),
  getBlocksWithLimit: method(2, getBlocksWithLimit),
  getBlockTime: method(1, (params, node) => {
    const slot = readInteger(params[0])
    checkSlot(slot, node.view().confirmed, node)
    return readBlockTime(slot, node)
  }),
  getFirstAvailableBlock: method(0, (_params, node) => node.bank.timeline.lastUpTo(0)),
  getRecentPrioritizationFees: method(0, recentFees),
  getSlotLeaders: method(2, slotLeaders),
  getBlockProduction: method(0, blockProduction),
}
