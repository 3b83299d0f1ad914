// A localnet in a process of its own, to be killed. Arguments: the built module, the data directory.
const [, , module = '', dataDir = ''] = process.argv
const { startLocalnet } = await import(module)
const localnet = await startLocalnet({ dataDir, slotMs: 5 })
process.stdout.write(`${JSON.stringify({ rpcUrl: localnet.rpcUrl, genesisHash: localnet.genesisHash })}\n`)
