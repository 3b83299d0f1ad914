/** The origins under which a client may have known the service. A signed proof names one of them. */
import type { Incoming } from '../../core/http/http.ts'

/** Whether one of the origins passes the check. */
export type OriginCheck = (incoming: Pick<Incoming, 'origin'>, check: (origin: string) => boolean) => boolean

/**
 * Behind a proxy that terminates TLS, the service sees http while the client uses https. The host identifies the
 * service, so both count. A check verifies a signature, so the scheme that passed last comes first.
 */
export function createOriginCheck(publicUrl: string | undefined): OriginCheck {
  const known = publicUrl === undefined ? undefined : new URL(publicUrl).origin
  let isSecure = true
  return (incoming, check) => {
    if (known !== undefined) return check(known)
    const host = incoming.origin().replace(/^https?:/, '')
    const [first, second] = isSecure ? ['https:', 'http:'] : ['http:', 'https:']
    if (check(`${first}${host}`)) return true
    if (!check(`${second}${host}`)) return false
    isSecure = !isSecure
    return true
  }
}
