/** The addresses that every Solana chain has from the start. */
import { splTokenProgram, token2022Program } from '../../core/money/tokens.ts'

export const programs = {
  system: '11111111111111111111111111111111',
  token: splTokenProgram,
  token2022: token2022Program,
  associatedToken: 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
  memoV1: 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  memoV3: 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  memoV4: 'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH',
  computeBudget: 'ComputeBudget111111111111111111111111111111',
  lookupTable: 'AddressLookupTab1e1111111111111111111111111',
  stake: 'Stake11111111111111111111111111111111111111',
  vote: 'Vote111111111111111111111111111111111111111',
  nativeLoader: 'NativeLoader1111111111111111111111111111111',
  loaderV1: 'BPFLoader1111111111111111111111111111111111',
  loaderV2: 'BPFLoader2111111111111111111111111111111111',
  loaderUpgradeable: 'BPFLoaderUpgradeab1e11111111111111111111111',
  loaderV4: 'LoaderV411111111111111111111111111111111111',
  ed25519: 'Ed25519SigVerify111111111111111111111111111',
  secp256k1: 'KeccakSecp256k11111111111111111111111111111',
  secp256r1: 'Secp256r1SigVerify1111111111111111111111111',
} as const

export const sysvars = {
  owner: 'Sysvar1111111111111111111111111111111111111',
  clock: 'SysvarC1ock11111111111111111111111111111111',
  epochRewards: 'SysvarEpochRewards1111111111111111111111111',
  epochSchedule: 'SysvarEpochSchedu1e111111111111111111111111',
  fees: 'SysvarFees111111111111111111111111111111111',
  instructions: 'Sysvar1nstructions1111111111111111111111111',
  lastRestartSlot: 'SysvarLastRestartS1ot1111111111111111111111',
  recentBlockhashes: 'SysvarRecentB1ockHashes11111111111111111111',
  rent: 'SysvarRent111111111111111111111111111111111',
  rewards: 'SysvarRewards111111111111111111111111111111',
  slotHashes: 'SysvarS1otHashes111111111111111111111111111',
  slotHistory: 'SysvarS1otHistory11111111111111111111111111',
  stakeHistory: 'SysvarStakeHistory1111111111111111111111111',
} as const

export const wrappedSol = 'So11111111111111111111111111111111111111112'

export const tokenPrograms: ReadonlySet<string> = new Set([programs.token, programs.token2022])
export const memoPrograms: ReadonlySet<string> = new Set([programs.memoV1, programs.memoV3, programs.memoV4])

/** Programs built into the validator. Their instructions have a small fixed compute budget. */
export const builtins: ReadonlySet<string> = new Set([
  programs.system,
  programs.computeBudget,
  programs.vote,
  programs.loaderV1,
  programs.loaderV2,
  programs.loaderUpgradeable,
  programs.loaderV4,
  programs.ed25519,
  programs.secp256k1,
])

/** Accounts that no transaction can write. A request for write access gives read access. */
export const reserved: ReadonlySet<string> = new Set([
  ...Object.values(sysvars),
  ...builtins,
  programs.lookupTable,
  programs.stake,
  programs.nativeLoader,
  programs.secp256r1,
  'Config1111111111111111111111111111111111111',
  'Feature111111111111111111111111111111111111',
  'StakeConfig11111111111111111111111111111111',
  'ZkE1Gama1Proof11111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
])
