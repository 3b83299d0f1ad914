/** Methods about the chain as a whole: slots, epochs, hashes, the node itself. */
import { computeEpoch, slotsPerEpoch } from '../../bank/sysvars.ts'
import { coreVersion, type Methods, method, readBearing, withContext } from '../wire/node.ts'
import { readAddress, readConfig, readInteger, readText, readU64 } from '../wire/params.ts'

export const clusterMethods: Methods = {
  getHealth: method(0, () => 'ok'),
  getVersion: method(0, (_params, { bank }) => ({ 'feature-set': bank.vm.featureSet, 'solana-core': coreVersion })),
  getIdentity: method(0, (_params, { bank }) => ({ identity: bank.identity })),
  getGenesisHash: method(0, (_params, { genesisHash }) => genesisHash),
  getSlot: method(0, (params, node) => readBearing(readConfig(params[0]), node).slot),
  getBlockHeight: method(0, (params, node) =>
    node.bank.timeline.heightOf(readBearing(readConfig(params[0]), node).slot),
  ),
  getSlotLeader: method(0, (params, node) => {
    readBearing(readConfig(params[0]), node)
    return node.bank.identity
  }),
  getTransactionCount: method(0, (params, node) => {
    const { slot } = readBearing(readConfig(params[0]), node)
    return node.bank.history.count() - node.bank.history.countAfter(slot)
  }),
  getEpochInfo: method(0, (params, node) => {
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
  }),
  getEpochSchedule: method(0, () => ({
    slotsPerEpoch,
    leaderScheduleSlotOffset: slotsPerEpoch,
    warmup: false,
    firstNormalEpoch: 0,
    firstNormalSlot: 0,
  })),
  getLatestBlockhash: method(0, (params, node) => {
    const { slot } = readBearing(readConfig(params[0]), node)
    const blockhash = node.bank.latestBlockhash(slot)
    return withContext(slot, { blockhash, lastValidBlockHeight: node.bank.lastValidHeight(blockhash, slot) })
  }),
  isBlockhashValid: method(1, (params, node) => {
    const blockhash = readAddress(params[0])
    const { slot } = readBearing(readConfig(params[1]), node)
    return withContext(slot, node.bank.lastValidHeight(blockhash, slot) !== undefined)
  }),
  getMinimumBalanceForRentExemption: method(1, (params, node) => {
    const bytes = readInteger(params[0])
    readBearing(readConfig(params[1]), node)
    return node.bank.vm.rentExemption(bytes)
  }),
  requestAirdrop: method(2, (params, node) => {
    const address = readAddress(params[0])
    const lamports = readU64(params[1])
    const { recentBlockhash } = readConfig(params[2])
    if (recentBlockhash !== undefined && recentBlockhash !== null) readText(recentBlockhash)
    return node.faucet.airdrop(address, lamports)
  }),
}
