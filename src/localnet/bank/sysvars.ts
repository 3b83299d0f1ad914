/** The accounts in which programs read the slot, the time and recent hashes, as bytes. */
import type { Account } from '../accounts/account.ts'
import { sysvars } from '../accounts/addresses.ts'
import type { Timeline } from './timeline.ts'

export const slotsPerEpoch = 432_000
export const lamportsPerSignature = 5000n

const slotHashCount = 512
const recentBlockhashCount = 150

/** Creates the sysvars of a slot. They are created on access, so idle slots need none. */
export function createSysvars(slot: number, timeline: Timeline): readonly (readonly [string, Account])[] {
  return [
    [sysvars.clock, sysvar(clockBytes(slot, timeline))],
    [sysvars.slotHashes, sysvar(slotHashesBytes(slot, timeline))],
    [sysvars.recentBlockhashes, sysvar(recentBlockhashesBytes(slot, timeline))],
  ]
}

export function createSysvar(address: string, slot: number, timeline: Timeline): Account | undefined {
  if (address === sysvars.clock) return sysvar(clockBytes(slot, timeline))
  if (address === sysvars.slotHashes) return sysvar(slotHashesBytes(slot, timeline))
  if (address === sysvars.recentBlockhashes) return sysvar(recentBlockhashesBytes(slot, timeline))
  if (address === sysvars.slotHistory) return sysvar(slotHistoryBytes(slot, timeline))
  return undefined
}

/** The slots before this one that have a block, the latest first. */
export function* slotsBefore(slot: number, count: number, timeline: Timeline): Iterable<number> {
  let current = slot
  for (let found = 0; found < count && current > 0; found++) {
    current = timeline.parentOf(current)
    yield current
  }
}

export function computeEpoch(slot: number): number {
  return Math.floor(slot / slotsPerEpoch)
}

function sysvar(data: Uint8Array): Account {
  return { lamports: 1n, data, owner: sysvars.owner, executable: false, rentEpoch: 0n }
}

function clockBytes(slot: number, timeline: Timeline): Uint8Array {
  const epoch = computeEpoch(slot)
  const seconds = (at: number) => BigInt(Math.floor(timeline.timeOf(at) / 1000))
  return u64s([BigInt(slot), seconds(epoch * slotsPerEpoch), BigInt(epoch), BigInt(epoch + 1), seconds(slot)])
}

function slotHashesBytes(slot: number, timeline: Timeline): Uint8Array {
  const slots = [...slotsBefore(slot, slotHashCount, timeline)]
  const bytes = new Uint8Array(8 + slotHashCount * 40)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, BigInt(slots.length), true)
  slots.forEach((number, index) => {
    view.setBigUint64(8 + index * 40, BigInt(number), true)
    bytes.set(timeline.bankHashOf(number), 16 + index * 40)
  })
  return bytes
}

function recentBlockhashesBytes(slot: number, timeline: Timeline): Uint8Array {
  const slots = [...slotsBefore(slot, recentBlockhashCount, timeline)]
  const bytes = new Uint8Array(8 + recentBlockhashCount * 40)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, BigInt(slots.length), true)
  slots.forEach((number, index) => {
    bytes.set(timeline.blockhashBytesOf(number), 8 + index * 40)
    view.setBigUint64(40 + index * 40, lamportsPerSignature, true)
  })
  return bytes
}

const historyBits = 1024 * 1024

/** One bit for each of the last million slots, set if the slot has a block. */
function slotHistoryBytes(slot: number, timeline: Timeline): Uint8Array {
  const words = historyBits / 64
  const bytes = new Uint8Array(1 + 8 + words * 8 + 8 + 8)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, 1)
  view.setBigUint64(1, BigInt(words), true)
  for (let number = Math.max(0, slot - historyBits); number < slot; number++) {
    if (!timeline.exists(number)) continue
    const bit = number % historyBits
    const at = 9 + Math.floor(bit / 8)
    bytes[at] = (bytes[at] ?? 0) | (1 << (bit % 8))
  }
  view.setBigUint64(9 + words * 8, BigInt(historyBits), true)
  view.setBigUint64(17 + words * 8, BigInt(slot), true)
  return bytes
}

function u64s(values: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 8)
  const view = new DataView(bytes.buffer)
  for (const [index, value] of values.entries()) view.setBigUint64(index * 8, BigInt.asUintN(64, value), true)
  return bytes
}
