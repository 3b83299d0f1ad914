// The chain, in a process of its own, as for any client.
import { startLocalnet } from '../../dist/localnet/index.js'

/** @typedef {Record<string, bigint>} Amounts Units by token. */

/** @param {{ slotMs: number }} options */
export async function open({ slotMs }) {
  const localnet = await startLocalnet({ slotMs })
  const { rpcUrl, wsUrl, mints, genesisHash } = localnet
  return {
    facts: { rpcUrl, wsUrl, mints, genesisHash },
    answers: {
      /**
       * Pays test money to all of these, and opens the token accounts that they lack.
       *
       * @param {readonly string[]} addresses
       * @param {Amounts} amounts
       */
      fund: async (addresses, amounts) => {
        for (const address of addresses) await localnet.fund(address, amounts)
      },
    },
    close: () => localnet.close(),
  }
}
