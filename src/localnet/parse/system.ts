/** Instructions of the System and Address Lookup Table programs. */
import { type Cursor, Unparsable } from './cursor.ts'
import { follow, type Parsed, type Recipe } from './recipe.ts'

const nonce = ['nonceAccount', 'recentBlockhashesSysvar']

const system: readonly Recipe[] = [
  {
    type: 'createAccount',
    accounts: ['source', 'newAccount'],
    args: (cursor) => ({ lamports: cursor.u64(), space: cursor.u64(), owner: cursor.key() }),
  },
  { type: 'assign', accounts: ['account'], args: (cursor) => ({ owner: cursor.key() }) },
  { type: 'transfer', accounts: ['source', 'destination'], args: (cursor) => ({ lamports: cursor.u64() }) },
  {
    type: 'createAccountWithSeed',
    accounts: ['source', 'newAccount'],
    args: (cursor) => ({
      base: cursor.key(),
      seed: cursor.text(8),
      lamports: cursor.u64(),
      space: cursor.u64(),
      owner: cursor.key(),
    }),
  },
  { type: 'advanceNonce', accounts: [...nonce, 'nonceAuthority'] },
  {
    type: 'withdrawFromNonce',
    accounts: ['nonceAccount', 'destination', 'recentBlockhashesSysvar', 'rentSysvar', 'nonceAuthority'],
    args: (cursor) => ({ lamports: cursor.u64() }),
  },
  { type: 'initializeNonce', accounts: [...nonce, 'rentSysvar'], args: (cursor) => ({ nonceAuthority: cursor.key() }) },
  {
    type: 'authorizeNonce',
    accounts: ['nonceAccount', 'nonceAuthority'],
    args: (cursor) => ({ newAuthorized: cursor.key() }),
  },
  { type: 'allocate', accounts: ['account'], args: (cursor) => ({ space: cursor.u64() }) },
  {
    type: 'allocateWithSeed',
    accounts: ['account', ''],
    args: (cursor) => ({ base: cursor.key(), seed: cursor.text(8), space: cursor.u64(), owner: cursor.key() }),
  },
  {
    type: 'assignWithSeed',
    accounts: ['account', ''],
    args: (cursor) => ({ base: cursor.key(), seed: cursor.text(8), owner: cursor.key() }),
  },
  {
    type: 'transferWithSeed',
    accounts: ['source', 'sourceBase', 'destination'],
    args: (cursor) => ({ lamports: cursor.u64(), sourceSeed: cursor.text(8), sourceOwner: cursor.key() }),
  },
  { type: 'upgradeNonce', accounts: ['nonceAccount'] },
]

const table = ['lookupTableAccount', 'lookupTableAuthority']

const lookupTable: readonly Recipe[] = [
  {
    type: 'createLookupTable',
    accounts: [...table, 'payerAccount', 'systemProgram'],
    args: (cursor) => ({ recentSlot: cursor.u64(), bumpSeed: cursor.u8() }),
  },
  { type: 'freezeLookupTable', accounts: table },
  { type: 'extendLookupTable', accounts: table, args: (cursor) => ({ newAddresses: keys(cursor) }) },
  { type: 'deactivateLookupTable', accounts: table },
  { type: 'closeLookupTable', accounts: [...table, 'recipient'] },
]

function keys(cursor: Cursor): readonly string[] {
  const count = Number(cursor.u64())
  if (count * 32 !== cursor.left()) throw new Unparsable()
  return Array.from({ length: count }, () => cursor.key())
}

export function parseSystem(cursor: Cursor, accounts: readonly string[]): Parsed {
  const recipe = system[cursor.u32()]
  if (!recipe) throw new Unparsable()
  return follow(recipe, cursor, accounts)
}

export function parseLookupTable(cursor: Cursor, accounts: readonly string[]): Parsed {
  const recipe = lookupTable[cursor.u32()]
  if (!recipe) throw new Unparsable()
  const parsed = follow(recipe, cursor, accounts)
  if (recipe.type !== 'extendLookupTable' || accounts.length < 4) return parsed
  // The payer of the rent is shown only if there is one.
  return { ...parsed, info: { ...parsed.info, payerAccount: accounts[2], systemProgram: accounts[3] } }
}
