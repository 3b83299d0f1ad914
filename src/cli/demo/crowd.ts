/** Simulated customers of the demo. They buy occasionally, so that the dashboard shows activity. */
import { createWallet } from '../../chain/keys/keypair.ts'
import { fetchWith402 } from '../../client/index.ts'
import { createMemoryJournal } from '../../client/journal/journal.ts'
import { knownCodes } from '../../core/money/tokens.ts'
import type { OwnChain } from '../local-chain.ts'
import { resources } from './resources.ts'

const guests = ['ada', 'blaise', 'carl'] as const
const firstPurchases = 12
/** Pause between two purchases, short at first, so that activity appears soon. */
const earlyMs = 700
const [leastMs, mostMs] = [4_000, 15_000]
/** Shutdown does not wait for these requests. */
const timeoutMs = 5_000

/** The messages of the demo omit these requests: they describe the requests of the user at the terminal. */
export function isOfCrowd(target: string): boolean {
  return target.includes('?guest=')
}

export function inviteGuests({ localnet }: OwnChain, url: string) {
  const journal = createMemoryJournal()
  const come = async () => {
    const wallet = await createWallet(crypto.getRandomValues(new Uint8Array(32)))
    await localnet.fund(wallet.address, { SOL: 5_000_000_000n, USDC: 50_000_000n, NATIVE: 500_000_000_000n })
    return wallet
  }
  const wallets = Promise.all(guests.map(come))
  const visit = async (): Promise<void> => {
    const index = Math.floor(Math.random() * guests.length)
    const resource = resources[Math.floor(Math.random() ** 1.6 * resources.length)]
    const wallet = (await wallets)[index]
    if (!resource || !wallet) return
    // The order of the tokens is random.
    const tokens = knownCodes.toSorted(() => Math.random() - 0.5)
    const address = `${url}/api/${resource.name}?guest=${guests[index]}`
    // Some visits only request the price.
    if (Math.random() < 0.3) await (await fetch(address)).text()
    else await (await fetchWith402(address, { wallet, tokens, journal, rpc: localnet.rpcUrl, timeoutMs })).text()
  }
  return { visit }
}

export function startCrowd(chain: OwnChain, url: string) {
  const { visit } = inviteGuests(chain, url)
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let bought = 0
  let running: Promise<void> = Promise.resolve()
  const wait = (): void => {
    const ms = bought < firstPurchases ? earlyMs : leastMs + Math.random() * (mostMs - leastMs)
    timer = setTimeout(() => {
      bought += 1
      running = visit().catch(() => {})
      void running.then(() => {
        if (!isClosed) wait()
      })
    }, ms)
    timer.unref?.()
  }
  wait()
  return {
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await running
    },
  }
}

export type Crowd = ReturnType<typeof startCrowd>
