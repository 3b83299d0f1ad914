/**
 * Finds Node's response behind a `Request`, for frameworks that hide it. Node announces each request before it is
 * handled, and an async context carries the response from there.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'

const responses = new AsyncLocalStorage<ServerResponse>()
const requests = channel('http.server.request.start')
const follow = (message: unknown): void =>
  responses.enterWith((message as { readonly response: ServerResponse }).response)

/** From now on `responseBehind` finds the responses of new requests. */
export function followResponses(): void {
  requests.unsubscribe(follow)
  requests.subscribe(follow)
}

/** Undefined for an earlier request, or one that did not come from a server of `node:http`. */
export function responseBehind(): ServerResponse | undefined {
  return responses.getStore()
}
