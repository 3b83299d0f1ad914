/** Explains a request that reached no server. */
import { PaymentError } from '../errors.ts'

/** The texts of Node, Chrome, Firefox and Safari for a request without a response. */
const platformTexts = /^(?:fetch failed|Failed to fetch|NetworkError when attempting to fetch resource\.?|Load failed)/

/**
 * Turns the platform's error of an unpaid request into a `PaymentError` that names the address, the reason and the
 * action. Other errors, such as a redirect that the caller forbids, are returned unchanged.
 */
export function explainUnreachable(error: unknown, url: URL): unknown {
  const reason = readReason(error)
  if (reason === undefined) return error
  // The query can contain secrets.
  const address = `${url.origin}${url.pathname}`
  const message = `${address} cannot be reached: ${describe(reason, url)} Nothing was paid.`
  return new PaymentError('server_unavailable', message, {}, { cause: error })
}

/** The text of Node for a port that browsers block. */
const badPort = 'bad port'

/** The system's code for a failed connection, or an empty text. Undefined if a connection was not the problem. */
export function readReason(error: unknown): string | undefined {
  if (!(error instanceof TypeError) || !platformTexts.test(error.message)) return undefined
  const { code, message = '' } = (error.cause ?? {}) as { readonly code?: unknown; readonly message?: string }
  if (/redirect/.test(message)) return undefined
  if (message === badPort) return badPort
  // Other texts of the cause can come from the server.
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : ''
}

function describe(reason: string, { host, port, protocol }: URL): string {
  switch (reason) {
    case '':
      return 'the connection failed. Check the address.'
    case badPort:
      return `fetch never connects to port ${port}, because another protocol owns it. Use another port.`
    case 'ECONNREFUSED':
      return `nothing listens at ${host} (${reason}). Check the port, and that the server is running.`
    case 'ENOTFOUND':
      return `its host name does not exist (${reason}). Check the address.`
    case 'EAI_AGAIN':
      return `its host name cannot be resolved now (${reason}). Check the network, then try again.`
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
      return `the server closed the connection (${reason}). Check that the server speaks ${protocol.slice(0, -1)}.`
  }
  if (/CERT|TLS|SSL|SIGNATURE|EPROTO/.test(reason))
    return `the TLS connection failed (${reason}). Check the certificate, and that the server speaks https.`
  return `the connection failed (${reason}). Check the address and the network, then try again.`
}
