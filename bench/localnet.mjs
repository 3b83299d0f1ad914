// The chain, in a process of its own, as it would be for any client: `localnet.mjs <slotMs>`.
import { startLocalnet } from '../dist/localnet/index.js'

const localnet = await startLocalnet({ slotMs: Number(process.argv[2]) })
const { rpcUrl, wsUrl, mints, genesisHash } = localnet
process.send({ rpcUrl, wsUrl, mints, genesisHash })
process.on('message', async ({ address, amounts }) => {
  await localnet.fund(
    address,
    Object.fromEntries(Object.entries(amounts).map(([token, units]) => [token, BigInt(units)])),
  )
  process.send('funded')
})
process.once('disconnect', () => process.exit(0))
