/** Token-2022 extensions, which follow the base of a mint or token account. */
import { type Cursor, cursorOver } from './cursor.ts'

/** By number, as in the program. */
export const extensionNames: readonly string[] = [
  'uninitialized',
  'transferFeeConfig',
  'transferFeeAmount',
  'mintCloseAuthority',
  'confidentialTransferMint',
  'confidentialTransferAccount',
  'defaultAccountState',
  'immutableOwner',
  'memoTransfer',
  'nonTransferable',
  'interestBearingConfig',
  'cpiGuard',
  'permanentDelegate',
  'nonTransferableAccount',
  'transferHook',
  'transferHookAccount',
  'confidentialTransferFeeConfig',
  'confidentialTransferFeeAmount',
  'metadataPointer',
  'tokenMetadata',
  'groupPointer',
  'tokenGroup',
  'groupMemberPointer',
  'tokenGroupMember',
  'confidentialMintBurn',
  'scaledUiAmountConfig',
  'pausableConfig',
  'pausableAccount',
]

type State = (cursor: Cursor) => Record<string, unknown> | undefined

const none: State = () => undefined
const orNull = (key: string | undefined) => key ?? null

const fee = (cursor: Cursor) => ({
  epoch: cursor.u64(),
  maximumFee: cursor.u64(),
  transferFeeBasisPoints: cursor.u16(),
})

const states: Readonly<Record<string, State>> = {
  transferFeeConfig: (cursor) => ({
    transferFeeConfigAuthority: orNull(cursor.nonZeroKey()),
    withdrawWithheldAuthority: orNull(cursor.nonZeroKey()),
    withheldAmount: cursor.u64(),
    olderTransferFee: fee(cursor),
    newerTransferFee: fee(cursor),
  }),
  transferFeeAmount: (cursor) => ({ withheldAmount: cursor.u64() }),
  mintCloseAuthority: (cursor) => ({ closeAuthority: orNull(cursor.nonZeroKey()) }),
  defaultAccountState: (cursor) => ({ accountState: ['uninitialized', 'initialized', 'frozen'][cursor.u8()] }),
  immutableOwner: none,
  memoTransfer: (cursor) => ({ requireIncomingTransferMemos: cursor.u8() === 1 }),
  nonTransferable: none,
  interestBearingConfig: (cursor) => ({
    rateAuthority: orNull(cursor.nonZeroKey()),
    initializationTimestamp: cursor.i64(),
    preUpdateAverageRate: cursor.i16(),
    lastUpdateTimestamp: cursor.i64(),
    currentRate: cursor.i16(),
  }),
  cpiGuard: (cursor) => ({ lockCpi: cursor.u8() === 1 }),
  permanentDelegate: (cursor) => ({ delegate: orNull(cursor.nonZeroKey()) }),
  nonTransferableAccount: none,
  transferHook: (cursor) => ({ authority: orNull(cursor.nonZeroKey()), programId: orNull(cursor.nonZeroKey()) }),
  transferHookAccount: (cursor) => ({ transferring: cursor.u8() === 1 }),
  metadataPointer: (cursor) => ({
    authority: orNull(cursor.nonZeroKey()),
    metadataAddress: orNull(cursor.nonZeroKey()),
  }),
  tokenMetadata(cursor) {
    const updateAuthority = orNull(cursor.nonZeroKey())
    const mint = cursor.key()
    const [name, symbol, uri] = [cursor.text(4), cursor.text(4), cursor.text(4)]
    const additionalMetadata = Array.from({ length: cursor.u32() }, () => [cursor.text(4), cursor.text(4)])
    return { updateAuthority, mint, name, symbol, uri, additionalMetadata }
  },
  groupPointer: (cursor) => ({ authority: orNull(cursor.nonZeroKey()), groupAddress: orNull(cursor.nonZeroKey()) }),
  groupMemberPointer: (cursor) => ({
    authority: orNull(cursor.nonZeroKey()),
    memberAddress: orNull(cursor.nonZeroKey()),
  }),
  scaledUiAmountConfig: (cursor) => ({
    authority: orNull(cursor.nonZeroKey()),
    multiplier: String(cursor.f64()),
    newMultiplierEffectiveTimestamp: cursor.i64(),
    newMultiplier: String(cursor.f64()),
  }),
  pausableConfig: (cursor) => ({ authority: orNull(cursor.nonZeroKey()), paused: cursor.u8() === 1 }),
  pausableAccount: none,
}

export interface Extension {
  readonly name: string
  readonly data: Uint8Array
}

const baseBytes = 165

/** The extensions of a mint or token account, in stored order. */
export function parseExtensions(data: Uint8Array): readonly Extension[] {
  const found: Extension[] = []
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let at = baseBytes + 1
  while (at + 4 <= data.length) {
    const kind = view.getUint16(at, true)
    const length = view.getUint16(at + 2, true)
    // Unused space reads as type 0.
    if (kind === 0 || at + 4 + length > data.length) break
    found.push({ name: extensionNames[kind] ?? 'unparseableExtension', data: data.subarray(at + 4, at + 4 + length) })
    at += 4 + length
  }
  return found
}

export function formatExtension({ name, data }: Extension): unknown {
  const read = states[name]
  if (!read) return { extension: 'unparseableExtension' }
  const state = read(cursorOver(data))
  return state === undefined ? { extension: name } : { extension: name, state }
}
