/** A second, independent chain with a full RPC, to compare the localnet's answers with: a native module from npm. */
import { createRequire } from 'node:module'

interface Surfnet {
  readonly rpcUrl: string
  readonly wsUrl: string
  stop(): void
}

interface SurfpoolModule {
  readonly Surfnet: { startWithConfig(config: Readonly<Record<string, unknown>>): Surfnet }
}

/** The machines that surfpool has a build for. All of them are optional dependencies. */
const builds: Readonly<Record<string, string>> = {
  'linux-x64': '@solana/surfpool-linux-x64-gnu',
  'darwin-arm64': '@solana/surfpool-darwin-arm64',
  'darwin-x64': '@solana/surfpool-darwin-x64',
}

export const machine = `${process.platform}-${process.arch}`
export const hasSurfpool = builds[machine] !== undefined

/** Offline, with slots that pass by the clock. Throws where surfpool has no build. */
export function startSurfpool(slotMs: number): Surfnet {
  const build = builds[machine]
  if (build === undefined) throw new Error(`surfpool has no build for ${machine}`)
  const { Surfnet } = createRequire(import.meta.url)(build) as SurfpoolModule
  return Surfnet.startWithConfig({ offline: true, blockProductionMode: 'clock', slotTimeMs: slotMs })
}
