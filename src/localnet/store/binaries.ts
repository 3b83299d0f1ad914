/** Loads the two native packages of the localnet. If one is missing, the error names the machine in one sentence. */
import type * as Litesvm from 'litesvm/dist/internal.js'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { loadBinary } from '../../core/errors/native-binary.ts'
import type * as Store from './store.ts'

const use = { part: 'the localnet', refuse: (sentence: string) => new ConfigurationError([sentence]), machine: process }
const elsewhere = "use network: 'devnet', or a localnet on another machine as rpc"

/** The Solana VM. Only the binding is loaded, because the package's main file loads a whole client library. */
export function loadLitesvm(load = () => import('litesvm/dist/internal.js')): Promise<typeof Litesvm> {
  const instead = `install it with npm's optional dependencies, or ${elsewhere}`
  return loadBinary({ ...use, name: 'litesvm', instead }, load)
}

/** The chain's database, which uses SQLite. */
export async function loadStore(
  load: () => Promise<unknown> = () => import('@photostructure/sqlite'),
): Promise<typeof Store> {
  await loadBinary({ ...use, name: '@photostructure/sqlite', instead: elsewhere }, load)
  return import('./store.ts')
}
