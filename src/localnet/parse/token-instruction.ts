/** Instructions of the token programs and of the associated token account program. */
import { uiAmount } from '../transaction/token-balances.ts'
import { type Cursor, decodeText, Unparsable } from './cursor.ts'
import { extensionNames } from './extension.ts'
import { follow, type Parsed, type Recipe } from './recipe.ts'

const authorityTypes: readonly string[] = [
  'mintTokens',
  'freezeAccount',
  'accountOwner',
  'closeAccount',
  'transferFeeConfig',
  'withheldWithdraw',
  'closeMint',
  'interestRate',
  'permanentDelegate',
  'confidentialTransferMint',
  'transferHookProgramId',
  'confidentialTransferFeeConfig',
  'metadataPointer',
  'groupPointer',
  'groupMemberPointer',
  'scaledUiAmount',
  'pause',
  'permissionedBurn',
]

const amount = (cursor: Cursor) => ({ amount: cursor.u64().toString() })
const checkedAmount = (cursor: Cursor) => {
  const units = cursor.u64()
  return { tokenAmount: uiAmount(units, cursor.u8()) }
}
const mintArgs = (cursor: Cursor) => {
  const args = { decimals: cursor.u8(), mintAuthority: cursor.key() }
  const freezeAuthority = cursor.optionalKey(1)
  return freezeAuthority === undefined ? args : { ...args, freezeAuthority }
}
const ownerArg = (cursor: Cursor) => ({ owner: cursor.key() })

const recipes: readonly (Recipe | undefined)[] = [
  { type: 'initializeMint', accounts: ['mint', 'rentSysvar'], args: mintArgs },
  { type: 'initializeAccount', accounts: ['account', 'mint', 'owner', 'rentSysvar'] },
  {
    type: 'initializeMultisig',
    accounts: ['multisig', 'rentSysvar'],
    rest: 'signers',
    args: (cursor) => ({ m: cursor.u8() }),
  },
  { type: 'transfer', accounts: ['source', 'destination'], authority: 'authority', args: amount },
  { type: 'approve', accounts: ['source', 'delegate'], authority: 'owner', args: amount },
  { type: 'revoke', accounts: ['source'], authority: 'owner' },
  undefined,
  { type: 'mintTo', accounts: ['mint', 'account'], authority: 'mintAuthority', args: amount },
  { type: 'burn', accounts: ['account', 'mint'], authority: 'authority', args: amount },
  { type: 'closeAccount', accounts: ['account', 'destination'], authority: 'owner' },
  { type: 'freezeAccount', accounts: ['account', 'mint'], authority: 'freezeAuthority' },
  { type: 'thawAccount', accounts: ['account', 'mint'], authority: 'freezeAuthority' },
  { type: 'transferChecked', accounts: ['source', 'mint', 'destination'], authority: 'authority', args: checkedAmount },
  { type: 'approveChecked', accounts: ['source', 'mint', 'delegate'], authority: 'owner', args: checkedAmount },
  { type: 'mintToChecked', accounts: ['mint', 'account'], authority: 'mintAuthority', args: checkedAmount },
  { type: 'burnChecked', accounts: ['account', 'mint'], authority: 'authority', args: checkedAmount },
  { type: 'initializeAccount2', accounts: ['account', 'mint', 'rentSysvar'], args: ownerArg },
  { type: 'syncNative', accounts: ['account'] },
  { type: 'initializeAccount3', accounts: ['account', 'mint'], args: ownerArg },
  { type: 'initializeMultisig2', accounts: ['multisig'], rest: 'signers', args: (cursor) => ({ m: cursor.u8() }) },
  { type: 'initializeMint2', accounts: ['mint'], args: mintArgs },
  { type: 'getAccountDataSize', accounts: ['mint'], args: extensionTypes },
  { type: 'initializeImmutableOwner', accounts: ['account'] },
  { type: 'amountToUiAmount', accounts: ['mint'], args: amount },
  {
    type: 'uiAmountToAmount',
    accounts: ['mint'],
    args: (cursor) => ({ uiAmount: decodeText(cursor.bytes(cursor.left())) }),
  },
  {
    type: 'initializeMintCloseAuthority',
    accounts: ['mint'],
    args: (cursor) => ({ newAuthority: cursor.optionalKey(1) ?? null }),
  },
]

