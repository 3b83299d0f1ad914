/**
 * Reads the extensions of a Token-2022 account: entries of type, length and value after the base that both token
 * programs share. The rules are those of the program, but a duplicate entry is an error, although the program would use
 * the first.
 */

/** The offset of the extensions in mints and accounts: after a full account and the byte that tells the two apart. */
const baseBytes = 165
/** A multisig differs only by its length. */
const multisigBytes = 355

const kindByte = { mint: 1, account: 2 } as const

/** By number, as in the program. Only these are valid in a mint. */
export const mintExtensions = {
  1: 'transferFee',
  3: 'mintCloseAuthority',
  4: 'confidentialTransfer',
  6: 'defaultAccountState',
  9: 'nonTransferable',
  10: 'interestBearing',
  12: 'permanentDelegate',
  14: 'transferHook',
  16: 'confidentialTransferFee',
  18: 'metadataPointer',
  19: 'tokenMetadata',
  20: 'groupPointer',
  21: 'tokenGroup',
  22: 'groupMemberPointer',
  23: 'tokenGroupMember',
  24: 'confidentialMintBurn',
  25: 'scaledUiAmount',
  26: 'pausable',
  28: 'permissionedBurn',
} as const
export type MintExtension = (typeof mintExtensions)[keyof typeof mintExtensions]

export function findMintExtension(type: number): MintExtension | undefined {
  return (mintExtensions as Readonly<Record<number, MintExtension>>)[type]
}

/** Values by type. Undefined if the data is of another kind or malformed. */
export function readExtensions(
  data: Uint8Array,
  kind: keyof typeof kindByte,
  shortestBytes: number,
): ReadonlyMap<number, Uint8Array> | undefined {
  if (data.length === shortestBytes) return new Map()
  if (data.length <= baseBytes || data.length === multisigBytes || data[baseBytes] !== kindByte[kind]) return undefined
  // A mint is shorter than an account, and the gap must be zero.
  if (data.subarray(shortestBytes, baseBytes).some((byte) => byte !== 0)) return undefined
  const entries = new Map<number, Uint8Array>()
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let at = baseBytes + 1
  // A single remaining byte holds no type. The program leaves one after it resized an account.
  while (at + 2 <= data.length) {
    const type = view.getUint16(at, true)
    if (type === 0) return entries
    if (at + 4 > data.length) return undefined
    const end = at + 4 + view.getUint16(at + 2, true)
    if (end > data.length || entries.has(type)) return undefined
    entries.set(type, data.subarray(at + 4, end))
    at = end
  }
  return entries
}
