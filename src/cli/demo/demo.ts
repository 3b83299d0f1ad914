/** `paystile demo`: the whole product on its own chain, with resources to buy. */
import { join } from 'node:path'
import { createWallet } from '../../chain/keys/keypair.ts'
import { makeKeyFile, withKeyFile } from '../../host/keys/key-file.ts'
import { readBalances } from '../balances.ts'
import { isFree, type OwnChain, startOwnChain, untilStopped } from '../local-chain.ts'
import { readWhole } from '../numbers.ts'
import { CommandError, type ExitCode, exitCodes, type Terminal } from '../output.ts'
import type { Flags } from '../run.ts'
import { type Crowd, isOfCrowd, startCrowd } from './crowd.ts'
import { type Economy, openEconomy } from './economy.ts'
import { createDemoLog, type DemoReady, describeEvent, welcomeLines } from './messages.ts'
import { describeOutgoing } from './outgoing.ts'
import { resources } from './resources.ts'
import { openShop, type Shop } from './shop.ts'
import { passWeek } from './time-lapse.ts'

type DemoOptions = Flags<'port' | 'slotMs', 'keep' | 'alone' | 'timeLapse'>

const usualPort = 8402

export async function demo(terminal: Terminal, options: DemoOptions): Promise<ExitCode> {
  const port = readWhole('--port', options.port, 0, 65_535) ?? ((await isFree(usualPort)) ? usualPort : 0)
  const slotMs = readWhole('--slot-ms', options.slotMs, 10, 60_000)
  const stopped = untilStopped()
  const chain = await startOwnChain({ slotMs, keep: options.keep })
  let shop: Shop | undefined
  let crowd: Crowd | undefined
  let economy: Economy | undefined
  try {
    const people = await settle(chain)
    let url: string | undefined
    const log = createDemoLog({
      note: (line) => terminal.note(line),
      now: chain.localnet.now,
      since: options.timeLapse ? chain.localnet.now() : undefined,
      describe: async (kind, id) => (url === undefined ? undefined : describeOutgoing(url, kind, id)),
    })
    economy = await openEconomy(chain, people.provider, log)
    shop = await openShop({
      chain,
      port,
      recipient: people.provider.address,
      economy,
      log,
      onEvent: (event) => {
        if ('target' in event && isOfCrowd(event.target)) return
        const line = describeEvent(event, chain.localnet.now())
        if (line !== undefined) terminal.note(line)
      },
    }).catch((error: unknown) => {
      throw explain(error, port)
    })
    url = shop.url
    await economy.register(url)
    const ready: DemoReady = {
      url: shop.url,
      rpcUrl: chain.localnet.rpcUrl,
      network: 'localnet',
      wallet: people.wallet,
      faucetUrl: `${shop.url}/faucet`,
      resources: resources.map(({ name, price, token }) => ({ path: `/api/${name}`, price, token })),
    }
    const balances = await readBalances(people.wallet.address, 'localnet', [chain.localnet.rpcUrl])
    const lines = welcomeLines(ready, balances, chain.localnet.now())
    // A program reads the JSON line. Its log still shows the commands to try.
    if (terminal.json) for (const line of lines) terminal.note(line)
    terminal.result(ready, lines)
    if (options.timeLapse) await passWeek(terminal, chain, shop.url)
    if (!options.alone) crowd = startCrowd(chain, shop.url)
    await stopped
    terminal.note('Stopping…')
    return exitCodes.ok
  } finally {
    await crowd?.close()
    await shop?.close()
    await economy?.close()
    await chain.close()
  }
}

/** Creates a provider that can receive, and a funded customer. Their keys are as short-lived as the chain. */
async function settle({ localnet, directory, announce }: OwnChain) {
  const keyFile = join(directory, 'wallet.json')
  const providerFile = join(directory, 'provider.json')
  const isNew = makeKeyFile(keyFile)
  makeKeyFile(providerFile)
  const [customer, provider] = await Promise.all([
    withKeyFile(keyFile, createWallet),
    withKeyFile(providerFile, createWallet),
  ])
  if (isNew) {
    // Credited without a transfer: a transfer to the provider would count as an unclaimed payment.
    localnet.endow(provider.address, 50_000_000n)
    await localnet.fund(provider.address, { USDC: 0n, NATIVE: 0n })
    await localnet.fund(customer.address, { SOL: 10_000_000_000n, USDC: 100_000_000n, NATIVE: 1_000_000_000_000n })
  }
  announce(keyFile)
  return {
    provider: { address: provider.address, keyFile: providerFile },
    wallet: { address: customer.address, keyFile },
  }
}

function explain(error: unknown, port: number): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error
  return new CommandError('usage', 'port_in_use', `Port ${port} is in use. Choose another with --port.`)
}