const transferFees: readonly Recipe[] = [
  {
    type: 'initializeTransferFeeConfig',
    accounts: ['mint'],
    args(cursor) {
      const transferFeeConfigAuthority = cursor.optionalKey(1)
      const withdrawWithheldAuthority = cursor.optionalKey(1)
      return {
        transferFeeBasisPoints: cursor.u16(),
        maximumFee: cursor.u64(),
        ...(transferFeeConfigAuthority === undefined ? {} : { transferFeeConfigAuthority }),
        ...(withdrawWithheldAuthority === undefined ? {} : { withdrawWithheldAuthority }),
      }
    },
  },
  {
    type: 'transferCheckedWithFee',
    accounts: ['source', 'mint', 'destination'],
    authority: 'authority',
    args(cursor) {
      const units = cursor.u64()
      const decimals = cursor.u8()
      return { tokenAmount: uiAmount(units, decimals), feeAmount: uiAmount(cursor.u64(), decimals) }
    },
  },
  {
    type: 'withdrawWithheldTokensFromMint',
    accounts: ['mint', 'feeRecipient'],
    authority: 'withdrawWithheldAuthority',
  },
]

const others = new Map<number, Recipe>([
  [32, { type: 'initializeNonTransferableMint', accounts: ['mint'] }],
  [35, { type: 'initializePermanentDelegate', accounts: ['mint'], args: (cursor) => ({ delegate: cursor.key() }) }],
  [38, { type: 'withdrawExcessLamports', accounts: ['source', 'destination'], authority: 'authority' }],
])

function extensionTypes(cursor: Cursor): Record<string, unknown> {
  const names: string[] = []
  while (cursor.left() > 0) names.push(extensionNames[cursor.u16()] ?? 'unparseableExtension')
  return names.length === 0 ? {} : { extensionTypes: names }
}

export function parseToken(cursor: Cursor, accounts: readonly string[]): Parsed {
  const kind = cursor.u8()
  if (kind === 6) return follow(setAuthority(cursor), cursor, accounts)
  const recipe = kind === 26 ? transferFees[cursor.u8()] : (recipes[kind] ?? others.get(kind))
  if (!recipe) throw new Unparsable()
  return follow(recipe, cursor, accounts)
}

/** The kind of authority decides whether the account is shown as a mint or as an account. */
function setAuthority(cursor: Cursor): Recipe {
  const authorityType = authorityTypes[cursor.u8()]
  if (authorityType === undefined) throw new Unparsable()
  const owned = authorityType === 'accountOwner' || authorityType === 'closeAccount' ? 'account' : 'mint'
  const newAuthority = cursor.optionalKey(1) ?? null
  return {
    type: 'setAuthority',
    accounts: [owned],
    authority: 'authority',
    args: () => ({ authorityType, newAuthority }),
  }
}

const creation = ['source', 'account', 'wallet', 'mint', 'systemProgram', 'tokenProgram']

const associated: readonly Recipe[] = [
  { type: 'create', accounts: creation },
  { type: 'createIdempotent', accounts: creation },
  {
    type: 'recoverNested',
    accounts: ['nestedSource', 'nestedMint', 'destination', 'nestedOwner', 'ownerMint', 'wallet', 'tokenProgram'],
  },
]

export function parseAssociatedToken(cursor: Cursor, accounts: readonly string[]): Parsed {
  // Empty data is the oldest form of "create".
  const recipe = associated[cursor.left() === 0 ? 0 : cursor.u8()]
  if (!recipe) throw new Unparsable()
  return follow(recipe, cursor, accounts)
}
