/**
 * The payees of the demo (a partner, a developer, the operator's treasury, buyback and incentives), the outgoing wallet
 * that pays them, and a desk. Their keys are as short-lived as the chain.
 */
import { join } from 'node:path'
import type { RewardsOption } from '../../api/rewards/option.ts'
import { createWallet, type Wallet } from '../../chain/keys/keypair.ts'
import { createRpc } from '../../chain/rpc/rpc.ts'
import { testRates } from '../../core/money/rates.ts'
import type { Log } from '../../core/runtime.ts'
import { createWallClock } from '../../host/clock.ts'
import { makeKeyFile, withKeyFile } from '../../host/keys/key-file.ts'
import { createHttpTransport } from '../../host/net/transport.ts'
import type { ProviderOptions } from '../../paywall/config/options.ts'
import { createDesk } from '../../venues/desk.ts'
import { askService, signForService } from '../developers/service.ts'
import type { OwnChain } from '../local-chain.ts'
import { listenForDesk } from '../operator/desk-server.ts'

export interface Economy {
  readonly rewards: (host: string) => RewardsOption
  readonly settlement: Pick<ProviderOptions, 'settlementToken' | 'autoConversion' | 'conversionThreshold' | 'venue'> & {
    readonly settlementKey: string
  }
  /** The document that proves the developer's control of the host. */
  document(service: string): object
  /** Registers as a developer does: a signed message to the service, which then reads the document. */
  register(service: string): Promise<void>
  close(): Promise<void>
}

const earners = ['partner', 'developer', 'treasury', 'buyback', 'incentives'] as const
const deskSpreadBps = 30

export async function openEconomy(
  chain: OwnChain,
  collector: { readonly address: string; readonly keyFile: string },
  log: Log,
) {
  const { localnet, directory } = chain
  const formatPath = (name: string) => join(directory, `${name}.json`)
  const open = async (name: string, money: Parameters<typeof localnet.fund>[1]): Promise<Wallet> => {
    const isNew = makeKeyFile(formatPath(name))
    const wallet = await withKeyFile(formatPath(name), createWallet)
    if (isNew) await localnet.fund(wallet.address, money)
    return wallet
  }
  const wallets = new Map<string, Wallet>()
  for (const name of earners) wallets.set(name, await open(name, { SOL: 10_000_000n, NATIVE: 0n }))
  await open('payout', { SOL: 1_000_000_000n, NATIVE: 1_000_000_000_000n })
  const deskWallet = await open('desk', { SOL: 100_000_000_000n, USDC: 10_000_000_000n, NATIVE: 100_000_000_000_000n })
  const readAddress = (name: string): string => wallets.get(name)?.address ?? ''
  const http = createHttpTransport()
  const rpc = createRpc({ urls: [localnet.rpcUrl], transport: http.transport })
  const { monotonic } = createWallClock()
  const desk = createDesk({
    rpc,
    genesis: localnet.genesisHash,
    wallet: deskWallet,
    mints: localnet.mints,
    rates: () => testRates,
    spreadBps: deskSpreadBps,
    clock: { now: localnet.now, monotonic },
    log,
  })
  const served = await listenForDesk(desk, { port: 0, host: '127.0.0.1' })
  const economy: Economy = {
    rewards: (host) => ({
      collector: collector.address,
      developers: 4,
      cashback: { 0: 1, '0.1': 3, '0.5': 5 },
      partners: [{ name: 'studio', wallet: readAddress('partner'), share: 90, endpoints: ['/api/play', '/api/art'] }],
      treasury: { wallet: readAddress('treasury'), weight: 50 },
      buyback: { wallet: readAddress('buyback'), weight: 30 },
      incentives: { wallet: readAddress('incentives'), weight: 20 },
      hosts: { '/api/play': host, '/api/art': host },
      key: formatPath('payout'),
      threshold: '0.001',
      everySeconds: 15,
    }),
    settlement: {
      settlementToken: 'USDC',
      autoConversion: true,
      conversionThreshold: { SOL: '0.0002', NATIVE: 1 },
      settlementKey: collector.keyFile,
      venue: { kind: 'rfq', url: served.url },
    },
    document: (service) => ({ wallet: readAddress('developer'), service }),
    register: async (service) => {
      const wallet = wallets.get('developer')
      const order = { purpose: 'register', host: new URL(service).host, origin: service } as const
      if (wallet) await signForService(wallet, order, await askService(service))
    },
    close: async () => {
      await served.close()
      await http.close()
    },
  }
  return economy
}
