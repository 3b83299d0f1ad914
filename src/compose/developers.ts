/** Connects developer verification to a service: its endpoints, and the daily check of the hosts. */
import { createSites } from '../api/auth/origins.ts'
import { createDevelopers, isNamed } from '../api/developers/developers.ts'
import { createDeveloperBook } from '../api/developers/registry.ts'
import { createDocumentReader } from '../host/net/developer-documents.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import { startDeveloperChecks } from '../workers/developers.ts'

export interface DeveloperSettings {
  /** The hosts that can be verified, as `developerHostOf` writes them. */
  readonly hosts: () => readonly string[]
  readonly publicUrl: string | undefined
  readonly origins: readonly string[]
  readonly trustProxy: number
}

export function openDevelopers(service: Runtime, settings: DeveloperSettings) {
  const { clock, log, verifier, ledger, config, genesis } = service
  const { rewards, kv } = ledger
  const { hosts, publicUrl, origins, trustProxy } = settings
  const documents = createDocumentReader(config.network)
  const book = createDeveloperBook({ rewards, kv, clock })
  const about = { id: config.service, sites: createSites(publicUrl, origins) }
  const common = { book, kv, clock, log, hosts, readDocument: documents.read }
  return {
    developers: createDevelopers({
      ...common,
      ...about,
      verifier,
      network: config.network,
      genesis,
      trustProxy,
      limits: service.openLimits(),
    }),
    /** Starts the daily check of the hosts, in processes that run workers. */
    startChecks: () =>
      startDeveloperChecks({ ...common, isNamed: (reading, wallet) => isNamed(reading, wallet, about) }),
    close: documents.close,
  }
}

export type OpenDevelopers = ReturnType<typeof openDevelopers>
