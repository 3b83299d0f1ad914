/** Methods about the chain as a whole: slots, epochs, hashes, the node itself. */
import { computeEpoch, slotsPerEpoch } from '../../bank/sysvars.ts'
import { coreVersion, type Methods, readBearing, withContext } from '../wire/node.ts'
import { readAddress, readConfig, readInteger, readText, readU64 } from '../wire/params.ts'

export const clusterMethods: Methods = {
  getHealth: { required: 0, run: () => 'ok' },
  getVersion: {
    required: 0,
    run: (_params, { bank }) => ({ 'feature-set': bank.vm.featureSet, 'solana-core': coreVersion }),
  },
  getIdentity: { required: 0, run: (_params, { bank }) => ({ identity: bank.identity }) },
  getGenesisHash: { required: 0, run: (_params, { genesisHash }) => genesisHash },
  getSlot: { required: 0, run: (params, node) => readBearing(readConfig(params[0]), node).slot },
  getBlockHeight: {
    required: 0,
    run: (params, node) => node.bank.timeline.heightOf(readBearing(readConfig(params[0]), node).slot),
  },
  getSlotLeader: {
    required: 0,
    run(params, node) {
      readBearing(readConfig(params[0]), node)
      return node.bank.identity
    },
  },
  getTransactionCount: {
    required: 0,
    run(params, node) {
      const { slot } = readBearing(readConfig(params[0]), node)
      return node.bank.history.count() - node.bank.history.countAfter(slot)
    },
  },
  getEpochInfo: {
    required: 0,
    run(params, node) {
      const { slot } = readBearing(readConfig(params[0]), node)
      const { history, timeline } = node.bank
      return {
        absoluteSlot: slot,
        blockHeight: timeline.heightOf(slot),
        epoch: computeEpoch(slot),
        slotIndex: slot % slotsPerEpoch,
        slotsInEpoch: slotsPerEpoch,
        transactionCount: history.count() - history.countAfter(slot),
      }
    },
  },
  getEpochSchedule: {
    required: 0,
    run: () => ({
      slotsPerEpoch,
      leaderScheduleSlotOffset: slotsPerEpoch,
      warmup: false,
      firstNormalEpoch: 0,
      firstNormalSlot: 0,
    }),
  },
  getLatestBlockhash: {
    required: 0,
    run(params, node) {
      const { slot } = readBearing(readConfig(params[0]), node)
      const blockhash = node.bank.latestBlockhash(slot)
      return withContext(slot, { blockhash, lastValidBlockHeight: node.bank.lastValidHeight(blockhash, slot) })
    },
  },
  isBlockhashValid: {
    required: 1,
    run(params, node) {
      const blockhash = readAddress(params[0])
      const { slot } = readBearing(readConfig(params[1]), node)
      return withContext(slot, node.bank.lastValidHeight(blockhash, slot) !== undefined)
    },
  },
  getMinimumBalanceForRentExemption: {
    required: 1,
    run(params, node) {
      const bytes = readInteger(params[0])
      readBearing(readConfig(params[1]), node)
      return node.bank.vm.rentExemption(bytes)
    },
  },
  requestAirdrop: {
    required: 2,
    run(params, node) {
      const address = readAddress(params[0])
      const lamports = readU64(params[1])
      const { recentBlockhash } = readConfig(params[2])
      if (recentBlockhash !== undefined && recentBlockhash !== null) readText(recentBlockhash)
      return node.faucet.airdrop(address, lamports)
    },
  },
}
