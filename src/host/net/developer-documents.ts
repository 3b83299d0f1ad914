/**
 * Requests the document that names the developers of a host: without redirects, with limits of size and time, and never
 * from a forbidden address.
 */
import { isLocalName } from '../../core/http/http.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { DocumentReading, ReadDocument } from '../../core/payouts/developers.ts'
import { developerDocumentUrl, readDeveloperDocument } from '../../core/payouts/developers.ts'
import { isWithin, type Reach, readLiteral } from './allowed-addresses.ts'
import { createHttpTransport, type HttpTransport } from './transport.ts'

export interface DocumentReader {
  readonly read: ReadDocument
  close(): Promise<void>
}

const usualTimeoutMs = 5_000
const mostBytes = 10_000

export function createDocumentReader(network: Network, timeoutMs = usualTimeoutMs): DocumentReader {
  const transports = new Map<Reach, HttpTransport>()
  const createTransport = (reach: Reach): HttpTransport => {
    const transport = transports.get(reach) ?? createHttpTransport({ reach, mostBytes })
    transports.set(reach, transport)
    return transport
  }
  return {
    read: async (host) => {
      const url = developerDocumentUrl(host, network)
      const literal = readLiteral(new URL(url))
      const reach = literal === undefined ? chooseReach(host, network) : 'private'
      if (literal !== undefined && !isWithin(reach, literal)) return unavailable('its address is not a host')
      try {
        const { signal } = new AbortController()
        return judge(await createTransport(reach).get(url, { timeoutMs, signal }))
      } catch (error) {
        return failed(error)
      }
    },
    close: async () => {
      await Promise.all([...transports.values()].map((transport) => transport.close()))
    },
  }
}

/**
 * Names may resolve to the public internet only, on a localnet to this machine. A literal address in the rules is
 * intended.
 */
function chooseReach(host: string, network: Network): Reach {
  return network === 'localnet' || (network === 'devnet' && isLocalName(host)) ? 'loopback' : 'public'
}

/** Maps statuses to readings. Some mean that there is no document. Others can be a temporary failure of the host. */
function judge({ status, text }: { readonly status: number; readonly text: string }): DocumentReading {
  if (status >= 300 && status < 400) return unusable('it redirects, and redirects are not followed')
  if (status === 404 || status === 410) return unusable(`it does not exist (${status})`)
  if (status !== 200) return unavailable(`the host returned ${status}`)
  const entries = readDeveloperDocument(text)
  return entries
    ? { kind: 'document', entries }
    : unusable('it is not { "wallet", "service" } in JSON, nor a list of those')
}

/** Messages contain hosts and paths, so only codes are reported. */
function failed(error: unknown): DocumentReading {
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown }
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return unusable(`it has more than ${mostBytes} bytes`)
  if (name === 'TimeoutError') return unavailable('the host did not respond in time')
  if (name === 'ForbiddenAddress') return unavailable('the host resolves to a private network')
  const known = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)
  return unavailable(`the host cannot be reached (${known ? code : 'no connection'})`)
}

function unusable(why: string): DocumentReading {
  return { kind: 'unusable', why }
}

function unavailable(why: string): DocumentReading {
  return { kind: 'unavailable', why }
}
