/**
 * A second, independent chain with a full RPC, to compare the localnet's answers with.
 *
 * It is a native module for Linux on x64, and an optional dependency: elsewhere there is nothing to compare with.
 */
import { createRequire } from 'node:module'

interface Surfnet {
  readonly rpcUrl: string
  readonly wsUrl: string
  stop(): void
}

interface SurfpoolModule {
  readonly Surfnet: { startWithConfig(config: Readonly<Record<string, unknown>>): Surfnet }
}

const surfpoolPackage = '@solana/surfpool-linux-x64-gnu'

export const hasSurfpool = process.platform === 'linux' && process.arch === 'x64'

/** Offline, with slots that pass by the clock. */
export function startSurfpool(slotMs: number): Surfnet {
  const { Surfnet } = createRequire(import.meta.url)(surfpoolPackage) as SurfpoolModule
  return Surfnet.startWithConfig({ offline: true, blockProductionMode: 'clock', slotTimeMs: slotMs })
}
