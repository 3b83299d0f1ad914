/** Other customers of the demo: they buy something now and then, so that there is something to see on the dashboard. */
import { createWallet } from '../../chain/keys/keypair.ts'
import { fetchWith402 } from '../../client/index.ts'
import { createMemoryJournal } from '../../client/journal/journal.ts'
import { tokenCodes } from '../../core/money/tokens.ts'
import type { OwnChain } from '../local-chain.ts'
import { resources } from './resources.ts'

const guests = ['ada', 'blaise', 'carl'] as const
const firstPurchases = 12
/** Between two purchases: short at first, so that there is something to see soon. */
const earlyMs = 700
const [leastMs, mostMs] = [4_000, 15_000]
/** Nobody waits for them at the end. */
const timeoutMs = 5_000

export interface Crowd {
  close(): Promise<void>
}

/** By this the demo's own lines leave them out: they are about what the person at the terminal does. */
export function isOfCrowd(target: string): boolean {
  return target.includes('?guest=')
}

export interface Guests {
  /** One of them comes: most buy something, some only look at the price. */
  visit(): Promise<void>
}

export function inviteGuests({ localnet }: OwnChain, url: string): Guests {
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
    // Each pays in what is at hand.
    const tokens = tokenCodes.toSorted(() => Math.random() - 0.5)
    const address = `${url}/api/${resource.name}?guest=${guests[index]}`
    // Some only look at the price.
    if (Math.random() < 0.3) await (await fetch(address)).text()
    else await (await fetchWith402(address, { wallet, tokens, journal, rpc: localnet.rpcUrl, timeoutMs })).text()
  }
  return { visit }
}

export function startCrowd(chain: OwnChain, url: string): Crowd {
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
