/**
 * Node's response behind a `Request`, for frameworks that keep it to themselves: Node tells of each request before anything
 * is done for it, and all that is done for it then carries the response along.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'

const responses = new AsyncLocalStorage<ServerResponse>()
let isFollowing = false

/** From now on, `responseBehind` knows the responses of new requests. */
export function followResponses(): void {
  if (isFollowing) return
  isFollowing = true
  subscribe('http.server.request.start', (message) =>
    responses.enterWith((message as { readonly response: ServerResponse }).response),
  )
}

/** Undefined for a request that came before, or that did not come from a server of `node:http`. */
export function responseBehind(): ServerResponse | undefined {
  return responses.getStore()
}
