/** Sysvars in the form `jsonParsed`. */
import { sysvars } from '../accounts/addresses.ts'
import { type Cursor, cursorOver } from './cursor.ts'

const readers: Readonly<Record<string, readonly [type: string, read: (cursor: Cursor) => unknown]>> = {
  [sysvars.clock]: [
    'clock',
    (cursor) => ({
      slot: cursor.u64(),
      epochStartTimestamp: cursor.i64(),
      epoch: cursor.u64(),
      leaderScheduleEpoch: cursor.u64(),
      unixTimestamp: cursor.i64(),
    }),
  ],
  [sysvars.rent]: ['rent', (cursor) => ({ lamportsPerByte: cursor.u64().toString() })],
  [sysvars.epochSchedule]: [
    'epochSchedule',
    (cursor) => ({
      slotsPerEpoch: cursor.u64(),
      leaderScheduleSlotOffset: cursor.u64(),
      warmup: cursor.u8() === 1,
      firstNormalEpoch: cursor.u64(),
      firstNormalSlot: cursor.u64(),
    }),
  ],
  [sysvars.slotHashes]: ['slotHashes', (cursor) => many(cursor, () => ({ slot: cursor.u64(), hash: cursor.key() }))],
  [sysvars.recentBlockhashes]: [
    'recentBlockhashes',
    (cursor) =>
      many(cursor, () => ({
        blockhash: cursor.key(),
        feeCalculator: { lamportsPerSignature: cursor.u64().toString() },
      })),
  ],
  [sysvars.lastRestartSlot]: ['lastRestartSlot', (cursor) => ({ lastRestartSlot: cursor.u64() })],
}

function many<T>(cursor: Cursor, read: () => T): readonly T[] {
  return Array.from({ length: Number(cursor.u64()) }, read)
}

export function parseSysvar(address: string, data: Uint8Array): unknown {
  const found = readers[address]
  return found ? { info: found[1](cursorOver(data)), type: found[0] } : undefined
}
